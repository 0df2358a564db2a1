package pgstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
)

func TestMigrate(t *testing.T) {
	ctx := context.Background()
	pool, schema := newPool(t), newSchema(t)
	for range 2 {
		if err := Migrate(ctx, pool, schema); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t, pool, schema, NoMigrate())
	if _, err := insertOne(s, "a"); err != nil {
		t.Error(err)
	}
	if n := applied(t, s); n != 1 {
		t.Errorf("%d migrations are recorded, want 1", n)
	}
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections of the application's pool are still in use", n)
	}
}

// applied counts the migrations that are recorded.
func applied(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(context.Background(), "select count(*) from "+quoted(s.schema)+"migrations").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNoMigrate(t *testing.T) {
	_, err := New(context.Background(), newPool(t), newSchema(t), NoMigrate())
	if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "pgstore.Migrate") || !strings.Contains(err.Error(), "001_start") {
		t.Errorf("New on an empty database with NoMigrate returns %v, want what is missing and what to run", err)
	}
}

func TestNewerSchema(t *testing.T) {
	ctx := context.Background()
	pool, schema := newPool(t), newSchema(t)
	s := openStore(t, pool, schema)
	if _, err := pool.Exec(ctx, "insert into "+quoted(s.schema)+"migrations (version, name, applied_at) values (999, 'future', now())"); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string][]Option{"migrating": {schema}, "checking": {schema, NoMigrate()}} {
		if _, err := New(ctx, pool, opts...); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "newer") {
			t.Errorf("New, %s, on a newer schema returns %v", name, err)
		}
	}
}

// TestConcurrentNew opens many stores on an empty database at once, each with a pool of its own as processes have.
func TestConcurrentNew(t *testing.T) {
	schema := newSchema(t)
	const processes = 8
	var wg sync.WaitGroup
	for range processes {
		pool := newPool(t)
		wg.Go(func() {
			s, err := New(context.Background(), pool, schema)
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
	s := openStore(t, newPool(t), schema)
	checked(t, s, processes)
	if n := applied(t, s); n != 1 {
		t.Errorf("%d migrations are recorded, want 1", n)
	}
}

// TestMigrationIsOneTransaction lets a migration fail in the middle, at a table that is there already, and finds nothing of it.
func TestMigrationIsOneTransaction(t *testing.T) {
	ctx := context.Background()
	pool, schema := newPool(t), newSchema(t)
	c, err := configure([]Option{schema})
	if err != nil {
		t.Fatal(err)
	}
	in := quoted(c.schema)
	if _, err := pool.Exec(ctx, "create schema "+strings.TrimSuffix(in, ".")+"; create table "+in+"totals (x int)", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(ctx, pool, schema); err == nil || !strings.Contains(err.Error(), "totals") {
		t.Fatalf("Migrate returns %v, want that there is a table already", err)
	}
	var n int
	if err := pool.QueryRow(ctx, "select count(*) from pg_class where relnamespace = $1::regnamespace", c.schema).Scan(&n); err != nil || n != 1 {
		t.Errorf("a failed migration leaves %d objects behind beside the application's (%v)", n-1, err)
	}
	if _, err := pool.Exec(ctx, "drop table "+in+"totals"); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(ctx, pool, schema); err != nil {
		t.Errorf("the next one fails: %v", err)
	}
}

// TestSchemas puts two installations and an application's table into one database.
func TestSchemas(t *testing.T) {
	pool := newPool(t)
	one, other := newSchema(t), newSchema(t)
	a, b := openStore(t, pool, one), openStore(t, pool, other)
	if _, err := pool.Exec(context.Background(), "create table "+quoted(a.schema)+"own (x int)"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{a, b, b, openStore(t, pool, one)} {
		if _, err := insertOne(s, "a"); err != nil {
			t.Fatal(err)
		}
	}
	checked(t, a, 2)
	checked(t, b, 2)
}
