package dashboard

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// node is a JSON value as a tree that folds.
type node struct {
	// Key is the member's name or the element's index; the root has none.
	Key string
	// Kind is object, array, string, number, bool or null.
	Kind string
	// Text is a plain value as JSON.
	Text     string
	Children []node
	// Cut says that there is more than is shown.
	Cut bool
	// Open says that it is shown unfolded.
	Open bool
}

const (
	treeNodes = 400
	treeText  = 4 << 10
	treeDepth = 30
)

// treeOf makes a tree of a JSON value. What is very large is cut: the JSON API has all of it.
func treeOf(raw json.RawMessage) *node {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	t := treeBuilder{decoder: decoder, left: treeNodes}
	root, err := t.value("", 0)
	if err != nil {
		return &node{Kind: "string", Text: cut(string(raw)), Cut: len(raw) > treeText}
	}
	return &root
}

type treeBuilder struct {
	decoder *json.Decoder
	left    int
}

func (t *treeBuilder) value(key string, depth int) (node, error) {
	token, err := t.decoder.Token()
	if err != nil {
		return node{}, err
	}
	t.left--
	n := node{Key: key, Open: depth < 2}
	switch v := token.(type) {
	case json.Delim:
		n.Kind = "object"
		if v == '[' {
			n.Kind = "array"
		}
		return n, t.members(&n, depth)
	case string:
		n.Kind = "string"
		n.Text, n.Cut = quoted(v), len(v) > treeText
	case json.Number:
		n.Kind, n.Text = "number", v.String()
	case bool:
		n.Kind, n.Text = "bool", "false"
		if v {
			n.Text = "true"
		}
	default:
		n.Kind, n.Text = "null", "null"
	}
	return n, nil
}

// members reads the members of an object or the elements of an array, all of them, and keeps as many as there is room for.
func (t *treeBuilder) members(n *node, depth int) error {
	for i := 0; t.decoder.More(); i++ {
		key := ""
		if n.Kind == "object" {
			token, err := t.decoder.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string)
		}
		if t.left <= 0 || depth >= treeDepth {
			var skipped json.RawMessage
			if err := t.decoder.Decode(&skipped); err != nil {
				return err
			}
			n.Cut = true
			continue
		}
		child, err := t.value(key, depth+1)
		if err != nil {
			return err
		}
		n.Children = append(n.Children, child)
	}
	_, err := t.decoder.Token()
	return err
}

// quoted writes a string as JSON does, but for signs that people can read.
func quoted(s string) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(cut(s)) != nil {
		return s
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// cut shortens a text to what a page shows of it.
func cut(s string) string {
	if len(s) <= treeText {
		return s
	}
	s = s[:treeText]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// firstLine is the first line of a text, shortened to what a row has room for.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 240
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	return string([]rune(line)[:most]) + "…"
}
