package pgstore

import (
	"github.com/kilnjobs/kiln/driver"
)

// ending is the end of a job or of a batch, whose dependents with ids above settled, up to until, are to be settled.
type ending struct {
	// seq is the number of its row, 0 when it has none.
	seq            int64
	job, batch     int64
	state          driver.State
	settled, until int64
}

// dependents are the statements that read who waits for ended jobs, or for finished batches.
type dependents struct{ count, read, span string }

var (
	ofJobs    = dependents{"flow_count", "flow_children", "flow_span"}
	ofBatches = dependents{"flow_batch_count", "flow_batch_waiting", "flow_batch_span"}
)

func (e *ending) dependents() *dependents {
	if e.batch != 0 {
		return &ofBatches
	}
	return &ofJobs
}

// of is the id of the job or batch.
func (e *ending) of() int64 { return e.job + e.batch }

// queueBehind puts off the ends of jobs whose former ends are not settled yet, since they count in their order.
func (w *work) queueBehind() error {
	if len(w.flow.ended) == 0 {
		return nil
	}
	var ids []int64
	for i := range w.flow.ended {
		if e := &w.flow.ended[i]; e.job != 0 {
			ids = append(ids, e.job)
		}
	}
	behind := map[int64]bool{}
	found, err := w.list("endings_behind", ids)
	for _, id := range found {
		behind[id] = true
	}
	if err != nil || len(behind) == 0 {
		return err
	}
	var now, later []ending
	for _, e := range w.flow.ended {
		if e.job != 0 && behind[e.job] {
			later = append(later, e)
		} else {
			now = append(now, e)
		}
	}
	w.flow.ended = now
	return w.postpone(later)
}

// postpone writes down endings that are left for later calls. Jobs that come after now have met them as they are.
func (w *work) postpone(list []ending) error {
	newest := int64(0)
	for i := range list {
		e := &list[i]
		if e.seq != 0 {
			if err := w.exec("endings_move", e.settled, e.seq); err != nil {
				return err
			}
			continue
		}
		if newest == 0 {
			if _, err := w.one("ids_last", nil, &newest); err != nil {
				return err
			}
		}
		if err := w.exec("endings_add", e.job, e.batch, string(e.state), e.settled, min(e.until, newest)); err != nil {
			return err
		}
	}
	return nil
}
