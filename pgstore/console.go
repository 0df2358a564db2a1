package pgstore

import (
	"cmp"
	"context"
	"slices"

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
type console struct {
	ref      driver.Ref
	attempt  int32
	progress int32
	lastSeq  int64
	// changed says that the row of where it stands is to be written.
	changed bool
}

// writeConsoles reads where the consoles stand, adds the lines of all of them, and writes where they stand then.
func (w *work) writeConsoles(writes []driver.ConsoleWrite) ([]error, error) {
	held, err := w.consoles(writes)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(writes))
	var lines consoleLines
	for i := range writes {
		out := &writes[i]
		at, ok := slices.BinarySearchFunc(held, out.Ref, func(c console, ref driver.Ref) int { return compareRefs(c.ref, ref) })
		if !ok {
			errs[i] = storekit.Lost(out.Ref)
			continue
		}
		c := &held[at]
		for _, line := range out.Lines {
			c.lastSeq++
			lines.add(c, line)
		}
		if out.Progress >= 0 {
			c.progress = atMostInt32(out.Progress)
		}
		c.changed = c.changed || len(out.Lines) > 0 || out.Progress >= 0
	}
	if err := lines.write(w); err != nil {
		return nil, err
	}
	return errs, w.standConsoles(held)
}

// consoles finds the jobs that are processing under the claims of the writes, in order.
func (w *work) consoles(writes []driver.ConsoleWrite) (held []console, err error) {
	refs := make([]driver.Ref, len(writes))
	for i := range writes {
		refs[i] = writes[i].Ref
	}
	slices.SortFunc(refs, compareRefs)
	refs = slices.Compact(refs)
	ids, claims := make([]int64, len(refs)), make([]int32, len(refs))
	for i, ref := range refs {
		ids[i], claims[i] = ref.ID, ref.Claim
	}
	err = w.each("console_hold", []any{ids, claims}, func(rows rows) error {
		var c console
		err := rows.Scan(&c.ref.ID, &c.ref.Claim, &c.attempt)
		held = append(held, c)
		return err
	})
	if err != nil || len(held) == 0 {
		return nil, err
	}
	err = w.each("console_read", []any{ids}, func(rows rows) error {
		var at console
		err := rows.Scan(&at.ref.ID, &at.progress, &at.lastSeq)
		for i := range held {
			if held[i].ref.ID == at.ref.ID {
				held[i].progress, held[i].lastSeq = at.progress, at.lastSeq
			}
		}
		return err
	})
	return held, err
}

func compareRefs(a, b driver.Ref) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Claim, b.Claim))
}

// standConsoles writes where the consoles stand that have changed.
func (w *work) standConsoles(held []console) error {
	var ids, seqs []int64
	var progress []int32
	for i := range held {
		if c := &held[i]; c.changed {
			ids, seqs, progress = append(ids, c.ref.ID), append(seqs, c.lastSeq), append(progress, c.progress)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return w.exec("console_progress", ids, progress, seqs)
}

// consoleLines are lines on their way into the database, as columns.
type consoleLines struct {
	ids, seqs []int64
	attempts  []int32
	texts     []string
}

func (l *consoleLines) add(c *console, text string) {
	l.ids, l.seqs = append(l.ids, c.ref.ID), append(l.seqs, c.lastSeq)
	l.attempts, l.texts = append(l.attempts, c.attempt), append(l.texts, text)
}

func (l *consoleLines) write(w *work) error {
	if len(l.ids) == 0 {
		return nil
	}
	return w.exec("console_add", l.ids, l.seqs, l.attempts, l.texts, w.nowAt)
}

// Logs implements driver.Console.
func (s *Store) Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
	var lines []driver.LogLine
	err := s.read(ctx, func(r *reader) error {
		args := []any{id, after, int64(storekit.OrDefault(limit, 100))}
		return r.each("console_lines", args, func(rows rows) error {
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
