package sqlitestore

import (
	"database/sql"
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
	if _, err := w.one(kind.count, []any{encodeEndings(list), int64(limit) + 1}, &count); err != nil {
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
	id, pending  int64
	flags, runAt int64
	batch        int64
	queue        string
	// resolved is how many of the things that it waits for are resolved, by the ends in closed.
	resolved int64
	closed   []int64
	// doom is why it is deleted, empty if it is not.
	doom string
}

// settleDependents settles all dependents of some endings and forgets the endings.
func (w *work) settleDependents(kind *dependents, list []ending) error {
	text := encodeEndings(list)
	found, err := w.readDependents(kind, text, list)
	if err != nil {
		return err
	}
	if err := w.moveDependents(found); err != nil {
		return err
	}
	dropAll := kind == &ofJobs
	for i := range list {
		e := &list[i]
		if e.seq != 0 {
			if err := w.exec("endings_drop", e.seq); err != nil {
				return err
			}
		}
		dropAll = dropAll && e.state == storekit.Pruned && e.until == math.MaxInt64
	}
	if dropAll {
		return w.exec("flow_drop_parents", text)
	}
	for i := range list {
		if e := &list[i]; e.job != 0 && e.state == storekit.Pruned {
			if err := w.exec("flow_drop", e.job, e.settled, e.until); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) readDependents(kind *dependents, text string, list []ending) ([]*dependent, error) {
	var found []*dependent
	seen := map[int64]*dependent{}
	var key int
	var mask driver.Mask
	var queue interned
	var d dependent
	err := w.each(kind.read, []any{text, int64(flagBatch)}, func(rows *sql.Rows) error {
		if err := rows.Scan(&key, &d.id, &mask, &d.pending, &d.flags, &d.runAt, &queue, &d.batch); err != nil {
			return err
		}
		known := seen[d.id]
		if known == nil {
			known = &dependent{id: d.id, pending: d.pending, flags: d.flags, runAt: d.runAt, queue: string(queue), batch: d.batch}
			seen[d.id] = known
			found = append(found, known)
		}
		known.judge(&list[key], mask)
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
	var ready, scheduled, throttled, left, pending, closed []byte
	var doomed []*dependent
	for _, d := range found {
		switch {
		case d.doom != "":
			doomed = append(doomed, d)
		case d.pending == d.resolved:
			left = appendID(left, d.id)
			state := storekit.Ready(storekit.Instant(d.runAt), w.now, d.flags&flagLimit != 0)
			w.memberMoved(d.batch, driver.Awaiting, state, 1)
			switch state {
			case driver.Enqueued:
				ready = appendID(ready, d.id)
				w.ready(d.queue)
			case driver.Scheduled:
				scheduled = appendID(scheduled, d.id)
				w.scheduled(d.queue)
			default:
				throttled = appendID(throttled, d.id)
			}
		case d.resolved != 0:
			pending = appendPair(pending, d.id, d.resolved)
			for _, parent := range d.closed {
				closed = appendPair(closed, parent, d.id)
			}
		}
	}
	for _, step := range []struct {
		name string
		list []byte
	}{
		{"flow_ready", ready}, {"flow_scheduled", scheduled}, {"flow_throttled", throttled}, {"flow_left", left},
		{"flow_pending", pending}, {"flow_close", closed},
	} {
		if len(step.list) == 0 {
			continue
		}
		if err := w.exec(step.name, closeIDs(step.list)); err != nil {
			return err
		}
	}
	if err := w.touchKeys(throttled); err != nil {
		return err
	}
	return w.doom(doomed)
}

// touchKeys notes the limit keys of jobs that came into throttled.
func (w *work) touchKeys(list []byte) error {
	if len(list) == 0 {
		return nil
	}
	return w.each("flow_keys", []any{closeIDs(list)}, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		w.keyTouched(key)
		return err
	})
}

// doom deletes awaiting jobs for what their parents have become.
func (w *work) doom(doomed []*dependent) error {
	if len(doomed) == 0 {
		return nil
	}
	var list, late []byte
	entries := make([]noted, len(doomed))
	for i, d := range doomed {
		list = appendID(list, d.id)
		if d.flags&flagDeadline != 0 {
			late = appendID(late, d.id)
		}
		entries[i] = noted{id: d.id, entry: driver.Entry{At: w.now, State: driver.Deleted, Reason: d.doom}}
		w.memberMoved(d.batch, driver.Awaiting, driver.Deleted, 1)
		if d.flags&flagChildren != 0 {
			w.jobEnded(d.id, driver.Deleted)
		}
		if d.flags&flagUnique != 0 {
			if err := w.keyReleased(&located{id: d.id, flags: d.flags}, driver.Deleted); err != nil {
				return err
			}
		}
	}
	w.count("", storekit.StatDeleted, int64(len(doomed)))
	text := closeIDs(list)
	if err := w.exec("flow_doomed", text, int64(doneDeleted), w.nowAt); err != nil {
		return err
	}
	if err := w.exec("flow_left", text); err != nil {
		return err
	}
	if len(late) > 0 {
		if err := w.exec("flow_deadlines", closeIDs(late)); err != nil {
			return err
		}
	}
	return w.noteAll(entries)
}
