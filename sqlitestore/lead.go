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

// lease is the row of a leader.
type lease struct {
	holder                     string
	acquired, renewed, expires int64
}

// Lead implements driver.Coordinator. A holder that renews its own lease after it ran out has acquired it anew, so that a
// clock that jumps ahead makes nobody a leader of long standing. When the clock was set back since the last renewal, the
// lease goes on from now, so that one whose holder has died ends as soon as ever.
func (s *Store) Lead(ctx context.Context, name, holder string, ttl time.Duration) (held time.Duration, ok bool, err error) {
	err = s.do(ctx, func(w *work) error {
		var l lease
		live, err := w.one("leader_read", []any{name}, &l.holder, &l.acquired, &l.renewed, &l.expires)
		if err != nil {
			return err
		}
		shifted := live && l.renewed > w.future()
		if shifted {
			l.renewed, l.expires = w.nowAt, w.nowAt+l.expires-l.renewed
		}
		live = live && l.expires > w.nowAt
		if ok = !live || l.holder == holder; !ok && !shifted {
			return nil
		}
		if !live {
			l.acquired = w.nowAt
		}
		l.acquired = min(l.acquired, w.nowAt)
		if ok {
			l.holder, l.renewed, l.expires = holder, w.nowAt, storekit.Micros(w.now.Add(ttl))
			held = w.now.Sub(storekit.Instant(l.acquired))
		}
		return w.exec("leader_put", name, l.holder, l.acquired, l.renewed, l.expires)
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
