package pgstore

import (
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// located is one job where it stands: the parts of its row that moving it needs, and its row in the table of its state.
type located struct {
	id                  int64
	state               driver.State
	queue, kind         string
	rank                int32
	deadline, batch     int64
	recurring, limitKey string
	tags                string
	flags               int32
	claim, attempt      int64
	runAt, attemptedAt  int64
	server              string
	cancel              bool
}

// Codes of the states in the table of archived jobs.
const (
	doneSucceeded = 1
	doneDeleted   = 2
)

// locate finds a job; ok is false when there is none.
func (w *work) locate(id int64) (l located, ok bool, err error) {
	list, err := w.locateAll([]int64{id})
	if err != nil || len(list) == 0 {
		return located{}, false, err
	}
	return list[0], true, nil
}

// locateAll finds jobs, in the order of their ids. Those that there are not are left out.
func (w *work) locateAll(ids []int64) (list []located, err error) {
	err = w.each("locate_all", []any{ids}, func(rows rows) error {
		var l located
		var priority int32
		if err := rows.Scan(&l.id, &l.queue, &l.kind, &priority, &l.deadline, &l.batch, &l.recurring, &l.limitKey, &l.tags,
			&l.state, &l.flags, &l.claim, &l.attempt, &l.runAt, &l.attemptedAt, &l.server, &l.cancel); err != nil {
			return err
		}
		if l.state == "" {
			return fmt.Errorf("job %d is in no state", l.id)
		}
		l.rank = -priority
		list = append(list, l)
		return nil
	})
	return list, err
}

// leave takes the job out of the table of its state, with what belongs to the state.
func (w *work) leave(l *located) error {
	if err := w.leaveState(l); err != nil {
		return err
	}
	w.memberCounted(l.batch, l.state, -1)
	w.slotFreed(l)
	return w.dropDeadline(l)
}

// leaveState takes the job out of the table of its state and nothing else. When it is not there any more as it was read, the transaction
// is made again: it may have learnt of a child, or have run and come back.
func (w *work) leaveState(l *located) error {
	switch l.state {
	case driver.Enqueued:
		return w.must(1, "ready_drop", l.id, l.flags, l.claim, l.queue, l.rank)
	case driver.Processing:
		l.cancel = false
		return w.must(1, "lease_drop", l.id, l.flags, l.claim)
	case driver.Scheduled:
		return w.must(1, "scheduled_drop", l.id, l.flags, l.claim)
	case driver.Throttled:
		return w.must(1, "throttled_drop", l.id, l.flags, l.claim)
	case driver.Awaiting:
		return w.must(1, "awaiting_drop", l.id, l.flags)
	case driver.Failed:
		return w.must(1, "failed_drop", l.id, l.flags, l.claim)
	}
	return w.must(1, "done_drop", l.id, l.flags, l.claim, doneCode(l.state))
}

// enter puts the job into the table of a state.
func (w *work) enter(l *located, state driver.State) error {
	l.state = state
	if state != driver.Scheduled && state != driver.Throttled {
		l.flags &^= flagGranted
	}
	w.memberCounted(l.batch, state, 1)
	if err := w.putDeadline(l); err != nil {
		return err
	}
	if state.Final() {
		if l.flags&flagChildren != 0 {
			w.jobEnded(l.id, state)
		}
		if l.flags&flagUnique != 0 {
			if err := w.keyReleased(l, state); err != nil {
				return err
			}
		}
	}
	switch state {
	case driver.Enqueued:
		w.ready(l.queue, l.rank, l.id)
		return w.exec("ready_put", l.queue, l.kind, l.rank, l.id, l.flags, l.claim, l.attempt, l.runAt, l.attemptedAt, l.server)
	case driver.Scheduled:
		w.scheduled(l.queue)
		return w.exec("scheduled_put", l.queue, l.kind, l.rank, l.id, l.flags, l.claim, l.attempt, l.runAt, l.attemptedAt, l.server)
	case driver.Throttled:
		w.keyTouched(l.limitKey)
		return w.exec("throttled_put", l.queue, l.kind, l.rank, l.id, l.flags, l.claim, l.attempt, l.runAt, l.attemptedAt, l.server, l.limitKey)
	case driver.Failed:
		return w.exec("failed_put", l.queue, l.kind, l.id, l.flags, l.claim, l.attempt, l.runAt, l.attemptedAt, l.server, w.nowAt)
	}
	if !state.Archived() {
		return fmt.Errorf("pgstore: job %d cannot come into the state %s", l.id, state)
	}
	return w.exec("done_put", doneCode(state), l.id, l.flags, l.claim, l.attempt, l.runAt, l.attemptedAt, l.server, w.nowAt)
}

func doneCode(state driver.State) int64 {
	if state == driver.Succeeded {
		return doneSucceeded
	}
	return doneDeleted
}

// waits reports whether a job with a deadline has a row for it in this state.
func waits(state driver.State) bool {
	switch state {
	case driver.Enqueued, driver.Scheduled, driver.Throttled, driver.Awaiting:
		return true
	}
	return false
}

// dropDeadline is for a job whose row in the table of its state is ours: another one could give it another deadline before.
func (w *work) dropDeadline(l *located) error {
	if l.flags&flagDeadline == 0 || !waits(l.state) {
		return nil
	}
	return w.exec("delete_deadlines", []int64{l.id})
}

func (w *work) putDeadline(l *located) error {
	if l.flags&flagDeadline == 0 || !waits(l.state) {
		return nil
	}
	return w.exec("insert_deadlines", []int64{l.deadline}, []int64{l.id})
}

// keepOutput stores what a job left.
func (w *work) keepOutput(l *located, output []byte) error {
	if len(output) == 0 {
		return nil
	}
	l.flags |= flagOutput
	return w.exec("output_put", l.id, output)
}
