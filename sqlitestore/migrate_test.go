package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

func TestMigrate(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	for range 2 {
		if err := Migrate(ctx, db); err != nil {
			t.Fatal(err)
		}
	}
	s := newStore(t, db, NoMigrate())
	if _, err := insertOne(s, "a"); err != nil {
		t.Error(err)
	}
	var n int
	if err := db.QueryRow("select count(*) from kiln_migrations").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d migrations are recorded (%v)", n, err)
	}
}

func TestNoMigrate(t *testing.T) {
	_, err := New(context.Background(), newPool(t), NoMigrate())
	if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "sqlitestore.Migrate") || !strings.Contains(err.Error(), "001_start") {
		t.Errorf("New on an empty database with NoMigrate returns %v, want what is missing and what to run", err)
	}
}

func TestNewerSchema(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	if err := Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("insert into kiln_migrations values (999, 'future', 0)"); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string][]Option{"migrating": nil, "checking": {NoMigrate()}} {
		if _, err := New(ctx, db, opts...); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "newer") {
			t.Errorf("New, %s, on a newer schema returns %v", name, err)
		}
	}
}

// TestConcurrentNew opens many stores on an empty file at once, each with a pool of its own as processes have.
func TestConcurrentNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	var wg sync.WaitGroup
	for range 8 {
		db := openPool(t, path)
		wg.Go(func() {
			s, err := New(context.Background(), db)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, err := insertOne(s, "a"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checked(t, newStore(t, openPool(t, path)), 8)
}

// TestMigrationIsOneTransaction fails a migration in the middle and finds nothing of it.
func TestMigrationIsOneTransaction(t *testing.T) {
	ctx := context.Background()
	db := newHookedPool(t)
	db.set(func(query string) error {
		if strings.HasPrefix(query, "insert into kiln_migrations") {
			return full{}
		}
		return nil
	})
	if err := Migrate(ctx, db.DB); primary(err) != codeFull {
		t.Fatalf("Migrate returns %v, want the failure", err)
	}
	db.set(nil)
	var n int
	if err := db.QueryRow("select count(*) from sqlite_schema").Scan(&n); err != nil || n != 0 {
		t.Errorf("a failed migration leaves %d objects behind (%v)", n, err)
	}
	if err := Migrate(ctx, db.DB); err != nil {
		t.Errorf("the next one fails: %v", err)
	}
}

// TestPrefix puts two installations and an application's table into one file.
func TestPrefix(t *testing.T) {
	db := newPool(t)
	if _, err := db.Exec("create table kiln_own (x)"); err != nil {
		t.Fatal(err)
	}
	a, b, c := newStore(t, db), newStore(t, db, Prefix("")), newStore(t, db, Prefix("x_"))
	for _, s := range []*Store{a, b, c, c} {
		if _, err := insertOne(s, "a"); err != nil {
			t.Fatal(err)
		}
	}
	checked(t, a, 1)
	checked(t, b, 1)
	checked(t, c, 2)
	for _, p := range []string{"Kiln", "1a", "a-b", `a"`, strings.Repeat("a", 33)} {
		if _, err := New(context.Background(), db, Prefix(p)); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("the prefix %q gives %v, want ErrInvalid", p, err)
		}
	}
}

// TestPools opens stores on pools that cannot work.
func TestPools(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "jobs.db")
	open := func(dsn string) *sql.DB {
		db, err := sql.Open("sqlite", dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	single := open("file:" + path + "?_pragma=busy_timeout(5000)")
	single.SetMaxOpenConns(1)
	for name, c := range map[string]struct {
		db   *sql.DB
		want string
	}{
		"no busy timeout": {open("file:" + path), "busy_timeout"},
		"one connection":  {single, "MaxOpenConns"},
		"in memory":       {open("file::memory:?cache=shared&_pragma=busy_timeout(5000)"), "wal"},
		"nil":             {nil, "nil"},
	} {
		if _, err := New(ctx, c.db); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: New returns %v, want ErrInvalid and %q", name, err, c.want)
		}
		if err := Migrate(ctx, c.db); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: Migrate returns %v, want ErrInvalid", name, err)
		}
		if c.db != nil && c.db.Stats().InUse != 0 {
			t.Errorf("%s: a refused New keeps %d connections", name, c.db.Stats().InUse)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.38.0": true, "3.38.5": true, "3.53.1": true, "4.0.0": true, "3.37.2": false, "3.8.11": false, "2.9": false, "": false, "x.y": false,
	} {
		if err := refuseOld(version); (err == nil) != ok || !ok && !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("SQLite %q gives %v", version, err)
		}
	}
}

// TestWAL turns a database of an application to WAL mode and leaves its synchronous setting alone.
func TestWAL(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "jobs.db")+"?_pragma=busy_timeout(5000)&_pragma=synchronous(full)&_pragma=journal_mode(delete)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(2)
	if _, err := db.Exec("create table own (x)"); err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(0) // connections opened from here on do not run the pragma on a file in use
	s, err := New(context.Background(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.do(context.Background(), func(w *work) error {
		for pragma, want := range map[string]int64{"synchronous": 2, "busy_timeout": 0} {
			if n, err := count(w.ctx, w.db, "pragma "+pragma); err != nil || n != want {
				t.Errorf("the writer has %s %d (%v), want %d", pragma, n, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
