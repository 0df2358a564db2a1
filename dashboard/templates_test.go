package dashboard

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// What the policy forbids must not be written in the first place: a browser would leave it out, and only the reader would notice.
var forbidden = map[string]*regexp.Regexp{
	"inline style":        regexp.MustCompile(`(?i)\sstyle\s*=`),
	"style element":       regexp.MustCompile(`(?i)<style`),
	"inline handler":      regexp.MustCompile(`(?i)\son[a-z]+\s*=`),
	"javascript address":  regexp.MustCompile(`(?i)javascript:`),
	"address of others":   regexp.MustCompile(`(?i)(href|src|action)\s*=\s*"(https?:)?//`),
	"unescaped value":     regexp.MustCompile(`template\.(HTML|JS|CSS|URL|HTMLAttr|Srcset)\b`),
	"frame or plugin":     regexp.MustCompile(`(?i)<(iframe|frame|object|embed|base)\b`),
	"form to elsewhere":   regexp.MustCompile(`(?i)formaction\s*=\s*"(https?:)?//`),
	"unquoted expression": regexp.MustCompile(`=\{\{`),
}

func TestTemplatesObeyThePolicy(t *testing.T) {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil || len(names) != 11 {
		t.Fatalf("%d templates, %v; the spec names 11", len(names), err)
	}
	for _, name := range names {
		text, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, pattern := range forbidden {
			if found := pattern.FindString(string(text)); found != "" {
				t.Errorf("%s has an %s: %q", name, what, found)
			}
		}
		for _, script := range regexp.MustCompile(`(?i)<script[^>]*>`).FindAllString(string(text), -1) {
			if !strings.Contains(script, " src=") && !strings.Contains(script, `type="application/json"`) {
				t.Errorf("%s has an inline script: %s", name, script)
			}
		}
	}
}

// TestForbiddenPatternsFind pins that the patterns of the test above match what they are for.
func TestForbiddenPatternsFind(t *testing.T) {
	for what, example := range map[string]string{
		"inline style": `<p style="color:red">`, "style element": `<style>`, "inline handler": `<img src=x onerror=alert(1)>`,
		"javascript address": `<a href="javascript:x()">`, "address of others": `<script src="https://cdn.example/x.js">`,
		"unescaped value": `template.HTML(x)`, "frame or plugin": `<iframe src="/x">`, "form to elsewhere": `<button formaction="//x">`,
		"unquoted expression": `<p class={{.X}}>`,
	} {
		if !forbidden[what].MatchString(example) {
			t.Errorf("the pattern for an %s misses %s", what, example)
		}
	}
}

// TestWeight pins what a page costs before its content.
func TestWeight(t *testing.T) {
	total := 0
	for _, a := range assets {
		total += len(a.content)
	}
	if total > 50_000 {
		t.Errorf("the assets have %d bytes; with a page of 100 KB they must stay below 150 KB", total)
	}
}
