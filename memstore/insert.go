package memstore

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Insert implements driver.Writer.
func (s *Store) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if err := checkInsert(jobs); err != nil || len(jobs) == 0 {
		return nil, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	in := s.newInsertion(jobs, now)
	if err := in.resolve(s, now); err != nil {
		return nil, err
	}
	c := s.change(now)
	c.insert(in.rows)
	c.finish()
	return in.results(), nil
}

func checkInsert(jobs []driver.InsertParams) error {
	if err := driver.CheckInsert(jobs); err != nil {
		return err
	}
	return storekit.RefuseUnbuilt(jobs)
}

// insertion is the rows of one Insert call. They are not in the store yet.
type insertion struct {
	rows []*row
	// order has parents before those that wait for them, nil when the rows stand so already.
	order []int
}

// newInsertion makes the rows of a call and gives them their ids.
func (s *Store) newInsertion(jobs []driver.InsertParams, now time.Time) *insertion {
	in := &insertion{rows: make([]*row, len(jobs)), order: storekit.ParentsFirst(len(jobs), func(i int) []driver.Parent { return jobs[i].Parents })}
	for i := range jobs {
		s.lastID++
		in.rows[i] = newRow(&jobs[i], s.lastID, now)
	}
	for i, r := range in.rows {
		for _, p := range jobs[i].Parents {
			id := p.ID
			if id == 0 {
				id = in.rows[p.Index].ID
			}
			r.deps.Add(id, p.On)
		}
		r.Parents = r.deps.IDs()
	}
	return in
}

// view is what knows the jobs and batches that new ones refer to: the store, or a transaction on it.
type view interface {
	// stateOf is the state of a job; ok is false when there is none.
	stateOf(id int64) (state driver.State, ok bool)
	// batchOf reports whether a batch has finished; ok is false when there is none.
	batchOf(id int64) (finished, ok bool)
}

func (s *Store) stateOf(id int64) (driver.State, bool) {
	r := s.rows[id]
	if r == nil {
		return "", false
	}
	return r.State, true
}

func (s *Store) batchOf(id int64) (finished, ok bool) {
	b := s.batches[id]
	return b != nil && !b.FinishedAt.IsZero(), b != nil
}

// resolve looks up what the rows wait for and join, and decides their first states.
func (in *insertion) resolve(v view, now time.Time) error {
	own := make(map[int64]*row)
	for k := range in.rows {
		if in.order != nil {
			k = in.order[k]
		}
		r := in.rows[k]
		if err := r.resolve(v, own, now); err != nil {
			return fmt.Errorf("job %d of %d: %w", k, len(in.rows), err)
		}
		own[r.ID] = r
	}
	return nil
}

func (r *row) resolve(v view, own map[int64]*row, now time.Time) error {
	states := make(map[int64]driver.State, len(r.deps.List))
	for _, dep := range r.deps.List {
		state, ok := v.stateOf(dep.Parent)
		if p := own[dep.Parent]; p != nil {
			state, ok = p.State, true
		}
		if !ok {
			return fmt.Errorf("%w: parent job %d", driver.ErrNotFound, dep.Parent)
		}
		states[dep.Parent] = state
	}
	open, err := r.resolveBatches(v)
	if err != nil {
		return err
	}
	pending, doom := r.deps.Settle(func(id int64) driver.State { return states[id] })
	if r.batchOpen = open && doom == ""; r.batchOpen {
		pending++
	}
	r.PendingDeps = pending
	r.State = storekit.FirstState(doom != "", pending, r.RunAt, now, r.LimitKey != "")
	r.History, r.FinalizedAt = nil, time.Time{}
	if doom != "" {
		r.FinalizedAt = now
		r.History = []driver.Entry{{At: now, State: driver.Deleted, Reason: doom}}
	}
	return nil
}

// resolveBatches looks up the batch that the row joins and the one that it waits for, and reports whether it has to.
func (r *row) resolveBatches(v view) (open bool, err error) {
	if r.BatchID != 0 {
		finished, ok := v.batchOf(r.BatchID)
		switch {
		case !ok:
			return false, noBatch(r.BatchID)
		case finished:
			return false, fmt.Errorf("%w: batch %d has finished", driver.ErrClosed, r.BatchID)
		}
	}
	if r.AfterBatch == 0 {
		return false, nil
	}
	finished, ok := v.batchOf(r.AfterBatch)
	if !ok {
		return false, fmt.Errorf("%w: batch %d to wait for", driver.ErrNotFound, r.AfterBatch)
	}
	return !finished, nil
}

// insert puts the rows of a call into the store.
func (c *change) insert(rows []*row) {
	for _, r := range rows {
		c.add(r)
		c.hints.note(r)
	}
	for _, r := range rows {
		c.depend(r)
		if r.State.Final() && r.batch != nil {
			c.ripe = append(c.ripe, r.batch)
		}
	}
}

func (in *insertion) results() []driver.Inserted {
	results := make([]driver.Inserted, len(in.rows))
	for i, r := range in.rows {
		results[i] = driver.Inserted{ID: r.ID, State: r.State}
	}
	return results
}
