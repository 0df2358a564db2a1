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
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	rows := s.newRows(jobs, now)
	c := s.change(now)
	c.insert(rows)
	c.finish()
	return inserted(rows), nil
}

func checkInsert(jobs []driver.InsertParams) error {
	if err := driver.CheckInsert(jobs); err != nil {
		return err
	}
	return storekit.RefuseUnbuilt(jobs)
}

// newRows makes the rows of a call and gives them their ids. They are not in the store yet.
func (s *Store) newRows(jobs []driver.InsertParams, now time.Time) []*row {
	rows := make([]*row, len(jobs))
	for i := range jobs {
		s.lastID++
		rows[i] = newRow(&jobs[i], s.lastID, now)
	}
	return rows
}

// insert puts the rows of a call, or of a whole transaction, into the store.
func (c *change) insert(rows []*row) {
	for _, r := range rows {
		c.add(r)
		c.hints.note(r)
	}
}

func inserted(rows []*row) []driver.Inserted {
	results := make([]driver.Inserted, len(rows))
	for i, r := range rows {
		results[i] = driver.Inserted{ID: r.ID, State: r.State}
	}
	return results
}
