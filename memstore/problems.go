package memstore

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Problems implements driver.ProblemReader. In memory everything that is looked at is counted to its end.
func (s *Store) Problems(ctx context.Context, limit int) (driver.Problems, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return driver.Problems{}, err
	}
	defer s.mu.Unlock()
	limit = storekit.PageLimit(limit)
	p := driver.Problems{At: now}
	storekit.QueueProblems(&p, s.serverList(), s.pauses(), s.fronts(), limit)
	storekit.SetReady(&p, s.readyCounts(), math.MaxInt64)
	p.Held = s.held(now, limit)
	p.Recurring = s.recurringProblems(now, limit)
	p.Failures = s.failures(now, limit)
	return p, nil
}

// pauses lists the paused queues.
func (s *Store) pauses() []driver.PausedQueue {
	var list []driver.PausedQueue
	for _, name := range s.paused() {
		list = append(list, driver.PausedQueue{Queue: name, Since: s.queues[name].pausedAt})
	}
	return list
}

// fronts sums up the ready rows of each queue and kind.
func (s *Store) fronts() []storekit.ReadyFront {
	var fronts []storekit.ReadyFront
	for _, q := range s.queues {
		for _, l := range q.lanes {
			if r := longestWaiting(&l.ready); r != nil {
				fronts = append(fronts, storekit.ReadyFront{Queue: q.name, Kind: l.kind, Since: r.RunAt, Job: r.ID, Ready: int64(l.ready.len)})
			}
		}
	}
	return fronts
}

// longestWaiting is the row of a list that has been due for longest, nil when the list is empty.
func longestWaiting(l *list) (longest *row) {
	l.ascend(lowest, func(e entry) bool {
		if longest == nil || e.row.RunAt.Before(longest.RunAt) || e.row.RunAt.Equal(longest.RunAt) && e.row.ID < longest.ID {
			longest = e.row
		}
		return true
	})
	return longest
}

func (s *Store) readyCounts() map[string]int64 {
	counts := make(map[string]int64)
	for name, q := range s.queues {
		n := 0
		for _, l := range q.lanes {
			n += l.ready.len
		}
		counts[name] = int64(n)
	}
	return counts
}

// held lists the limit keys that rows wait for.
func (s *Store) held(now time.Time, limit int) []driver.HeldKey {
	var keys []driver.HeldKey
	for _, l := range s.limits {
		if r := longestWaiting(&l.waiting); r != nil {
			keys = append(keys, driver.HeldKey{LimitInfo: l.info(now), Since: r.RunAt})
		}
	}
	return storekit.SortHeld(keys, limit)
}

// recurringProblems lists the recurring jobs that are late or whose last job failed.
func (s *Store) recurringProblems(now time.Time, limit int) []driver.RecurringProblem {
	var list []driver.RecurringProblem
	for _, r := range s.recurring {
		p := driver.RecurringProblem{ID: r.ID, NextRunAt: r.NextRunAt, LastJobID: r.LastJobID}
		p.Late = storekit.Late(r.Paused, r.NextRunAt, now)
		if last := s.rows[r.LastJobID]; last != nil && last.State == driver.Failed {
			p.FailedAt = last.FinalizedAt
		}
		if p.Late || !p.FailedAt.IsZero() {
			list = append(list, p)
		}
	}
	return storekit.SortRecurring(list, limit)
}

// failures sums up the failed rows by kind, the newest of all first.
func (s *Store) failures(now time.Time, limit int) []driver.KindFailures {
	byKind := make(map[string]*driver.KindFailures)
	s.failed.descend(highest, func(e entry) bool {
		r := e.row
		f := byKind[r.Kind]
		if f == nil {
			f = &driver.KindFailures{Kind: r.Kind, Last: r.FinalizedAt, Newest: r.ID, Error: storekit.ProblemError(lastError(r))}
			byKind[r.Kind] = f
		}
		f.First = r.FinalizedAt
		countFailure(f, now.Sub(r.FinalizedAt))
		return true
	})
	var list []driver.KindFailures
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		list = append(list, *byKind[kind])
	}
	return storekit.SortFailures(list, limit)
}

// countFailure counts a failed job that failed so long ago.
func countFailure(f *driver.KindFailures, ago time.Duration) {
	if f.Failed == storekit.FailedCap {
		f.Capped = true
	}
	for _, c := range []struct {
		n       *int64
		applies bool
	}{{&f.Failed, true}, {&f.LastHour, ago < time.Hour}, {&f.HourBefore, ago >= time.Hour && ago < 2*time.Hour}} {
		if c.applies && *c.n < storekit.FailedCap {
			*c.n++
		}
	}
}

// lastError is what a failed row failed with, if its failure left an entry.
func lastError(r *row) string {
	if n := len(r.History); n > 0 && r.History[n-1].State == driver.Failed {
		return r.History[n-1].Error
	}
	return ""
}
