package pgstore

import (
	"github.com/kilnjobs/kiln/storekit"
)

// recounted is how many jobs of limit keys one sweep counts anew. A key that more jobs name is left out: counting it would hold up
// everybody who writes.
const recounted = 1000

// sweepLimits touches keys whose waiting jobs were too many for one call, and corrects the counters of the next few keys. It returns
// how many counters were wrong.
func (w *work) sweepLimits(at *sweepPlace, limit int) (int, error) {
	// A marked key can have as many jobs to admit as one call looks at.
	if err := w.touchMarked(max(limit/storekit.MaxTurns, 1)); err != nil {
		return 0, err
	}
	keys, err := w.nextKeys(at, limit)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	if err := w.lockKeys(keys); err != nil {
		return 0, err
	}
	wrong := 0
	err = w.each("sweep_count", []any{keys, int32(flagGranted)}, func(rows rows) error {
		var key string
		var by shift
		if err := rows.Scan(&key, &by.active, &by.reserved); err != nil {
			return err
		}
		w.shiftKey(key, by)
		wrong++
		return nil
	})
	return wrong, err
}

// nextKeys returns the limit keys behind those of the last sweep, up to limit, with no more jobs together than a sweep counts.
func (w *work) nextKeys(at *sweepPlace, limit int) (keys []string, err error) {
	left, last := int64(recounted), ""
	err = w.each("sweep_keys", []any{at.limits, int64(min(limit, 100)), int64(recounted) + 1}, func(rows rows) error {
		var key string
		var jobs int64
		if err := rows.Scan(&key, &jobs); err != nil || left <= 0 {
			return err
		}
		last = key
		if left -= jobs; jobs <= recounted {
			keys = append(keys, key)
		}
		return nil
	})
	at.limits = last // from the beginning again when there was none left
	return keys, err
}
