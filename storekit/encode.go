package storekit

import "encoding/json"

// EncodeMeta writes a job's or a batch's meta as SQL stores keep it: JSON text, empty for none.
func EncodeMeta(meta map[string]string) (string, error) {
	if len(meta) == 0 {
		return "", nil
	}
	b, err := json.Marshal(meta)
	return string(b), err
}

// EncodeTags writes tags as SQL stores keep them: JSON text, empty for none.
func EncodeTags(tags []string) (string, error) {
	if len(tags) == 0 {
		return "", nil
	}
	b, err := json.Marshal(tags)
	return string(b), err
}

// TagText is how a tag stands in the text of EncodeTags.
func TagText(tag string) string {
	text, err := json.Marshal(tag)
	if err != nil {
		return tag
	}
	return string(text)
}

// DecodeMeta is the inverse of EncodeMeta. What cannot be read is left out: the job is still handed out, so that its handler can
// fail it.
func DecodeMeta(b []byte) map[string]string {
	if len(b) == 0 {
		return nil // most have none, and the variable below costs an allocation
	}
	var meta map[string]string
	_ = json.Unmarshal(b, &meta)
	return meta
}

// DecodeTags is the inverse of EncodeTags, with DecodeMeta's way of reading.
func DecodeTags(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	var tags []string
	_ = json.Unmarshal(b, &tags)
	return tags
}
