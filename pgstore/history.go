package pgstore

import (
	"context"
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

// noteAll appends to the histories of jobs. A history keeps its newest entries.
func (w *work) noteAll(entries []noted) error {
	if len(entries) == 0 {
		return nil
	}
	n := len(entries)
	ids, at, started, attempts := make([]int64, n), make([]int64, n), make([]int64, n), make([]int32, n)
	text := make([]string, 6*n)
	states, reasons, servers, actors, errs, traces := text[:n], text[n:2*n], text[2*n:3*n], text[3*n:4*n], text[4*n:5*n], text[5*n:]
	for i := range entries {
		e := &entries[i].entry
		ids[i], at[i], started[i], attempts[i] = entries[i].id, storekit.Micros(e.At), entries[i].startedAt, int32(e.Attempt)
		states[i], reasons[i], servers[i], actors[i], errs[i], traces[i] = string(e.State), e.Reason, e.Server, e.Actor, e.Error, e.Trace
	}
	return w.exec("history_add", ids, at, attempts, states, reasons, servers, actors, errs, traces, started, storekit.MaxHistory)
}

// Runs implements driver.HistoryReader.
func (s *Store) Runs(ctx context.Context, id int64) ([]driver.Run, error) {
	var runs []driver.Run
	err := s.read(ctx, func(r *reader) error {
		runs = nil
		return r.each("job_runs", []any{id}, func(rows rows) error {
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
		return r.each("last_errors", []any{ids}, func(rows rows) error {
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
		return r.each("states", []any{ids}, func(rows rows) error {
			var id int64
			var state string
			err := rows.Scan(&id, &state)
			states[id] = driver.State(state)
			return err
		})
	})
	return states, err
}
