package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Claim implements driver.Worker.
func (s *Store) Claim(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var jobs []driver.Job
	for _, name := range q.Queues {
		queue := s.queues[name]
		if queue == nil || !queue.pausedAt.IsZero() {
			continue
		}
		lanes := queue.of(q.Kinds)
		jobs = slices.Grow(jobs, max(min(q.Limit-len(jobs), ready(lanes)), 0))
		for len(jobs) < q.Limit {
			r := next(lanes)
			if r == nil {
				break
			}
			s.start(r, q.Server, now)
			jobs = append(jobs, r.job())
		}
	}
	return jobs, nil
}

// ready counts the ready rows of lanes.
func ready(lanes []*lane) int {
	n := 0
	for _, l := range lanes {
		n += l.ready.len
	}
	return n
}

// next is the ready row that comes first in the lanes, nil when there is none.
func next(lanes []*lane) *row {
	var best entry
	for _, l := range lanes {
		if e, ok := l.ready.first(); ok && (best.row == nil || e.less(best.key)) {
			best = e
		}
	}
	return best.row
}

// start hands a row to a server.
func (s *Store) start(r *row, server string, now time.Time) {
	s.unlist(r)
	r.State = driver.Processing
	r.Attempt++
	r.Claim++
	r.AttemptedAt = now
	r.Server = server
	r.CancelRequested = false
	s.enlist(r)
}

// running is the row that is processing under ref, nil when there is none: the fence of everything that a run writes.
func (s *Store) running(ref driver.Ref) *row {
	if r := s.rows[ref.ID]; r != nil && r.State == driver.Processing && r.Claim == ref.Claim {
		return r
	}
	return nil
}
