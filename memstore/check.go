package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Check verifies the store's invariants and returns all that are broken, nil on a sound store: every job is in exactly one
// state and on the lists that go with it, every counter equals a recount, and no job is stranded. It changes nothing.
func (s *Store) Check(ctx context.Context) error {
	if _, err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	var c checker
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		c.row(s, id, s.rows[id])
	}
	c.waits(s)
	c.batches(s)
	c.lists(s)
	c.lanes(s)
	c.statistics(s)
	c.uniques(s)
	c.limits(s)
	return errors.Join(c.broken...)
}

type checker struct{ broken []error }

// want notes a broken invariant.
func (c *checker) want(ok bool, format string, args ...any) {
	if !ok {
		c.broken = append(c.broken, fmt.Errorf("memstore: "+format, args...))
	}
}

// row checks one row by itself, and that the lists know it.
func (c *checker) row(s *Store, id int64, r *row) {
	c.want(r.ID == id && id > 0 && id <= s.lastID, "job %d is kept under id %d, and %d was given out last", r.ID, id, s.lastID)
	c.want(r.State.Valid(), "job %d has the state %q", id, r.State)
	c.want(r.lane != nil && s.queues[r.Queue] != nil && s.queues[r.Queue].lanes[r.Kind] == r.lane,
		"job %d is not in the lane of its queue %q and kind %q", id, r.Queue, r.Kind)
	if r.lane == nil {
		return
	}
	c.want(s.list(r).get(r.key()) == r, "job %d is not on the list of its state %s", id, r.State)
	listed := s.deadlines.get(r.deadlineKey()) == r
	c.want(listed == (r.waiting() && !r.deadline.IsZero()), "job %d, %s: its deadline %v is listed: %t", id, r.State, r.deadline, listed)

	c.want(r.State.Final() == !r.FinalizedAt.IsZero(), "job %d is %s and has FinalizedAt %v", id, r.State, r.FinalizedAt)
	c.want(r.State.Archived() || r.Output == nil, "job %d is %s and has an output", id, r.State)
	c.want(r.State == driver.Processing || !r.CancelRequested, "job %d is %s and has a cancel flag", id, r.State)
	c.want(r.State != driver.Processing || r.Claim > 0 && !r.AttemptedAt.IsZero(), "job %d is processing without a claim", id)
	c.want(r.State != driver.Awaiting || r.PendingDeps > 0, "job %d is awaiting with nothing to wait for", id)
	c.want(r.State != driver.Throttled || r.LimitKey != "", "job %d is throttled without a limit", id)
	c.want(r.Attempt >= 0 && r.Attempt <= int(r.Claim), "job %d has attempt %d under claim %d", id, r.Attempt, r.Claim)
	c.want(!r.granted || r.State == driver.Scheduled || r.State == driver.Throttled, "job %d is %s with a reserved start", id, r.State)
	c.want((r.limit != nil) == (r.LimitKey != "") && (r.limit == nil || s.limits[r.LimitKey] == r.limit), "job %d has lost its limit %q", id, r.LimitKey)
	if r.unique != "" && !r.State.Final() {
		u := s.uniques[r.unique]
		c.want(u != nil && u.row == r, "job %d is %s without its unique key", id, r.State)
	}
	c.want(len(r.History) <= storekit.MaxHistory, "job %d has %d history entries", id, len(r.History))
}

// lists checks that lists are sorted and hold nothing but the rows, each once.
func (c *checker) lists(s *Store) {
	all := []*list{&s.awaiting, &s.scheduled, &s.throttled, &s.processing, &s.succeeded, &s.failed, &s.deleted}
	for _, q := range s.queues {
		for _, l := range q.lanes {
			all = append(all, &l.ready)
		}
	}
	listed := 0
	for _, l := range all {
		c.list(l)
		listed += l.len
	}
	c.want(listed == len(s.rows), "the lists hold %d jobs and the store %d", listed, len(s.rows))
	late := 0
	for _, r := range s.rows {
		if r.waiting() && !r.deadline.IsZero() {
			late++
		}
	}
	c.list(&s.deadlines)
	c.want(s.deadlines.len == late, "%d deadlines are listed of %d", s.deadlines.len, late)
}

func (c *checker) list(l *list) {
	n := 0
	last := lowest
	l.ascend(lowest, func(e entry) bool {
		n++
		c.want(last.less(e.key), "a list has %v before %v", last, e.key)
		last = e.key
		return true
	})
	c.want(n == l.len, "a list of %d entries counts %d", n, l.len)
}

// lanes recounts what lanes and the store count.
func (c *checker) lanes(s *Store) {
	type sum struct {
		rows   int
		states [len(driver.States)]int
	}
	sums := make(map[*lane]sum)
	retries := 0
	for _, r := range s.rows {
		n := sums[r.lane]
		n.rows++
		n.states[ordinal(r.State)]++
		sums[r.lane] = n
		if r.State == driver.Scheduled && r.Attempt > 0 {
			retries++
		}
	}
	c.want(s.retries == retries, "%d retries are counted of %d", s.retries, retries)
	for name, q := range s.queues {
		c.want(q.name == name && (len(q.lanes) > 0 || !q.pausedAt.IsZero()), "queue %q is kept for nothing", name)
		for kind, l := range q.lanes {
			n := sums[l]
			c.want(l.kind == kind && l.queue == q && n.rows > 0, "lane %q of queue %q is kept for nothing", kind, name)
			c.want(l.rows == n.rows && l.states == n.states, "lane %q of queue %q counts %d %v of %d %v",
				kind, name, l.rows, l.states, n.rows, n.states)
		}
	}
}

// statistics checks that folding lost nothing.
func (c *checker) statistics(s *Store) {
	sum := s.folded
	for _, m := range s.minutes {
		sum.merge(*m)
	}
	c.want(sum == s.total, "statistics add up to %+v of %+v", sum, s.total)
}

// uniques checks that no key is held without a job that holds it.
func (c *checker) uniques(s *Store) {
	for key, u := range s.uniques {
		switch {
		case u.tx != nil:
			c.want(!u.tx.done, "unique key %q belongs to a transaction that has ended", key)
		case u.expires.IsZero():
			c.want(s.rows[u.row.ID] == u.row && !u.row.State.Final() && u.row.unique == key,
				"unique key %q is held by job %d, which is %s", key, u.row.ID, u.row.State)
		}
	}
}

// limits recounts what limits count, and looks for rows that wait for nothing.
func (c *checker) limits(s *Store) {
	type sum struct{ rows, active, waiting, reserved int }
	sums := make(map[*limit]sum)
	for _, r := range s.rows {
		if r.limit == nil {
			continue
		}
		n := sums[r.limit]
		n.rows++
		switch r.State {
		case driver.Enqueued, driver.Processing:
			n.active++
		case driver.Throttled:
			n.waiting++
		case driver.Scheduled:
			if r.granted {
				n.reserved++
			}
		}
		sums[r.limit] = n
	}
	for key := range s.unsettled {
		c.want(s.limits[key] != nil, "limit %q is gone and still to be gone on with", key)
	}
	for key, l := range s.limits {
		got := sum{l.rows, l.Active, l.waiting.len, l.reserved}
		c.want(l.key == key && got == sums[l], "limit %q counts %+v of %+v", key, got, sums[l])
		c.list(&l.waiting)
		c.want(l.waiting.len == 0 || s.unsettled[key] || !l.Room(), "limit %q has room for the %d jobs that wait", key, l.waiting.len)
	}
}
