// Package sqlite runs the SQLite store on drivers that its own module does not require.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"
	"github.com/kilnjobs/kiln/sqlitestore"
)

// Driver is a driver registered as sqlite3 and the data source names that it understands.
type Driver struct {
	// DSN names a file and sets a busy timeout.
	DSN func(path string) string
	// Bare names a file without a busy timeout.
	Bare func(path string) string
}

func (d Driver) open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func (d Driver) store(t testing.TB, db *sql.DB, opts ...sqlitestore.Option) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.New(context.Background(), db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Suite holds the store against the contract.
func (d Driver) Suite(t *testing.T) {
	drivertest.RunClock(t, func(t *testing.T, now func() time.Time) driver.Store {
		return d.store(t, d.open(t, d.DSN(filepath.Join(t.TempDir(), "jobs.db"))), sqlitestore.Clock(now))
	})
}

// Pools refuses what the store cannot work with.
func (d Driver) Pools(t *testing.T) {
	for name, dsn := range map[string]string{
		"busy_timeout": d.Bare(filepath.Join(t.TempDir(), "jobs.db")),
		"wal":          d.DSN(":memory:"),
	} {
		db := d.open(t, dsn)
		if _, err := sqlitestore.New(context.Background(), db); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("New returns %v, want ErrInvalid and %q", err, name)
		}
	}
}

// Busy inserts while an application's transaction holds the write lock: the driver's error must be understood as "try
// again", the caller's context ends the wait, and afterwards everything goes on.
func (d Driver) Busy(t *testing.T) {
	ctx := context.Background()
	db := d.open(t, d.DSN(filepath.Join(t.TempDir(), "jobs.db")))
	s := d.store(t, db)
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "begin immediate"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	job := []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte(`{"a":"\u0000\ud800"}`), MaxAttempts: 1, Tags: []string{"é"}}}
	if _, err := s.Insert(short, job); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "write lock") {
		t.Errorf("Insert beside an open transaction returns %v, want DeadlineExceeded and the reason", err)
	}
	if _, err := conn.ExecContext(ctx, "rollback"); err != nil {
		t.Fatal(err)
	}
	out, err := s.Insert(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := s.Job(ctx, out[0].ID)
	if err != nil || string(rec.Args) != string(job[0].Args) || len(rec.Tags) != 1 || rec.Tags[0] != "é" {
		t.Errorf("the job comes back as %+v, %v", rec, err)
	}
}

// Commit inserts in an application's transaction.
func (d Driver) Commit(t *testing.T) {
	ctx := context.Background()
	db := d.open(t, d.DSN(filepath.Join(t.TempDir(), "jobs.db")))
	s := d.store(t, db)
	for _, commit := range []bool{true, false} {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := s.Tx(tx)
		out, err := w.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if commit {
			err = errors.Join(tx.Commit(), w.Notify(ctx))
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Error(err)
		}
		if _, err := s.Job(ctx, out[0].ID); (err == nil) != commit {
			t.Errorf("committed %v: Job returns %v", commit, err)
		}
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}
