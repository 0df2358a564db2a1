package memstore

import (
	"context"

	"github.com/kilnjobs/kiln/driver"
)

// Runs implements driver.HistoryReader.
func (s *Store) Runs(ctx context.Context, id int64) ([]driver.Run, error) {
	if _, err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	r := s.rows[id]
	if r == nil || len(r.History) == 0 {
		return nil, nil
	}
	var runs []driver.Run
	for _, run := range r.runs {
		if !run.EndedAt.Before(r.History[0].At) { // the entries of older ones are gone
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// LastErrors implements driver.HistoryReader.
func (s *Store) LastErrors(ctx context.Context, ids []int64) (map[int64]string, error) {
	if _, err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	last := map[int64]string{}
	for _, id := range ids {
		r := s.rows[id]
		if r == nil {
			continue
		}
		for _, entry := range r.History { // the newest one comes last
			if entry.Error != "" {
				last[id] = entry.Error
			}
		}
	}
	return last, nil
}
