package dashboard

import (
	"bytes"
	"encoding/json"

	"github.com/kilnjobs/kiln/driver"
)

// redact asks Redact what to show of a part. Hidden parts are nil. An empty value is not asked about: there is nothing to hide.
func (h *handler) redact(kind string, part Part, v []byte) (shown []byte) {
	if len(v) == 0 || h.options.Redact == nil {
		return v
	}
	defer func() {
		if recover() != nil {
			shown = nil
		}
	}()
	return h.options.Redact(kind, part, bytes.Clone(v))
}

// redactText is redact for a part that is text.
func (h *handler) redactText(kind string, part Part, v string) string {
	if v == "" || h.options.Redact == nil {
		return v
	}
	return string(h.redact(kind, part, []byte(v)))
}

// redactJSON is redact for a part that is JSON. What is none is shown as a string.
func (h *handler) redactJSON(kind string, part Part, v []byte) json.RawMessage {
	if len(v) == 0 {
		return nil
	}
	shown := h.redact(kind, part, v)
	if shown == nil || driver.ValidJSON(shown) {
		return shown
	}
	text, _ := json.Marshal(string(shown)) // a string always encodes
	return text
}

// redactMeta is redact for meta, which has no JSON of its own.
func (h *handler) redactMeta(kind string, meta map[string]string) json.RawMessage {
	if len(meta) == 0 {
		return nil
	}
	object, _ := json.Marshal(meta) // a map of strings always encodes
	return h.redactJSON(kind, PartMeta, object)
}

// redactTags is redact for each tag. Hidden ones are left out.
func (h *handler) redactTags(kind string, tags []string) []string {
	var shown []string
	for _, tag := range tags {
		if tag = h.redactText(kind, PartTags, tag); tag != "" {
			shown = append(shown, tag)
		}
	}
	return shown
}
