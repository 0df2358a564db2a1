package sqlitestore

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"

	_ "modernc.org/sqlite"
)

// escaped writes a path into a URI: names of tests, and so of their folders, may hold a #.
var escaped = strings.NewReplacer("%", "%25", "#", "%23", "?", "%3f")

// openPool opens a pool on a file.
func openPool(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+escaped.Replace(path)+"?_pragma=busy_timeout(5000)&_pragma=synchronous(normal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func newPool(t testing.TB) *sql.DB {
	t.Helper()
	return openPool(t, filepath.Join(t.TempDir(), "jobs.db"))
}

// newStore opens a store on a pool and closes it at the end of the test.
func newStore(t testing.TB, db *sql.DB, opts ...Option) *Store {
	t.Helper()
	s, err := New(context.Background(), db, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestRunClock(t *testing.T) {
	drivertest.RunClock(t, func(t *testing.T, now func() time.Time) driver.Store {
		return newStore(t, newPool(t), Clock(now))
	})
}

func TestRun(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store { return newStore(t, newPool(t)) })
}
