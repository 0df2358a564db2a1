package pgstore

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// wait is what a new job waits for and belongs to; most have none.
type wait struct {
	// batch is the batch that it joins, after the one whose end it waits for; 0 is none.
	batch, after int64
	parents      []driver.Parent
	// named are the parents once duplicates are known.
	named []driver.Parent
	// deps and pending are worked out in the transaction, and doom, why the job is deleted at once, if it is.
	deps    storekit.Deps
	pending int
	doom    string
}

// draftWait notes what the job waits for and belongs to.
func (d *draft) draftWait(p *driver.InsertParams) {
	if p.BatchID == 0 && p.AfterBatch == 0 && len(p.Parents) == 0 {
		return
	}
	d.wait = &wait{batch: p.BatchID, after: p.AfterBatch, parents: slices.Clone(p.Parents)}
	if p.BatchID != 0 {
		d.flags |= flagBatch
	}
	if p.AfterBatch != 0 || len(p.Parents) > 0 {
		d.flags |= flagParents
	}
}

// arrayText writes ids as PostgreSQL writes an array.
func arrayText(ids []int64) string {
	text := []byte{'{'}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, '}'))
}

// waiting reports whether any of the jobs waits for something or belongs to a batch.
func waiting(drafts []draft) bool {
	return slices.ContainsFunc(drafts, func(d draft) bool { return d.wait != nil })
}

// resolver looks up what the jobs of a call wait for and join.
type resolver struct {
	*work
	drafts []draft
	states map[int64]driver.State
	flags  map[int64]int32
	// finished says of each batch that is named whether it has finished.
	finished map[int64]bool
}

// resolve decides the first states of jobs that wait, which have their ids, and tells the jobs that they wait for.
func (w *work) resolve(drafts []draft) error {
	if !waiting(drafts) {
		return nil
	}
	if err := followDuplicates(drafts); err != nil {
		return err
	}
	r := resolver{work: w, drafts: drafts, states: map[int64]driver.State{}, flags: map[int64]int32{}, finished: map[int64]bool{}}
	if err := r.read(); err != nil {
		return err
	}
	order := storekit.ParentsFirst(len(drafts), func(i int) []driver.Parent {
		if drafts[i].wait == nil {
			return nil
		}
		return drafts[i].wait.named
	})
	for i := range drafts {
		if order != nil {
			i = order[i]
		}
		if err := r.decide(i); err != nil {
			return fmt.Errorf("job %d of %d: %w", i, len(drafts), err)
		}
	}
	if w.foreign {
		return nil // they are told after the commit
	}
	return r.tellParents()
}

// read looks up the parents and batches that the jobs name by id.
func (r *resolver) read() error {
	var parents, batches []int64
	for i := range r.drafts {
		wait := r.drafts[i].wait
		if wait == nil || r.drafts[i].duplicate() {
			continue
		}
		for _, p := range wait.named {
			if p.ID != 0 {
				parents = append(parents, p.ID)
			}
		}
		for _, id := range []int64{wait.batch, wait.after} {
			if id != 0 {
				batches = append(batches, id)
			}
		}
	}
	if err := r.readParents(parents); err != nil {
		return err
	}
	return r.eachID("batch_join", batches, func(rows rows) error {
		var id, finished int64
		err := rows.Scan(&id, &finished)
		r.finished[id] = finished != 0
		return err
	})
}

// readParents reads where jobs stand that others wait for.
func (r *resolver) readParents(parents []int64) error {
	return r.eachID("parents_read", parents, func(rows rows) error {
		var id int64
		var flags int32
		var state string
		err := rows.Scan(&id, &state, &flags)
		r.states[id], r.flags[id] = driver.State(state), flags
		return err
	})
}

// eachID runs a query on a list of ids, each given once, if there are any.
func (r *runner) eachID(name string, ids []int64, fn func(rows rows) error) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return r.each(name, []any{slices.Compact(ids)}, fn)
}

// decide finds the first state of one job, those of its parents being known.
func (r *resolver) decide(i int) error {
	d := &r.drafts[i]
	wait := d.wait
	if wait == nil || d.duplicate() {
		return nil
	}
	wait.deps = storekit.Deps{}
	own := map[int64]driver.State{}
	for _, p := range wait.named {
		id := p.ID
		if id == 0 {
			parent := &r.drafts[p.Index]
			parent.flags |= flagChildren
			id = parent.id
			own[id] = parent.state
		} else if _, ok := r.states[id]; !ok {
			return storekit.NoParent(id)
		}
		wait.deps.Add(id, p.On)
	}
	open, err := r.openBatch(wait)
	if err != nil {
		return err
	}
	wait.pending, wait.doom = wait.deps.Settle(func(id int64) driver.State {
		if state, ok := own[id]; ok {
			return state
		}
		return r.states[id]
	})
	if open && wait.doom == "" {
		wait.pending++
	}
	d.state = storekit.FirstState(wait.doom != "", wait.pending, storekit.Instant(d.startAt), r.now, d.flags&flagLimit != 0)
	return nil
}

// openBatch checks the batches that a job names and reports whether it has to wait for one.
func (r *resolver) openBatch(wait *wait) (bool, error) {
	if wait.batch != 0 {
		finished, ok := r.finished[wait.batch]
		if err := storekit.JoinBatch(wait.batch, finished, ok); err != nil {
			return false, err
		}
	}
	if wait.after == 0 {
		return false, nil
	}
	finished, ok := r.finished[wait.after]
	if !ok {
		return false, storekit.NoAfterBatch(wait.after)
	}
	return !finished, nil
}

// tellParents sets the flag of jobs that others wait for on those that were there before.
func (r *resolver) tellParents() error {
	lists := map[string][]int64{}
	for id, state := range r.states {
		if r.flags[id]&flagChildren != 0 {
			continue
		}
		name := "parents_" + string(state)
		if state.Archived() {
			name = "parents_done"
		}
		lists[name] = append(lists[name], id)
	}
	for _, name := range []string{
		"parents_enqueued", "parents_processing", "parents_scheduled", "parents_throttled", "parents_awaiting", "parents_failed", "parents_done",
	} {
		if len(lists[name]) == 0 {
			continue
		}
		slices.Sort(lists[name])
		// One that has moved on meanwhile may have ended without looking for children.
		if err := r.must(len(lists[name]), name, lists[name], int32(flagChildren)); err != nil {
			return err
		}
	}
	return nil
}

// insertWaits writes what new jobs wait for and counts them in their batches.
func (w *work) insertWaits(drafts []draft) error {
	var parents, children []int64
	var masks []int16
	var open []bool
	var entries []noted
	for i := range drafts {
		d := &drafts[i]
		if d.wait == nil || d.duplicate() {
			continue
		}
		for _, dep := range d.wait.deps.List {
			parents, children = append(parents, dep.Parent), append(children, d.id)
			masks, open = append(masks, int16(dep.On)), append(open, dep.Open)
		}
		if w.foreign && len(d.wait.deps.List) > 0 {
			w.arrivals.children = append(w.arrivals.children, d.id)
		}
		w.memberJoined(d.wait.batch, d.state)
		if d.wait.doom != "" {
			entries = append(entries, noted{id: d.id, entry: driver.Entry{At: w.now, State: driver.Deleted, Reason: d.wait.doom}})
		}
	}
	if len(parents) > 0 {
		if err := w.exec("insert_deps", parents, children, masks, open); err != nil {
			return err
		}
	}
	return w.noteAll(entries)
}
