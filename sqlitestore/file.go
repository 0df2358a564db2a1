package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/kilnjobs/kiln/driver"
)

// file remembers which file the database was when the store was opened. A file that was replaced or removed since is still
// open in every connection, so writes would seem to succeed and be lost: calls fail instead.
type file struct {
	path string
	info os.FileInfo
	lost atomic.Pointer[error]
}

// findFile asks SQLite for the file of the main database. One that has no path in the file system is not watched.
func findFile(ctx context.Context, conn *sql.Conn) (*file, error) {
	f := &file{}
	err := each(ctx, conn, "database list", "pragma database_list", nil, func(rows *sql.Rows) error {
		var seq int
		var name string
		var path sql.NullString
		if err := rows.Scan(&seq, &name, &path); err != nil {
			return err
		}
		if name == "main" {
			f.path = path.String
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if f.path != "" {
		f.info, _ = os.Stat(f.path)
	}
	return f, nil
}

// check fails with driver.ErrGone once the path leads to another file, or to none.
func (f *file) check() error {
	if f.info == nil {
		return nil
	}
	if err := f.gone(); err != nil {
		return err
	}
	now, err := os.Stat(f.path)
	switch {
	case err == nil && os.SameFile(f.info, now):
		return nil
	case os.IsNotExist(err):
		err = fmt.Errorf("%w: the database file %s was removed while the store was open; restore it and open the store anew", driver.ErrGone, f.path)
	case err != nil:
		return nil // the path cannot be read just now, which says nothing about the file
	default:
		err = fmt.Errorf("%w: the database file %s was replaced by another while the store was open; open the store anew", driver.ErrGone, f.path)
	}
	f.lost.Store(&err)
	return err
}

// gone is what check has found before.
func (f *file) gone() error {
	if err := f.lost.Load(); err != nil {
		return *err
	}
	return nil
}
