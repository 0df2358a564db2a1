package pgstore

import (
	"maps"
	"math"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// memberJoined counts a new member. Batch 0 is none, here and below.
func (w *work) memberJoined(batch int64, state driver.State) { w.flow.tallies.Joined(batch, state) }

// memberMoved counts n members that went from one state to another.
func (w *work) memberMoved(batch int64, from, to driver.State, n int64) {
	w.flow.tallies.Moved(batch, from, to, n)
}

// memberCounted counts n members that came into a state, or left it.
func (w *work) memberCounted(batch int64, state driver.State, n int64) {
	w.flow.tallies.Counted(batch, state, n)
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
			if t := tallies[id]; *t != (storekit.Tally{}) {
				if err := w.writeTally(id, t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *work) writeTally(id int64, t *storekit.Tally) error {
	if w.foreign && !w.opened[id] {
		return w.noteTally(id, t)
	}
	args := []any{id, t.Total}
	for _, n := range t.States {
		args = append(args, n)
	}
	args = append(args, t.Nested, t.Finished, t.Sealed)
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
		w.flow.tallies.Of(parent).Finished++
	}
	return nil
}
