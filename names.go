package kiln

import (
	"fmt"
	"strconv"
)

// Bounds that the client holds every job to.
const (
	maxArgs     = 1 << 20
	maxOutput   = 1 << 20
	maxTags     = 32
	maxTag      = 64
	maxMeta     = 16 << 10
	maxMetaLen  = 64
	maxQueue    = 64
	maxKind     = 128
	maxLimitKey = 200
	// maxRecurring is for ids and groups.
	maxRecurring = 200
)

// checkQueue checks a queue's name.
func checkQueue(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: Queue is empty", ErrInvalid)
	case len(name) > maxQueue:
		return fmt.Errorf("%w: Queue %s has %d bytes, more than %d", ErrInvalid, quote(name), len(name), maxQueue)
	case name == "." || name == "..":
		return fmt.Errorf("%w: Queue %s is a path", ErrInvalid, quote(name))
	}
	for i := range len(name) {
		if c := name[i]; !lower(c) && !nameByte(c) {
			return fmt.Errorf("%w: Queue %s has %s at byte %d, outside of a-z 0-9 _ . : -", ErrInvalid, quote(name), strconv.QuoteRune(rune(c)), i)
		}
	}
	return nil
}

// checkKind checks a job's kind.
func checkKind(kind string) error {
	switch {
	case kind == "":
		return fmt.Errorf("%w: Kind is empty", ErrInvalid)
	case len(kind) > maxKind:
		return fmt.Errorf("%w: Kind %s has %d bytes, more than %d", ErrInvalid, quote(kind), len(kind), maxKind)
	case !lower(kind[0]) && !upper(kind[0]):
		return fmt.Errorf("%w: Kind %s does not begin with a letter", ErrInvalid, quote(kind))
	}
	for i := range len(kind) {
		if c := kind[i]; !lower(c) && !upper(c) && !nameByte(c) {
			return fmt.Errorf("%w: Kind %s has %s at byte %d, outside of letters, digits and _ . : -", ErrInvalid, quote(kind), strconv.QuoteRune(rune(c)), i)
		}
	}
	return nil
}

func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func upper(c byte) bool { return 'A' <= c && c <= 'Z' }

func nameByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '_' || c == '.' || c == ':' || c == '-'
}

// quote shows a value in an error, shortened.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
