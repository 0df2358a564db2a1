package memstore

import (
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// settleAtMost is how many dependents one call settles. The calls after it, and Sweep, go on with the rest.
const settleAtMost = 5000

// ending is the end of a job or of a batch, with those that waited for it and are not settled yet.
type ending struct {
	// job is the job that ended in state; 0 for a batch.
	job   int64
	state driver.State
	// waiting are the rows that waited at the end, in the order in which they came.
	waiting []int64
}

// rowEnded notes a row that has just succeeded, failed or been deleted.
func (c *change) rowEnded(r *row) { c.noteEnd(r, r.State) }

// noteEnd notes that the rows that wait for r are to be settled, and that its batch may have finished.
func (c *change) noteEnd(r *row, state driver.State) {
	if n := len(r.Children); n > 0 {
		c.endings = append(c.endings, ending{job: r.ID, state: state, waiting: r.Children[:n:n]})
	}
	if r.batch != nil {
		c.ripe = append(c.ripe, r.batch)
	}
}

// settleEnded releases and dooms what waited for the rows that have ended, and finishes their batches.
func (c *change) settleEnded() { c.settleSome(settleAtMost) }

// settleSome works off at most limit dependents of all that has ended, in the order in which it ended, and returns how many.
func (c *change) settleSome(limit int) int {
	n := 0
	for {
		c.finishBatches()
		if len(c.endings) == 0 || n == limit {
			return n
		}
		e := c.endings[0]
		k := min(len(e.waiting), limit-n)
		c.endings[0].waiting = e.waiting[k:]
		if k == len(e.waiting) {
			c.endings[0] = ending{}
			c.endings = c.endings[1:]
		}
		for _, id := range e.waiting[:k] {
			c.settleRow(c.rows[id], &e)
		}
		n += k
	}
}

// settleRow does to a row what the end of something that it waited for means.
func (c *change) settleRow(r *row, e *ending) {
	if r == nil || r.State != driver.Awaiting {
		return
	}
	if e.job == 0 {
		r.batchOpen = false
		c.resolved(r)
		return
	}
	dep := r.deps.Of(e.job)
	if dep == nil || !dep.Open {
		return
	}
	switch storekit.Judge(dep.On, e.state) {
	case storekit.Resolve:
		dep.Open = false
		c.resolved(r)
	case storekit.Doom:
		c.end(r, driver.Entry{Reason: storekit.DoomReason(e.job, e.state)})
	}
}

// resolved takes one thing off what a row waits for.
func (c *change) resolved(r *row) {
	if r.PendingDeps--; r.PendingDeps > 0 {
		return
	}
	c.ready(r)
}

// depend tells the parents and the batch of a new row that it waits for them.
func (c *change) depend(r *row) {
	for _, dep := range r.deps.List {
		parent := c.rows[dep.Parent]
		if len(parent.Children) == cap(parent.Children) {
			// The array would grow now, so this is the time to forget children that are gone.
			parent.Children = c.existing(parent.Children)
		}
		parent.Children = append(parent.Children, r.ID)
	}
	if r.batchOpen {
		b := c.batches[r.AfterBatch]
		b.waiting = append(b.waiting, r.ID)
	}
}

// existing is a copy of those ids that are the ids of rows, sorted.
func (s *Store) existing(ids []int64) []int64 {
	var out []int64
	for _, id := range ids {
		if s.rows[id] != nil {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
