package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// runner runs named statements somewhere.
type runner struct {
	ctx   context.Context
	db    querier
	texts *texts
}

// exec runs a statement.
func (r *runner) exec(name string, args ...any) error {
	_, err := r.db.ExecContext(r.ctx, r.texts.SQL(name), args...)
	return named(name, err)
}

// affect runs a statement and returns how many rows it changed.
func (r *runner) affect(name string, args ...any) (int64, error) {
	res, err := r.db.ExecContext(r.ctx, r.texts.SQL(name), args...)
	if err != nil {
		return 0, named(name, err)
	}
	n, err := res.RowsAffected()
	return n, named(name, err)
}

// many runs a statement whose last tuple stands for one row of width columns, with all rows, a few statements for any
// number. Head are the parameters before the rows.
func (r *runner) many(name string, head []any, width int, rows []any) error {
	left := len(rows) / width
	args := make([]any, 0, len(head)+width*min(left, chunks[0]))
	for _, size := range chunks {
		for left >= size {
			n := size * width
			args = append(append(args[:0], head...), rows[:n]...)
			if _, err := r.db.ExecContext(r.ctx, r.texts.rows(name, size), args...); err != nil {
				return named(name, err)
			}
			rows, left = rows[n:], left-size
		}
	}
	return nil
}

// eachRow runs a query whose tuple stands for one row of width columns, with all rows, and calls fn for each row of the results.
func (r *runner) eachRow(name string, width int, rows []any, fn func(rows *sql.Rows) error) error {
	left := len(rows) / width
	for _, size := range chunks {
		for left >= size {
			n := size * width
			if err := each(r.ctx, r.db, name, r.texts.rows(name, size), rows[:n], fn); err != nil {
				return err
			}
			rows, left = rows[n:], left-size
		}
	}
	return nil
}

// each runs a query and calls fn for each row.
func (r *runner) each(name string, args []any, fn func(rows *sql.Rows) error) error {
	return each(r.ctx, r.db, name, r.texts.SQL(name), args, fn)
}

// one runs a query for at most one row and reports whether there was one.
func (r *runner) one(name string, args []any, dest ...any) (bool, error) {
	found := false
	err := r.each(name, args, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(dest...)
	})
	return found, err
}

func each(ctx context.Context, db querier, name, text string, args []any, fn func(rows *sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return named(name, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return named(name, err)
		}
	}
	return named(name, rows.Err())
}

func named(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case isTooBig(err):
		return fmt.Errorf("%w: SQLite keeps values of at most 1,000,000,000 bytes (or the driver's own limit): %s: %w", driver.ErrTooLarge, name, err)
	}
	return fmt.Errorf("sqlitestore: %s: %w", name, err)
}
