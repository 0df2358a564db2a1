package memstore

import (
	"maps"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// edge is a parent and one of its children.
type edge struct{ parent, child int64 }

// waits checks what rows wait for: that the count is right, that those that a row waits for know it, and, while no ending is
// still to be settled, that none of them has ended.
func (c *checker) waits(s *Store) {
	known := make(map[edge]bool)
	for id, r := range s.rows {
		for _, child := range r.Children {
			known[edge{id, child}] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		c.rowWaits(s, s.rows[id], known)
	}
}

func (c *checker) rowWaits(s *Store, r *row, known map[edge]bool) {
	open := 0
	if r.batchOpen {
		open++
	}
	for _, dep := range r.deps.List {
		if !dep.Open {
			continue
		}
		open++
		if r.State != driver.Awaiting || len(s.endings) > 0 {
			continue
		}
		parent := s.rows[dep.Parent]
		c.want(parent != nil, "job %d waits for job %d, which is gone", r.ID, dep.Parent)
		if parent == nil {
			continue
		}
		c.want(known[edge{parent.ID, r.ID}], "job %d waits for job %d, which does not know it", r.ID, dep.Parent)
		c.want(storekit.Judge(dep.On, parent.State) == storekit.Stay, "job %d waits for the outcomes %d of job %d, which is %s",
			r.ID, dep.On, dep.Parent, parent.State)
	}
	if r.State != driver.Awaiting {
		c.want(r.PendingDeps == 0, "job %d is %s and has %d pending", r.ID, r.State, r.PendingDeps)
		return
	}
	c.want(r.PendingDeps == open, "job %d has %d pending and waits for %d", r.ID, r.PendingDeps, open)
	if b := s.batches[r.AfterBatch]; r.batchOpen && len(s.endings) == 0 {
		c.want(b != nil && b.FinishedAt.IsZero(), "job %d waits for batch %d, which has finished or is gone", r.ID, r.AfterBatch)
	}
}

// batches recounts what batches count.
func (c *checker) batches(s *Store) {
	type sum struct {
		states                    [len(driver.States)]int64
		members, nested, finished int64
	}
	sums := make(map[int64]*sum)
	of := func(id int64) *sum {
		if sums[id] == nil {
			sums[id] = &sum{}
		}
		return sums[id]
	}
	for _, r := range s.rows {
		if r.BatchID == 0 {
			continue
		}
		c.want(r.batch == s.batches[r.BatchID] && r.batch != nil, "job %d is of batch %d, which is gone", r.ID, r.BatchID)
		of(r.BatchID).members++
		of(r.BatchID).states[ordinal(r.State)]++
	}
	for _, b := range s.batches {
		if b.Parent == 0 {
			continue
		}
		c.want(s.batches[b.Parent] != nil, "batch %d is nested in batch %d, which is gone", b.ID, b.Parent)
		of(b.Parent).nested++
		if !b.FinishedAt.IsZero() {
			of(b.Parent).finished++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.batches)) {
		b, n := s.batches[id], of(id)
		gone := b.Nested - b.kept // those that were pruned, which had finished
		c.want(b.ID == id && id > 0 && id <= s.lastBatch, "batch %d is kept under id %d, and %d was given out last", b.ID, id, s.lastBatch)
		c.want(b.states == n.states && b.members == n.members && b.members <= b.Total, "batch %d of %d counts %d members %v of %d %v",
			id, b.Total, b.members, b.states, n.members, n.states)
		c.want(b.kept == n.nested && b.NestedFinished == n.finished+gone, "batch %d counts %d nested batches, %d finished and %d gone, of %d and %d",
			id, b.kept, b.NestedFinished, gone, n.nested, n.finished)
		c.want(!b.progress().Finishes(), "batch %d is sealed and done and has not finished", id)
	}
}
