package sqlitestore

import (
	"database/sql"
	"math"

	"github.com/kilnjobs/kiln/driver"
)

// walk is how far an operator's action on a state has come. It meets each job once; jobs that come into the state after it
// began may be met or not.
type walk struct {
	filter driver.Filter
	// lane, for enqueued jobs, is the one being walked; inLane says that there is one.
	queue, kind string
	inLane      bool
	// value and id are those of the last job met, in the order of the walk.
	value, id int64
	// until is the last instant of the end of archived jobs that are met.
	until int64
	done  bool
}

func newWalk(f driver.Filter) walk { return walk{filter: f, value: math.MinInt64} }

// step reads up to bulk candidates, in an order that an index has.
func (a *walk) step(w *work) ([]int64, error) {
	f := &a.filter
	switch {
	case f.BatchID > 0:
		return a.byID(w, "walk_batch", f.BatchID)
	case f.RecurringID != "":
		return a.byID(w, "walk_recurring", f.RecurringID)
	}
	switch f.State {
	case driver.Enqueued:
		return a.lanes(w)
	case driver.Succeeded, driver.Deleted:
		if a.until == 0 {
			a.until = w.nowAt
		}
		return a.read(w, "walk_done", bulk, doneCode(f.State), a.value, a.id, a.until)
	}
	return a.byID(w, walkStatements[f.State])
}

// walkStatements are those of the tables that are walked by id.
var walkStatements = map[driver.State]string{
	driver.Awaiting: "walk_awaiting", driver.Scheduled: "walk_scheduled", driver.Throttled: "walk_throttled",
	driver.Processing: "walk_processing", driver.Failed: "walk_failed",
}

func (a *walk) byID(w *work, name string, args ...any) ([]int64, error) {
	return a.read(w, name, bulk, append(args, a.id)...)
}

// read runs a query that ends with a limit and whose rows are a place in the walk.
func (a *walk) read(w *work, name string, limit int, args ...any) ([]int64, error) {
	var ids []int64
	err := w.each(name, append(args, int64(limit)), func(rows *sql.Rows) error {
		err := rows.Scan(&a.value, &a.id)
		ids = append(ids, a.id)
		return err
	})
	a.done = len(ids) < limit
	return ids, err
}

// lanes walks the enqueued jobs lane by lane, as many lanes in one step as it has room for: what the action on one job makes ready
// must not count as found.
func (a *walk) lanes(w *work) (ids []int64, err error) {
	for len(ids) < bulk {
		if !a.inLane {
			found, err := a.nextLane(w)
			if err != nil || !found {
				a.done = err == nil
				return ids, err
			}
		}
		more, err := a.read(w, "walk_lane", bulk-len(ids), a.queue, a.kind, a.value, a.id)
		if err != nil {
			return nil, err
		}
		if a.done {
			a.inLane, a.done = false, false
		}
		ids = append(ids, more...)
	}
	return ids, nil
}

func (a *walk) nextLane(w *work) (bool, error) {
	f := &a.filter
	for {
		found, err := w.one("walk_next_lane", []any{a.queue, a.kind}, &a.queue, &a.kind)
		if err != nil || !found || f.Queue != "" && a.queue > f.Queue {
			return false, err
		}
		if f.Queue != "" && a.queue < f.Queue {
			a.kind, a.queue = "", f.Queue // the lanes before it are of no interest
			continue
		}
		if f.Kind == "" || a.kind == f.Kind {
			a.value, a.id, a.inLane = math.MinInt64, 0, true
			return true, nil
		}
	}
}
