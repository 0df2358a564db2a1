package sqlitestore

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/storekit"
)

// Now implements driver.Coordinator.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if err := s.usable(ctx); err != nil {
		return time.Time{}, err
	}
	return s.clock.now(), nil
}

// Lead implements driver.Coordinator. A holder that renews its own lease after it ran out has acquired it anew, so that a
// clock that jumps ahead makes nobody a leader of long standing.
func (s *Store) Lead(ctx context.Context, name, holder string, ttl time.Duration) (held time.Duration, ok bool, err error) {
	err = s.do(ctx, func(w *work) error {
		var owner string
		var acquired, expires int64
		live, err := w.one("leader_read", []any{name}, &owner, &acquired, &expires)
		if err != nil {
			return err
		}
		live = live && expires > w.nowAt
		if ok = !live || owner == holder; !ok {
			return nil
		}
		if !live {
			acquired = w.nowAt
		}
		held = max(w.now.Sub(storekit.Instant(acquired)), 0)
		return w.exec("leader_put", name, holder, acquired, storekit.Micros(w.now.Add(ttl)))
	})
	if err != nil {
		return 0, false, err
	}
	return held, ok, nil
}

// Resign implements driver.Coordinator.
func (s *Store) Resign(ctx context.Context, name, holder string) error {
	return s.do(ctx, func(w *work) error { return w.exec("leader_drop", name, holder) })
}

// Sweep implements driver.Coordinator. What it repairs comes from parents, batches and limits, which the store does not
// have yet: every call leaves it consistent, so there is nothing to do.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	return 0, s.usable(ctx)
}
