package sqlitestore

import (
	"context"
	"database/sql"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// noted is a history entry on its way to its job.
type noted struct {
	id    int64
	entry driver.Entry
	// startedAt is when the attempt began that the entry ends, 0 for an entry that ends none.
	startedAt int64
}

// note appends to the history of one job.
func (w *work) note(id int64, e driver.Entry) error { return w.noteAll([]noted{{id: id, entry: e}}) }

// noteAll appends to the histories of several jobs, one entry each. A history keeps its newest entries.
func (w *work) noteAll(entries []noted) error {
	if len(entries) == 0 {
		return nil
	}
	list := make([]byte, 0, 8*len(entries)+2)
	for i := range entries {
		list = appendID(list, entries[i].id)
	}
	last := map[int64]int64{}
	err := w.each("history_last", []any{closeIDs(list)}, func(rows *sql.Rows) error {
		var id, seq int64
		err := rows.Scan(&id, &seq)
		last[id] = seq
		return err
	})
	if err != nil {
		return err
	}
	const width = 11
	rows := make([]any, 0, width*len(entries))
	for i := range entries {
		e := &entries[i].entry
		rows = append(rows, entries[i].id, last[entries[i].id]+1, storekit.Micros(e.At), sql.NullInt64{Int64: entries[i].startedAt, Valid: entries[i].startedAt != 0}, string(e.State), int64(e.Attempt),
			e.Reason, e.Server, e.Actor, e.Error, e.Trace)
	}
	if err := w.many("history_add", nil, width, rows); err != nil {
		return err
	}
	for id, seq := range last {
		if seq >= storekit.MaxHistory {
			if err := w.exec("history_trim", id, int64(storekit.MaxHistory)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Runs implements driver.HistoryReader.
func (s *Store) Runs(ctx context.Context, id int64) ([]driver.Run, error) {
	var runs []driver.Run
	err := s.read(ctx, func(r *reader) error {
		runs = nil
		return r.each("job_runs", []any{id}, func(rows *sql.Rows) error {
			var run driver.Run
			var startedAt, endedAt int64
			err := rows.Scan(&run.Attempt, &startedAt, &endedAt)
			run.StartedAt, run.EndedAt = storekit.Instant(startedAt), storekit.Instant(endedAt)
			runs = append(runs, run)
			return err
		})
	})
	return runs, err
}

// LastErrors implements driver.HistoryReader.
func (s *Store) LastErrors(ctx context.Context, ids []int64) (map[int64]string, error) {
	last := map[int64]string{}
	err := s.read(ctx, func(r *reader) error {
		clear(last)
		return r.each("last_errors", []any{encodeIDs(ids)}, func(rows *sql.Rows) error {
			var id int64
			var text string
			err := rows.Scan(&id, &text)
			last[id] = text
			return err
		})
	})
	return last, err
}

// States implements driver.StateReader.
func (s *Store) States(ctx context.Context, ids []int64) (map[int64]driver.State, error) {
	states := make(map[int64]driver.State, len(ids))
	err := s.read(ctx, func(r *reader) error {
		clear(states)
		return r.each("states", []any{encodeIDs(ids)}, func(rows *sql.Rows) error {
			var id int64
			var state string
			err := rows.Scan(&id, &state)
			states[id] = driver.State(state)
			return err
		})
	})
	return states, err
}
