package memstore

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// insertion is one Insert call. Its rows are not in the store yet.
type insertion struct {
	arrivals []arrival
	// order has parents before those that wait for them, nil when the jobs stand so already.
	order []int
}

// arrival is one job of a call.
type arrival struct {
	// row is the new job, or for a duplicate the values that it brings.
	row *row
	// rule is what a job with a limit key says about the key.
	rule storekit.Rule
	// key is the unique key that the job asks for and window how long it holds the key whatever becomes of it.
	key    string
	window time.Duration
	// holder is who holds the key already, nil for a new job. first is the position of the earlier job of the call that has the
	// same key, or below 0.
	holder   *row
	first    int
	newcomer storekit.Newcomer
	merged   storekit.Merged
}

// job is the new job, or the one that holds its key.
func (a *arrival) job() *row {
	if a.holder != nil {
		return a.holder
	}
	return a.row
}

// newInsertion makes the rows of a call of a transaction, or of none, finds the duplicates and gives the new rows their ids.
func (s *Store) newInsertion(tx *Tx, jobs []driver.InsertParams, now time.Time) (*insertion, error) {
	in := &insertion{arrivals: make([]arrival, len(jobs))}
	firsts := make(map[string]int)
	repeats := false
	for i := range jobs {
		p, a := &jobs[i], &in.arrivals[i]
		*a = arrival{
			row: newRow(p, now), rule: storekit.RuleOf(p), key: string(p.UniqueKey), window: p.UniqueFor, first: -1,
			newcomer: storekit.Newcomer{Replace: p.UniqueReplace, Debounce: p.UniqueDebounce},
		}
		a.newcomer.RunAt = a.row.RunAt
		if first, ok := firsts[a.key]; a.key != "" && ok {
			// A repeat inside of one call changes nothing.
			a.first, a.holder, repeats = first, in.arrivals[first].job(), true
			continue
		}
		if a.key != "" {
			firsts[a.key] = i
			s.meet(a, tx, now)
		}
		if a.holder == nil {
			s.lastID++
			a.row.ID = s.lastID
		}
	}
	return in, in.depend(jobs, repeats)
}

// meet finds out who holds the key of a job. A job of another transaction that is open is not changed.
func (s *Store) meet(a *arrival, tx *Tx, now time.Time) {
	if a.holder = s.holder(a.key, now); a.holder != nil {
		if holding := s.uniques[a.key].tx; holding != nil && holding != tx {
			return
		}
		a.merged = storekit.Merge(tx.asHolder(a.holder), a.newcomer, now)
	} else if a.window <= 0 {
		a.row.unique = a.key
	}
}

func (r *row) asHolder() storekit.Holder {
	return storekit.Holder{State: r.State, RunAt: r.RunAt, Limited: r.LimitKey != "", Granted: r.granted}
}

// depend notes for the new rows what they wait for.
func (in *insertion) depend(jobs []driver.InsertParams, repeats bool) error {
	parents := make([][]driver.Parent, len(jobs))
	for i := range jobs {
		parents[i] = jobs[i].Parents
	}
	if repeats {
		var err error
		if parents, err = storekit.FollowRepeats(parents, func(i int) int { return in.arrivals[i].first }); err != nil {
			return err
		}
	}
	in.order = storekit.ParentsFirst(len(jobs), func(i int) []driver.Parent { return parents[i] })
	for i := range in.arrivals {
		a := &in.arrivals[i]
		if a.holder != nil {
			continue
		}
		for _, p := range parents[i] {
			id := p.ID
			if id == 0 {
				id = in.arrivals[p.Index].job().ID
			}
			a.row.deps.Add(id, p.On)
		}
		a.row.Parents = a.row.deps.IDs()
	}
	return nil
}

// rows are the new rows of the call.
func (in *insertion) rows(yield func(r *row) bool) {
	for i := range in.arrivals {
		if a := &in.arrivals[i]; a.holder == nil && !yield(a.row) {
			return
		}
	}
}

// results says what became of the jobs of the call.
func (in *insertion) results(v view) []driver.Inserted {
	results := make([]driver.Inserted, len(in.arrivals))
	for i := range in.arrivals {
		a := &in.arrivals[i]
		results[i] = driver.Inserted{ID: a.job().ID, State: a.job().State, Duplicate: a.holder != nil, Replaced: a.merged.Replaced}
		if a.holder == nil {
			continue
		}
		if _, ok := v.stateOf(a.holder.ID); !ok {
			results[i].State = "" // the key is kept for a job that is gone
		}
	}
	return results
}
