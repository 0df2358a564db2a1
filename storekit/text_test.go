package storekit

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanText(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		"plain":            "plain",
		"tabs\tand\nlines": "tabs\tand\nlines",
		"é😀\u2028\ufffe":   "é😀\u2028\ufffe",
		"a\x00b":           "a\uFFFDb",
		"\x00\x00":         "\uFFFD\uFFFD",
		"a\xffb":           "a\uFFFDb",
		"a\xff\xfe\xfdb":   "a\uFFFDb",
		"cut \xe2\x82":     "cut \uFFFD",
		"\xed\xa0\x80":     "\uFFFD",
		"\xff\x00":         "\uFFFD\uFFFD",
	} {
		if got := CleanText(in); got != want {
			t.Errorf("CleanText(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 4, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""},
		{"aé", 2, "a"}, {"aé", 3, "aé"}, {"é", 1, ""},
		{"a😀b", 1, "a"}, {"a😀b", 2, "a"}, {"a😀b", 3, "a"}, {"a😀b", 4, "a"}, {"a😀b", 5, "a😀"},
	} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) is %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestCleanTitle(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		strings.Repeat("t", 200):        strings.Repeat("t", 200),
		strings.Repeat("t", 201):        strings.Repeat("t", 200),
		strings.Repeat("t", 199) + "é":  strings.Repeat("t", 199),
		strings.Repeat("t", 198) + "éa": strings.Repeat("t", 198) + "é",
		// What takes the place of a NUL byte is three bytes long.
		strings.Repeat("t", 198) + "\x00": strings.Repeat("t", 198),
	} {
		if got := CleanTitle(in); got != want {
			t.Errorf("CleanTitle(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestCleanTags(t *testing.T) {
	clean := []string{"a", "é", ""}
	if got := CleanTags(clean); &got[0] != &clean[0] || len(got) != len(clean) {
		t.Errorf("clean tags were copied: %q", got)
	}
	dirty := []string{"a", "b\x00", "c", "\xff"}
	if got := CleanTags(dirty); !reflect.DeepEqual(got, []string{"a", "b\uFFFD", "c", "\uFFFD"}) {
		t.Errorf("dirty tags became %q", got)
	}
	if !reflect.DeepEqual(dirty, []string{"a", "b\x00", "c", "\xff"}) {
		t.Errorf("the caller's tags became %q", dirty)
	}
	if got := CleanTags(nil); got != nil {
		t.Errorf("no tags became %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x00b", "\xff\xfeé", "\xed\xa0\x80", "😀😀😀", strings.Repeat("é", 150), strings.Repeat("\x00", 250)} {
		f.Add(s, len(s)/2)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		storable := func(what, got string, most int) {
			t.Helper()
			if !utf8.ValidString(got) || strings.ContainsRune(got, 0) || len(got) > most {
				t.Errorf("%s of %q is %q", what, s, got)
			}
		}
		clean := CleanText(s)
		storable("CleanText", clean, 3*len(s))
		if CleanText(clean) != clean {
			t.Errorf("CleanText of %q does not stay: %q, then %q", s, clean, CleanText(clean))
		}
		if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && clean != s {
			t.Errorf("CleanText changed %q, which needs nothing, to %q", s, clean)
		}
		n = max(n%300, 0)
		cut := Cut(clean, n)
		storable("Cut", cut, n)
		if !strings.HasPrefix(clean, cut) || Cut(cut, n) != cut {
			t.Errorf("Cut(%q, %d) is %q", clean, n, cut)
		}
		if _, next := utf8.DecodeRuneInString(clean[len(cut):]); len(cut) < len(clean) && len(cut)+next <= n {
			t.Errorf("Cut(%q, %d) leaves a character out that fits: %q", clean, n, cut)
		}
		title := CleanTitle(s)
		storable("CleanTitle", title, MaxTitle)
		if CleanTitle(title) != title {
			t.Errorf("CleanTitle of %q does not stay: %q", s, title)
		}
		tags := []string{"first", s, s + s}
		cleaned := CleanTags(tags)
		if len(cleaned) != 3 || cleaned[0] != "first" || cleaned[1] != clean || cleaned[2] != CleanText(s+s) || tags[1] != s || tags[2] != s+s {
			t.Errorf("CleanTags of %q is %q", tags, cleaned)
		}
		if again := CleanTags(cleaned); &again[0] != &cleaned[0] {
			t.Errorf("CleanTags of %q does not stay: %q", cleaned, again)
		}
	})
}
