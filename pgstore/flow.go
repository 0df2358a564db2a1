package pgstore

import (
	"math"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// settleAtMost is how many dependents one call settles. What is left stands in a table from which Sweep goes on.
const settleAtMost = 2000

// flow is what the changes of a call set off among dependencies and batches, until it is settled.
type flow struct {
	ended   []ending
	tallies storekit.Tallies
}

// jobEnded notes a job with dependents that has just succeeded, failed, been deleted or, in the end, pruned.
func (w *work) jobEnded(id int64, state driver.State) {
	w.flow.ended = append(w.flow.ended, ending{job: id, state: state, until: math.MaxInt64})
}

// settleEnded releases and dooms what waited for the jobs that have ended, and finishes their batches.
func (w *work) settleEnded() error {
	if len(w.flow.ended) == 0 && len(w.flow.tallies) == 0 {
		return nil
	}
	if err := w.queueBehind(); err != nil {
		return err
	}
	_, err := w.settle(settleAtMost)
	return err
}

// settle goes on, round by round, until all that has ended is settled or about limit dependents are, and returns how many. The
// rest is put off.
func (w *work) settle(limit int) (int, error) {
	used := 0
	for {
		if err := w.writeTallies(); err != nil {
			return used, err
		}
		ended := w.flow.ended
		w.flow.ended = nil
		if len(ended) == 0 {
			return used, nil
		}
		if used >= limit {
			return used, w.postpone(ended)
		}
		n, left, err := w.round(ended, limit-used)
		if err != nil {
			return used, err
		}
		used += n
		w.flow.ended = append(left, w.flow.ended...)
	}
}

// round settles the dependents of some endings, at most limit of them, and returns how many that were and the endings that are
// left. What it releases and dooms may end more.
func (w *work) round(ended []ending, limit int) (used int, left []ending, err error) {
	for _, kind := range []*dependents{&ofJobs, &ofBatches} {
		var list []ending
		for _, e := range ended {
			if e.dependents() == kind {
				list = append(list, e)
			}
		}
		if len(list) == 0 {
			continue
		}
		n, rest, err := w.roundOf(kind, list, limit-used)
		if err != nil {
			return used, nil, err
		}
		used += n
		left = append(left, rest...)
	}
	return used, left, nil
}

func (w *work) roundOf(kind *dependents, list []ending, limit int) (used int, left []ending, err error) {
	if limit <= 0 {
		return 0, list, nil
	}
	count := 0
	of, from, to := spans(list)
	if _, err := w.one(kind.count, []any{of, from, to, int64(limit) + 1}, &count); err != nil {
		return 0, nil, err
	}
	if count <= limit {
		return count, nil, w.settleDependents(kind, list)
	}
	for i := range list {
		e := list[i]
		if used == limit {
			return used, append(left, list[i:]...), nil
		}
		var n int
		var last int64
		if _, err := w.one(kind.span, []any{e.of(), e.settled, e.until, int64(limit - used)}, &n, &last); err != nil {
			return used, left, err
		}
		part, whole := e, n < limit-used
		if !whole {
			part.until, part.seq = last, 0 // its row stays
		}
		if err := w.settleDependents(kind, []ending{part}); err != nil {
			return used, left, err
		}
		used += n
		if !whole {
			e.settled = last
			left = append(left, e)
		}
	}
	return used, left, nil
}

// dependent is a job that waits for something that has ended.
type dependent struct {
	id, pending int64
	flags       int32
	runAt       int64
	rank        int32
	batch       int64
	queue       string
	// resolved is how many of the things that it waits for are resolved, by the ends in closed.
	resolved int64
	closed   []int64
	// doom is why it is deleted, empty if it is not.
	doom string
}

// spans are the columns of endings: of whom, and the dependents from which on and up to which they settle.
func spans(list []ending) (of, from, to []int64) {
	of, from, to = make([]int64, len(list)), make([]int64, len(list)), make([]int64, len(list))
	for i := range list {
		of[i], from[i], to[i] = list[i].of(), list[i].settled, list[i].until
	}
	return of, from, to
}

// settleDependents settles all dependents of some endings and forgets the endings.
func (w *work) settleDependents(kind *dependents, list []ending) error {
	found, err := w.readDependents(kind, list)
	if err != nil {
		return err
	}
	if err := w.moveDependents(found); err != nil {
		return err
	}
	var seqs []int64
	var pruned []ending
	for i := range list {
		if e := &list[i]; e.seq != 0 {
			seqs = append(seqs, e.seq)
		}
		if e := &list[i]; e.job != 0 && e.state == storekit.Pruned {
			pruned = append(pruned, *e)
		}
	}
	if len(seqs) > 0 {
		if err := w.exec("endings_drop", seqs); err != nil {
			return err
		}
	}
	if len(pruned) == 0 {
		return nil
	}
	of, from, to := spans(pruned)
	return w.exec("flow_drop", of, from, to)
}

// readDependents locks and reads the jobs that wait for what has ended. Whoever else moves one of them waits.
func (w *work) readDependents(kind *dependents, list []ending) ([]*dependent, error) {
	var found []*dependent
	seen := map[int64]*dependent{}
	of, from, to := spans(list)
	var key int
	var mask int16
	var d dependent
	err := w.each(kind.read, []any{of, from, to}, func(rows rows) error {
		if err := rows.Scan(&key, &d.id, &mask, &d.pending, &d.flags, &d.runAt, &d.queue, &d.rank, &d.batch); err != nil {
			return err
		}
		known := seen[d.id]
		if known == nil {
			known = &dependent{id: d.id, pending: d.pending, flags: d.flags, runAt: d.runAt, queue: d.queue, rank: d.rank, batch: d.batch}
			seen[d.id] = known
			found = append(found, known)
		}
		known.judge(&list[key], driver.Mask(mask))
		return nil
	})
	return found, err
}

// judge notes what an ending means for the dependent.
func (d *dependent) judge(e *ending, on driver.Mask) {
	if e.batch != 0 {
		d.resolved++
		return
	}
	switch storekit.Judge(on, e.state) {
	case storekit.Resolve:
		d.resolved++
		d.closed = append(d.closed, e.job)
	case storekit.Doom:
		if d.doom == "" {
			d.doom = storekit.DoomReason(e.job, e.state)
		}
	}
}

// moveDependents moves the dependents to where their endings send them: released, doomed, or waiting for less.
func (w *work) moveDependents(found []*dependent) error {
	var ready, scheduled, throttled, pending, parents, children []int64
	var fewer []int32
	var doomed []*dependent
	for _, d := range found {
		switch {
		case d.doom != "":
			doomed = append(doomed, d)
		case d.pending == d.resolved:
			state := storekit.Ready(storekit.Instant(d.runAt), w.now, d.flags&flagLimit != 0)
			w.memberMoved(d.batch, driver.Awaiting, state, 1)
			switch state {
			case driver.Enqueued:
				ready = append(ready, d.id)
				w.ready(d.queue, d.rank, d.id)
			case driver.Scheduled:
				scheduled = append(scheduled, d.id)
				w.scheduled(d.queue)
			default:
				throttled = append(throttled, d.id)
			}
		case d.resolved != 0:
			pending, fewer = append(pending, d.id), append(fewer, int32(d.resolved))
			for _, parent := range d.closed {
				parents, children = append(parents, parent), append(children, d.id)
			}
		}
	}
	for _, to := range []struct {
		name string
		ids  []int64
	}{{"flow_ready", ready}, {"flow_scheduled", scheduled}, {"flow_throttled", throttled}} {
		if len(to.ids) == 0 {
			continue
		}
		if err := w.must(len(to.ids), to.name, to.ids); err != nil {
			return err
		}
	}
	if len(pending) > 0 {
		if err := w.must(len(pending), "flow_pending", pending, fewer); err != nil {
			return err
		}
	}
	if len(parents) > 0 {
		if err := w.exec("flow_close", parents, children); err != nil {
			return err
		}
	}
	if len(throttled) > 0 {
		keys, err := w.keysOf(throttled)
		if err != nil {
			return err
		}
		for _, key := range keys {
			w.keyTouched(key)
		}
	}
	return w.doom(doomed)
}

// doom deletes awaiting jobs for what their parents have become.
func (w *work) doom(doomed []*dependent) error {
	if len(doomed) == 0 {
		return nil
	}
	var ids, late, keyed []int64
	entries := make([]noted, len(doomed))
	for i, d := range doomed {
		ids = append(ids, d.id)
		if d.flags&flagDeadline != 0 {
			late = append(late, d.id)
		}
		if d.flags&flagUnique != 0 {
			keyed = append(keyed, d.id)
		}
		if d.flags&flagChildren != 0 {
			w.jobEnded(d.id, driver.Deleted)
		}
		entries[i] = noted{id: d.id, entry: driver.Entry{At: w.now, State: driver.Deleted, Reason: d.doom}}
		w.memberMoved(d.batch, driver.Awaiting, driver.Deleted, 1)
	}
	w.count("", storekit.StatDeleted, int64(len(doomed)))
	if err := w.must(len(ids), "flow_doomed", ids, int16(doneDeleted), w.nowAt); err != nil {
		return err
	}
	if len(late) > 0 {
		if err := w.exec("delete_deadlines", late); err != nil {
			return err
		}
	}
	if len(keyed) > 0 {
		if err := w.exec("unique_release_all", keyed); err != nil {
			return err
		}
	}
	return w.noteAll(entries)
}
