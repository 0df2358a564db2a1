package memstore

import (
	"context"
	"sort"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// WriteConsole implements driver.Console.
func (s *Store) WriteConsole(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
	errs, err := s.WriteConsoles(ctx, []driver.ConsoleWrite{{Ref: ref, Lines: lines, Progress: progress}})
	if err != nil {
		return err
	}
	return errs[0]
}

// WriteConsoles implements driver.ConsoleBatch.
func (s *Store) WriteConsoles(ctx context.Context, writes []driver.ConsoleWrite) ([]error, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	errs := make([]error, len(writes))
	for i := range writes {
		w := &writes[i]
		r := s.running(w.Ref)
		if r == nil {
			errs[i] = storekit.Lost(w.Ref)
			continue
		}
		for _, text := range w.Lines {
			r.lines = append(r.lines, driver.LogLine{
				Seq: int64(len(r.lines) + 1), Attempt: r.Attempt, At: now, Text: storekit.CleanText(text),
			})
		}
		if w.Progress >= 0 {
			r.Progress = w.Progress
		}
	}
	return errs, nil
}

// Logs implements driver.Console.
func (s *Store) Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
	if _, err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	r := s.rows[id]
	if r == nil {
		return nil, nil
	}
	first := sort.Search(len(r.lines), func(i int) bool { return r.lines[i].Seq > after })
	lines := r.lines[first:]
	return cloneSlice(lines[:min(len(lines), storekit.OrDefault(limit, 100))]), nil
}
