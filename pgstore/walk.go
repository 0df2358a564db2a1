package pgstore

import (
	"math"

	"github.com/kilnjobs/kiln/driver"
)

// walk is how far an operator's action on a state has come. It meets each job once; jobs that come into the state after it
// began may be met or not.
type walk struct {
	filter driver.Filter
	// queue, value and id are those of the last job met, in the order of the walk.
	queue     string
	value, id int64
	// until is the last instant of the end of archived jobs that are met.
	until int64
	done  bool
}

func newWalk(f driver.Filter) walk { return walk{filter: f, value: math.MinInt32} }

// step reads the next candidates, at most bulk of them, in an order that an index has.
func (a *walk) step(w *work) ([]int64, error) {
	f := &a.filter
	switch {
	case f.BatchID > 0:
		return a.read(w, "walk_batch", f.BatchID, a.id)
	case f.RecurringID != "":
		return a.read(w, "walk_recurring", f.RecurringID, a.id)
	}
	switch f.State {
	case driver.Enqueued:
		if f.Queue != "" {
			return a.read(w, "walk_queue", f.Queue, a.value, a.id)
		}
		return a.read(w, "walk_ready", a.queue, a.value, a.id)
	case driver.Succeeded, driver.Deleted:
		if a.until == 0 {
			a.until = w.nowAt
		}
		return a.read(w, "walk_done", doneCode(f.State), a.value, a.id, a.until)
	}
	return a.read(w, walkStatements[f.State], a.id)
}

// walkStatements are those of the tables that are walked by id.
var walkStatements = map[driver.State]string{
	driver.Awaiting: "walk_awaiting", driver.Scheduled: "walk_scheduled", driver.Throttled: "walk_throttled",
	driver.Processing: "walk_processing", driver.Failed: "walk_failed",
}

// read runs a query that ends with a limit and whose rows are a place in the walk, and leaves out what the filter does not mean.
func (a *walk) read(w *work, name string, args ...any) ([]int64, error) {
	var ids []int64
	var kind string
	met := 0
	err := w.each(name, append(args, int64(bulk)), func(rows rows) error {
		err := rows.Scan(&a.value, &a.id, &a.queue, &kind)
		met++
		if maybe(a.queue, a.filter.Queue) && maybe(kind, a.filter.Kind) {
			ids = append(ids, a.id)
		}
		return err
	})
	a.done = met < bulk
	return ids, err
}

// maybe reports whether a name may be the wanted one, as far as either is known.
func maybe(name, wanted string) bool { return name == "" || wanted == "" || name == wanted }
