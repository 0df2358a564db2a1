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
	var h hints
	n := 0
	for _, r := range s.filter(f) {
		if r.State != driver.Scheduled && !r.State.Final() {
			continue
		}
		s.requeue(r, driver.Actor(ctx), now)
		h.note(r)
		n++
	}
	s.publish(h.events...)
	return n, nil
}

func (s *Store) requeue(r *row, actor string, now time.Time) {
	s.unlist(r)
	entry := driver.Entry{At: now, State: driver.Enqueued, Attempt: r.Attempt, Reason: "requeued", Actor: actor}
	r.History = storekit.AppendHistory(r.History, storekit.CleanEntry(entry))
	if r.State == driver.Scheduled {
		r.MaxAttempts = max(r.MaxAttempts, r.Attempt+1)
	} else {
		r.Attempt = 0
	}
	r.State = driver.Enqueued
	r.RunAt = now
	r.FinalizedAt = time.Time{}
	r.Output = nil
	s.enlist(r)
}
