package pgstore

import (
	"maps"
	"math"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// tally is what a call changes of one batch, written as one update.
type tally struct {
	// total counts those that joined, states the members in each group of states.
	total  int64
	states [tallyGroups]int64
	// nested and finished count batches nested in it, opened and finished.
	nested, finished int64
	sealed           bool
	// look asks only whether it finishes now.
	look bool
}

// The groups of states that a batch counts, in the order of its columns. Enqueued and processing jobs are one group, so that a
// claim changes no batch.
const (
	tallyAwaiting = iota
	tallyScheduled
	tallyThrottled
	tallyActive
	tallyFailed
	tallySucceeded
	tallyDeleted
	tallyGroups
)

func tallyGroup(state driver.State) int {
	switch state {
	case driver.Awaiting:
		return tallyAwaiting
	case driver.Scheduled:
		return tallyScheduled
	case driver.Throttled:
		return tallyThrottled
	case driver.Failed:
		return tallyFailed
	case driver.Succeeded:
		return tallySucceeded
	case driver.Deleted:
		return tallyDeleted
	}
	return tallyActive
}

func (w *work) tallyOf(batch int64) *tally {
	if w.flow.tallies == nil {
		w.flow.tallies = map[int64]*tally{}
	}
	t := w.flow.tallies[batch]
	if t == nil {
		t = &tally{}
		w.flow.tallies[batch] = t
	}
	return t
}

// memberJoined counts a new member. Batch 0 is none, here and below.
func (w *work) memberJoined(batch int64, state driver.State) {
	if batch == 0 {
		return
	}
	t := w.tallyOf(batch)
	t.total++
	t.states[tallyGroup(state)]++
}

// memberMoved counts n members that went from one state to another.
func (w *work) memberMoved(batch int64, from, to driver.State, n int64) {
	w.memberCounted(batch, from, -n)
	w.memberCounted(batch, to, n)
}

// memberCounted counts n members that came into a state, or left it.
func (w *work) memberCounted(batch int64, state driver.State, n int64) {
	if batch != 0 {
		w.tallyOf(batch).states[tallyGroup(state)] += n
	}
}

// membersCounted is memberCounted for jobs whose batches are still to be read, by a statement that counts them by batch.
func (w *work) membersCounted(name string, args []any, count func(batch, n int64)) error {
	return w.each(name, args, func(rows rows) error {
		var batch, n int64
		err := rows.Scan(&batch, &n)
		count(batch, n)
		return err
	})
}

// writeTallies writes what has changed of batches and finishes those that have nothing left to wait for, and so the batches
// around them.
func (w *work) writeTallies() error {
	for len(w.flow.tallies) > 0 {
		tallies := w.flow.tallies
		w.flow.tallies = nil
		// Inner batches have higher ids than those around them, which are counted after them: so everybody locks in this order.
		for _, id := range slices.Backward(slices.Sorted(maps.Keys(tallies))) {
			if t := tallies[id]; *t != (tally{}) {
				if err := w.writeTally(id, t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *work) writeTally(id int64, t *tally) error {
	if w.foreign && !w.opened[id] {
		return w.noteTally(id, t)
	}
	args := []any{id, t.total}
	for _, n := range t.states {
		args = append(args, n)
	}
	args = append(args, t.nested, t.finished, t.sealed)
	var parent int64
	var p storekit.Progress
	found, err := w.one("batch_tally", args, &parent, &p.Sealed, &p.Finished, &p.Live, &p.Nested, &p.NestedFinished)
	if err != nil || !found || !p.Finishes() {
		return err
	}
	finished, err := w.affect("batch_finish", id, w.nowAt)
	if err != nil {
		return err
	}
	if finished == 0 {
		// Somebody is joining it at the moment. When that comes to nothing it is finished a little later.
		w.unfinished = true
		return nil
	}
	w.flow.ended = append(w.flow.ended, ending{batch: id, until: math.MaxInt64})
	if parent != 0 {
		w.tallyOf(parent).finished++
	}
	return nil
}
