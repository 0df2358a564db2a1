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
	if err := driver.CheckInsert(jobs); err != nil || len(jobs) == 0 {
		return nil, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	c := s.change(now)
	in, err := c.bring(jobs)
	if err != nil {
		return nil, err
	}
	c.finish()
	return in.results(s), nil
}

// bring puts new jobs into the store, all of them or none.
func (c *change) bring(jobs []driver.InsertParams) (*insertion, error) {
	in, err := c.newInsertion(nil, jobs, c.now)
	if err != nil {
		return nil, err
	}
	if err := in.resolve(c.Store, c.now); err != nil {
		return nil, err
	}
	c.insert(in)
	return in, nil
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
	for k := range in.arrivals {
		if in.order != nil {
			k = in.order[k]
		}
		a := &in.arrivals[k]
		if a.holder != nil {
			continue
		}
		if err := a.row.resolve(v, own, now); err != nil {
			return fmt.Errorf("job %d of %d: %w", k, len(in.arrivals), err)
		}
		own[a.row.ID] = a.row
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
			return storekit.NoParent(dep.Parent)
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
	if r.scheduled && (r.State == driver.Enqueued || r.State == driver.Throttled) {
		r.State = driver.Scheduled
	}
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
		if err := storekit.JoinBatch(r.BatchID, finished, ok); err != nil {
			return false, err
		}
	}
	if r.AfterBatch == 0 {
		return false, nil
	}
	finished, ok := v.batchOf(r.AfterBatch)
	if !ok {
		return false, storekit.NoAfterBatch(r.AfterBatch)
	}
	return !finished, nil
}

// insert puts the jobs of a call into the store, and gives the values of duplicates to the holders that take them.
func (c *change) insert(in *insertion) {
	for i := range in.arrivals {
		a := &in.arrivals[i]
		if a.holder != nil {
			if a.merged.Replaced {
				c.replace(a.holder, a.row, a.merged)
			}
			continue
		}
		if a.row.LimitKey != "" {
			c.setRule(a.row, a.rule)
		}
		c.take(a, nil)
		c.add(a.row)
		c.hints.note(a.row)
	}
	for r := range in.rows {
		c.depend(r)
		if r.State.Final() && r.batch != nil {
			c.ripe = append(c.ripe, r.batch)
		}
	}
}
