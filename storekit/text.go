package storekit

import (
	"strings"
	"unicode/utf8"

	"github.com/kilnjobs/kiln/driver"
)

// Sizes that every store cuts to.
const (
	// MaxTitle is how many bytes of a title are kept.
	MaxTitle = 200
	// MaxReason is how many bytes of a history entry's reason are kept.
	MaxReason = 256
	// MaxError is how many bytes of a history entry's error are kept.
	MaxError = 2 << 10
	// MaxTrace is how many bytes of a history entry's trace are kept.
	MaxTrace = 8 << 10
	// MaxHistory is how many history entries a job keeps.
	MaxHistory = 16
)

// CleanText makes text storable on every database: invalid UTF-8 and NUL bytes become U+FFFD. Text that needs nothing comes
// back as it is.
func CleanText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// Cut returns at most the first n bytes of s and never splits a character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// CleanTitle cleans a title and cuts it to MaxTitle bytes.
func CleanTitle(s string) string { return Cut(CleanText(s), MaxTitle) }

// CleanTags returns the tags with clean text, the same slice when nothing had to change.
func CleanTags(tags []string) []string {
	for i, tag := range tags {
		if clean := CleanText(tag); clean != tag {
			out := append([]string(nil), tags...)
			for k := i; k < len(out); k++ {
				out[k] = CleanText(out[k])
			}
			return out
		}
	}
	return tags
}

// CleanWrites copies what consoles are to gain, with lines that every database keeps.
func CleanWrites(writes []driver.ConsoleWrite) []driver.ConsoleWrite {
	out := make([]driver.ConsoleWrite, len(writes))
	for i, w := range writes {
		out[i] = driver.ConsoleWrite{Ref: w.Ref, Progress: w.Progress, Lines: make([]string, len(w.Lines))}
		for k, line := range w.Lines {
			out[i].Lines[k] = CleanText(line)
		}
	}
	return out
}
