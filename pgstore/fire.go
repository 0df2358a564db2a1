package pgstore

import (
	"context"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Fire implements driver.Coordinator.
func (s *Store) Fire(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
	results, err := s.FireMany(ctx, []driver.Fire{f})
	if err != nil {
		return nil, err
	}
	return results[0].Jobs, results[0].Err
}

// FireMany implements driver.BlockFirer.
func (s *Store) FireMany(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	if len(fires) == 0 {
		return nil, s.usable(ctx)
	}
	steps := newFirings(fires)
	var results []driver.FireResult
	err := s.do(ctx, func(w *work) (err error) {
		results, err = w.fireMany(steps)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// firing is one step of a schedule on its way into the database.
type firing struct {
	id         string
	version    int64
	next, last int64
	drafts     []draft
	// refused is why its jobs cannot be inserted.
	refused error
}

// newFirings copies and checks steps before a transaction is open.
func newFirings(fires []driver.Fire) []firing {
	steps := make([]firing, len(fires))
	for i := range fires {
		f := &fires[i]
		steps[i] = firing{id: f.ID, version: f.Version, next: storekit.Micros(f.NextRunAt), last: storekit.Micros(f.LastRunAt)}
		if len(f.Jobs) > 0 {
			steps[i].drafts, steps[i].refused = draftAll(f.Jobs)
		}
	}
	return steps
}

// fireMany takes steps: one statement reads the versions, the jobs of all go in together, and one statement moves the schedules
// on.
func (w *work) fireMany(steps []firing) ([]driver.FireResult, error) {
	versions, err := w.versions(steps)
	if err != nil {
		return nil, err
	}
	results := make([]driver.FireResult, len(steps))
	var take []int
	for i := range steps {
		st := &steps[i]
		version, known := versions[st.id]
		switch {
		case !known:
			results[i].Err = storekit.NoRecurring(st.id)
		case version != st.version:
			results[i].Err = storekit.NotAtVersion(st.id, st.version)
		case st.refused != nil:
			results[i].Err = st.refused
		default:
			versions[st.id]++
			take = append(take, i)
		}
	}
	if take, err = w.insertFired(steps, take, results); err != nil {
		return nil, err
	}
	return results, w.moveSchedules(steps, take, results)
}

// insertFired inserts the jobs of the steps that are taken, all at once, or step by step when one of them is refused. It returns
// the steps whose jobs are in.
func (w *work) insertFired(steps []firing, take []int, results []driver.FireResult) ([]int, error) {
	// Jobs that wait for each other name each other by their places in their own step.
	alone := slices.ContainsFunc(take, func(i int) bool { return waiting(steps[i].drafts) })
	if !alone {
		err := w.insertSteps(steps, take, results)
		if err == nil || !storekit.Refused(err) {
			return take, err
		}
	}
	var in []int
	for _, i := range take {
		switch err := w.insertSteps(steps, []int{i}, results); {
		case err == nil:
			in = append(in, i)
		case storekit.Refused(err):
			results[i].Err = err
		default:
			return nil, err
		}
	}
	return in, nil
}

// insertSteps inserts the jobs of some steps, or none of them.
func (w *work) insertSteps(steps []firing, take []int, results []driver.FireResult) error {
	var all []draft
	for _, i := range take {
		all = append(all, steps[i].drafts...)
	}
	if len(all) == 0 {
		return nil
	}
	if err := w.guarded(func() error { return w.insert(all) }); err != nil {
		return err
	}
	out := inserted(all)
	for _, i := range take {
		if n := len(steps[i].drafts); n > 0 {
			results[i].Jobs, out = out[:n:n], out[n:]
		}
	}
	return nil
}

// versions reads the versions of the recurring jobs that the steps name.
func (w *work) versions(steps []firing) (map[string]int64, error) {
	ids := make([]string, 0, len(steps))
	for i := range steps {
		if storable(steps[i].id) {
			ids = append(ids, steps[i].id)
		}
	}
	versions := make(map[string]int64, len(steps))
	err := w.each("recurring_versions", []any{ids}, func(rows rows) error {
		var id string
		var version int64
		err := rows.Scan(&id, &version)
		versions[id] = version
		return err
	})
	return versions, err
}

// schedules are what steps make of their recurring jobs, as columns.
type schedules struct {
	ids              []string
	next, last, jobs []int64
}

// write writes the steps and forgets them.
func (s *schedules) write(w *work) error {
	if len(s.ids) == 0 {
		return nil
	}
	written := *s
	*s = schedules{}
	return w.must(len(written.ids), "recurring_step", written.ids, written.next, written.last, written.jobs)
}

// moveSchedules writes what the steps that are taken make of their recurring jobs.
func (w *work) moveSchedules(steps []firing, take []int, results []driver.FireResult) error {
	var moved schedules
	for _, i := range take {
		st := &steps[i]
		if slices.Contains(moved.ids, st.id) {
			if err := moved.write(w); err != nil {
				return err
			}
		}
		var lastJob int64
		if jobs := results[i].Jobs; len(jobs) > 0 {
			lastJob = jobs[len(jobs)-1].ID
		}
		moved.ids = append(moved.ids, st.id)
		moved.next, moved.last = append(moved.next, st.next), append(moved.last, st.last)
		moved.jobs = append(moved.jobs, lastJob)
	}
	return moved.write(w)
}
