package memstore

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Promote implements driver.Coordinator. Deadlines come first, so that a job that must not start is never shown as ready.
func (s *Store) Promote(ctx context.Context, limit int) (driver.Promoted, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return driver.Promoted{}, err
	}
	defer s.mu.Unlock()
	limit = storekit.AtLeastOne(limit)
	c := s.change(now)
	c.endLate(limit)
	c.touchUnsettled(limit)
	var p driver.Promoted
	for p.Count < limit {
		first, ok := s.scheduled.first()
		if !ok || first.row.RunAt.After(now) {
			break
		}
		c.ready(first.row)
		p.Count++
	}
	c.finish()
	p.Queues = c.hints.queues(driver.JobsReady)
	p.Next = s.untilNext(now)
	return p, nil
}

// ready moves a row on whose time has come or whose dependencies are resolved.
func (c *change) ready(r *row) {
	c.move(r, storekit.Ready(r.RunAt, c.now, r.LimitKey != ""), nil)
}

// untilNext is the time until Promote has work again, 0 when nothing is planned.
func (s *Store) untilNext(now time.Time) time.Duration {
	var wait time.Duration
	if len(s.unsettled) > 0 {
		return time.Millisecond / 10
	}
	for _, l := range []*list{&s.scheduled, &s.deadlines} {
		first, ok := l.first()
		if !ok {
			continue
		}
		left := max(storekit.Instant(first.value).Sub(now), time.Millisecond/10)
		if wait == 0 || left < wait {
			wait = left
		}
	}
	return wait
}

// Sweep implements driver.Coordinator. Every call leaves this store consistent, but for dependents and waiting jobs of a rated key
// that were too many for one call: those are all that there is to do.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	c := s.change(now)
	limit = storekit.AtLeastOne(limit)
	n := c.settleSome(limit)
	c.touchUnsettled(max(limit/storekit.MaxTurns, 1))
	c.finishSettled()
	return n + c.admitted, nil
}
