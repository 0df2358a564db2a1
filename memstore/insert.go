package memstore

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Insert implements driver.Writer.
func (s *Store) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if err := checkInsert(jobs); err != nil || len(jobs) == 0 {
		return nil, err
	}
	now, err := s.lockKeys(ctx, jobs, nil)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	c := s.change(now)
	arrivals := c.arrive(jobs)
	c.insert(arrivals)
	c.finish()
	return s.inserted(arrivals), nil
}

func checkInsert(jobs []driver.InsertParams) error {
	if err := driver.CheckInsert(jobs); err != nil {
		return err
	}
	return storekit.RefuseUnbuilt(jobs)
}

// arrival is one job of a call, before it is in the store.
type arrival struct {
	// row is the new job, or for a duplicate the values that it brings.
	row *row
	// rule is what a job with a limit key says about the key.
	rule storekit.Rule
	// key is the unique key that the job asks for and window how long it holds the key whatever becomes of it.
	key    string
	window time.Duration
	// holder is who holds the key already, nil for a new job.
	holder   *row
	newcomer storekit.Newcomer
	merged   storekit.Merged
}

// arrive makes the rows of a call, gives the new ones their ids and finds the duplicates. It writes nothing yet.
func (c *change) arrive(jobs []driver.InsertParams) []arrival {
	arrivals := make([]arrival, len(jobs))
	inCall := make(map[string]*row)
	for i := range jobs {
		p, a := &jobs[i], &arrivals[i]
		*a = arrival{
			row: newRow(p, c.now), rule: storekit.RuleOf(p), key: string(p.UniqueKey), window: p.UniqueFor,
			newcomer: storekit.Newcomer{Replace: p.UniqueReplace, Debounce: p.UniqueDebounce},
		}
		a.newcomer.RunAt = a.row.RunAt
		if a.key != "" {
			c.meet(a, inCall)
		}
		if a.holder == nil {
			c.lastID++
			a.row.ID = c.lastID
		}
	}
	return arrivals
}

// meet finds out who holds the key of a job. A repeat inside of one call changes nothing.
func (c *change) meet(a *arrival, inCall map[string]*row) {
	if first := inCall[a.key]; first != nil {
		a.holder = first
		return
	}
	if a.holder = c.holder(a.key, c.now); a.holder != nil {
		a.merged = storekit.Merge(a.holder.asHolder(), a.newcomer, c.now)
		inCall[a.key] = a.holder
		return
	}
	inCall[a.key] = a.row
	if a.window <= 0 {
		a.row.unique = a.key
	}
}

func (r *row) asHolder() storekit.Holder {
	return storekit.Holder{State: r.State, RunAt: r.RunAt, Limited: r.LimitKey != "", Granted: r.granted}
}

// insert puts the jobs of a call, or of a whole transaction, into the store.
func (c *change) insert(arrivals []arrival) {
	for i := range arrivals {
		a := &arrivals[i]
		if a.holder != nil {
			if a.merged.Replaced {
				c.replace(a.holder, a.row, a.merged)
			}
			continue
		}
		if a.row.LimitKey != "" {
			c.setRule(a.row, a.rule)
		}
		c.take(a, nil)
		c.add(a.row)
		c.hints.note(a.row)
	}
}

// inserted says what became of the jobs of a call.
func (s *Store) inserted(arrivals []arrival) []driver.Inserted {
	results := make([]driver.Inserted, len(arrivals))
	for i := range arrivals {
		a := &arrivals[i]
		if a.holder == nil {
			results[i] = driver.Inserted{ID: a.row.ID, State: a.row.State}
			continue
		}
		results[i] = driver.Inserted{ID: a.holder.ID, Duplicate: true, Replaced: a.merged.Replaced}
		if a.holder.lane == nil || s.rows[a.holder.ID] == a.holder {
			results[i].State = a.holder.State // a key may be kept for a job that is gone
		}
	}
	return results
}
