package storekit

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// PageLimit is the size of a page of jobs or batches: 20 for 0 or less, at most 500.
func PageLimit(n int) int {
	switch {
	case n <= 0:
		return 20
	case n > 500:
		return 500
	}
	return n
}

// AtLeastOne is the limit of Promote, Orphans, Sweep and Due.
func AtLeastOne(n int) int { return max(n, 1) }

// OrDefault is n, or the default for 0 or less.
func OrDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

// CountCap is where counts stop.
const CountCap = 100_000

// Cursor is the place after which a page begins: the sort value and the id of the last row before it.
type Cursor struct{ Value, ID int64 }

// String encodes the cursor for a page's Next.
func (c Cursor) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(c.Value))
	binary.BigEndian.PutUint64(b[8:], uint64(c.ID))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// ParseCursor decodes a cursor. The empty string is the beginning: ok is false without an error. Anything that String did not
// produce is ErrInvalid.
func ParseCursor(s string) (c Cursor, ok bool, err error) {
	if s == "" {
		return Cursor{}, false, nil
	}
	// The decoder skips line breaks wherever they stand, so the length is checked on both sides of it.
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != 16 || len(s) != base64.RawURLEncoding.EncodedLen(16) {
		return Cursor{}, false, fmt.Errorf("%w: cursor %.60q was not returned by a page before", driver.ErrInvalid, s)
	}
	return Cursor{
		Value: int64(binary.BigEndian.Uint64(b[:8])),
		ID:    int64(binary.BigEndian.Uint64(b[8:])),
	}, true, nil
}

// CheckQuery checks a JobQuery.
func CheckQuery(q driver.JobQuery) error {
	if !q.State.Valid() {
		return fmt.Errorf("%w: query State %.60q is not one of the eight states", driver.ErrInvalid, string(q.State))
	}
	return nil
}
