package pgstore

import (
	"context"

	"github.com/kilnjobs/kiln/storekit"
)

// rows is what a query returns.
type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// querier runs SQL: one of the store's own transactions, an application's, or a connection of the pool.
type querier interface {
	// exec runs a statement and returns how many rows it changed.
	exec(ctx context.Context, text string, args ...any) (int64, error)
	query(ctx context.Context, text string, args ...any) (rows, error)
}

// runner runs named statements somewhere.
type runner struct {
	ctx   context.Context
	db    querier
	texts storekit.Statements
}

// exec runs a statement.
func (r *runner) exec(name string, args ...any) error {
	_, err := r.affect(name, args...)
	return err
}

// affect runs a statement and returns how many rows it changed.
func (r *runner) affect(name string, args ...any) (int64, error) {
	n, err := r.db.exec(r.ctx, r.texts.SQL(name), args...)
	return n, named(name, err)
}

// must runs a statement that has to change exactly n rows: they were read a moment ago. Otherwise somebody else was faster.
func (r *runner) must(n int, name string, args ...any) error {
	changed, err := r.affect(name, args...)
	if err == nil && changed != int64(n) {
		err = errMoved
	}
	return err
}

// each runs a query and calls fn for each row.
func (r *runner) each(name string, args []any, fn func(rows rows) error) error {
	return r.eachText(name, r.texts.SQL(name), args, fn)
}

// eachText is each for a text that is written for one call.
func (r *runner) eachText(name, text string, args []any, fn func(rows rows) error) error {
	found, err := r.db.query(r.ctx, text, args...)
	if err != nil {
		return named(name, err)
	}
	defer found.Close()
	for found.Next() {
		if err := fn(found); err != nil {
			return named(name, err)
		}
	}
	return named(name, found.Err())
}

// one runs a query for at most one row and reports whether there was one.
func (r *runner) one(name string, args []any, dest ...any) (bool, error) {
	found := false
	err := r.each(name, args, func(rows rows) error {
		found = true
		return rows.Scan(dest...)
	})
	return found, err
}

// list runs a query for one column of numbers.
func (r *runner) list(name string, args ...any) (ids []int64, err error) {
	err = r.each(name, args, func(rows rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// texts runs a query for one column of text.
func (r *runner) names(name string, args ...any) (found []string, err error) {
	err = r.each(name, args, func(rows rows) error {
		var text string
		err := rows.Scan(&text)
		found = append(found, text)
		return err
	})
	return found, err
}
