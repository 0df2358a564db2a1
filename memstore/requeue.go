package memstore

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Requeue implements driver.Admin.
func (s *Store) Requeue(ctx context.Context, f driver.Filter) (int, error) {
	if err := driver.CheckFilter(f); err != nil {
		return 0, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	c := s.change(now)
	n := 0
	for _, r := range s.filter(f) {
		if r.State != driver.Scheduled && !r.State.Final() || !s.retake(r, now) {
			continue
		}
		c.requeue(r, driver.Actor(ctx))
		n++
	}
	c.finish()
	return n, nil
}

func (c *change) requeue(r *row, actor string) {
	to := storekit.Ready(c.now, c.now, r.LimitKey != "")
	entry := driver.Entry{At: c.now, State: to, Attempt: r.Attempt, Reason: "requeued", Actor: actor}
	waited := r.State == driver.Scheduled
	c.move(r, to, func() {
		r.History = storekit.AppendHistory(r.History, storekit.CleanEntry(entry))
		if waited {
			r.MaxAttempts = max(r.MaxAttempts, r.Attempt+1)
		} else {
			r.Attempt = 0
		}
		r.RunAt, r.granted = c.now, false
		r.FinalizedAt = time.Time{}
		r.Output = nil
	})
}
