package storekit

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// BatchRetention is how long a finished batch that has no members any more is kept: as long as a succeeded or a deleted job,
// whichever is shorter; negative, for ever, when both are kept for ever.
func BatchRetention(keep driver.Retention) time.Duration {
	switch {
	case keep.Succeeded < 0:
		return keep.Deleted
	case keep.Deleted < 0:
		return keep.Succeeded
	}
	return min(keep.Succeeded, keep.Deleted)
}
