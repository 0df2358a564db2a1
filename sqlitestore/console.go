package sqlitestore

import (
	"context"
	"database/sql"

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
	if len(writes) == 0 {
		return nil, s.usable(ctx)
	}
	writes = storekit.CleanWrites(writes)
	var errs []error
	err := s.do(ctx, func(w *work) (err error) {
		errs, err = w.writeConsoles(writes)
		return err
	})
	if err != nil {
		return nil, err
	}
	return errs, nil
}

// console is where one job's console stands.
type console struct{ attempt, progress, lastSeq int64 }

// writeConsoles reads where the consoles stand, adds the lines of all of them, and writes where they stand then.
func (w *work) writeConsoles(writes []driver.ConsoleWrite) ([]error, error) {
	held, err := w.consoles(writes)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(writes))
	var lines, stand []any
	for i := range writes {
		out := &writes[i]
		c := held[out.Ref]
		if c == nil {
			errs[i] = storekit.Lost(out.Ref)
			continue
		}
		for _, line := range out.Lines {
			c.lastSeq++
			lines = append(lines, out.ID, c.lastSeq, c.attempt, w.nowAt, line)
		}
		if out.Progress >= 0 {
			c.progress = int64(out.Progress)
		}
		if len(out.Lines) > 0 || out.Progress >= 0 {
			stand = append(stand, out.ID, c.progress, c.lastSeq)
		}
	}
	if err := w.many("console_add", nil, 5, lines); err != nil {
		return nil, err
	}
	return errs, w.many("console_progress", nil, 3, stand)
}

// consoles finds the jobs that are processing under the claims of the writes.
func (w *work) consoles(writes []driver.ConsoleWrite) (map[driver.Ref]*console, error) {
	var list []byte
	for i := range writes {
		list = appendPair(list, writes[i].ID, int64(writes[i].Claim))
	}
	held := make(map[driver.Ref]*console, len(writes))
	err := w.each("console_read", []any{closeIDs(list)}, func(rows *sql.Rows) error {
		var i int
		var c console
		if err := rows.Scan(&i, &c.attempt, &c.progress, &c.lastSeq); err != nil {
			return err
		}
		held[writes[i].Ref] = &c
		return nil
	})
	return held, err
}

// Logs implements driver.Console.
func (s *Store) Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
	var lines []driver.LogLine
	err := s.read(ctx, func(r *reader) error {
		lines = nil
		args := []any{id, after, int64(storekit.OrDefault(limit, 100))}
		return r.each("console_lines", args, func(rows *sql.Rows) error {
			var line driver.LogLine
			var at int64
			err := rows.Scan(&line.Seq, &line.Attempt, &at, &line.Text)
			line.At = storekit.Instant(at)
			lines = append(lines, line)
			return err
		})
	})
	return lines, err
}
