package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// checkStorable refuses text that PostgreSQL does not keep.
func checkStorable(field, value string) error {
	if storable(value) {
		return nil
	}
	return fmt.Errorf("%w: %s %.60q has a NUL byte or is not valid UTF-8", driver.ErrInvalid, field, value)
}

// leadership is the row of a leader.
type leadership struct {
	holder                     string
	acquired, renewed, expires int64
}

// Lead implements driver.Coordinator. A holder that renews its own lease after it ran out has acquired it anew, so that a
// clock that jumps ahead makes nobody a leader of long standing. When the clock was set back since the last renewal, the
// lease goes on from now, so that one whose holder has died ends as soon as ever.
func (s *Store) Lead(ctx context.Context, name, holder string, ttl time.Duration) (held time.Duration, ok bool, err error) {
	if err := checkStorable("lease name", name); err != nil {
		return 0, false, err
	}
	if err := checkStorable("lease holder", holder); err != nil {
		return 0, false, err
	}
	err = s.do(ctx, func(w *work) error {
		held = 0
		var l leadership
		found, err := w.one("leader_read", []any{name}, &l.holder, &l.acquired, &l.renewed, &l.expires)
		if err != nil {
			return err
		}
		shifted := found && l.renewed > w.future()
		if shifted {
			l.renewed, l.expires = w.nowAt, w.nowAt+l.expires-l.renewed
		}
		live := found && l.expires > w.nowAt
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
		statement := "leader_put"
		if !found {
			statement = "leader_add"
		}
		return w.must(1, statement, name, l.holder, l.acquired, l.renewed, l.expires)
	})
	if err != nil {
		return 0, false, err
	}
	return held, ok, nil
}

// Resign implements driver.Coordinator.
func (s *Store) Resign(ctx context.Context, name, holder string) error {
	if !storable(name) || !storable(holder) {
		return s.usable(ctx) // nobody has such a lease
	}
	return s.do(ctx, func(w *work) error { return w.exec("leader_drop", name, holder) })
}
