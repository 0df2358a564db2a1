package sqlitestore

import (
	"context"
	"database/sql"

	"github.com/kilnjobs/kiln/storekit"
)

// Sweep implements driver.Coordinator. A transaction leaves the store consistent, and what it could not get done it has marked; so
// the marks come first, and then a slice of what only a write by somebody else can have put out of order.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	limit = storekit.AtLeastOne(limit)
	changed := 0
	err := s.do(ctx, func(w *work) error {
		w.admitted = 0
		// A marked key can have as many jobs to admit as one call looks at.
		if err := w.touchMarked(max(limit/storekit.MaxTurns, 1)); err != nil {
			return err
		}
		recounted, err := w.recount(limit)
		if err != nil {
			return err
		}
		if err := w.conclude(); err != nil {
			return err
		}
		changed = recounted + w.admitted
		return nil
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// recounted is how many jobs of limit keys one sweep counts anew. A key that more jobs name is left out: counting it would hold up
// everybody who writes.
const recounted = 1000

// recount compares the counters of the next few limit keys with what they count and corrects them. It returns how many were wrong.
func (w *work) recount(limit int) (int, error) {
	keys, err := w.nextKeys(limit)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	list, err := jsonText(keys)
	if err != nil {
		return 0, err
	}
	wrong := 0
	err = w.each("sweep_count", []any{list, int64(flagGranted)}, func(rows *sql.Rows) error {
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
func (w *work) nextKeys(limit int) (keys []string, err error) {
	left, last := int64(recounted), ""
	err = w.each("sweep_keys", []any{*w.swept, int64(min(limit, 100)), int64(recounted) + 1}, func(rows *sql.Rows) error {
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
	*w.swept = last // from the beginning again when there was none left
	return keys, err
}
