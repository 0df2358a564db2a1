package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// blocks is how many blocks of the tables and indexes that jobs pass through have been looked at, by anybody. A connection adds what
// it has done when it is told to.
func blocks(t *testing.T, s *Store) (n int64) {
	t.Helper()
	ctx := context.Background()
	for _, conn := range s.pool.AcquireAllIdle(ctx) {
		_, err := conn.Exec(ctx, "select pg_stat_force_next_flush()")
		conn.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
	err := s.pool.QueryRow(ctx, `select sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0))::bigint
		from pg_statio_user_tables where schemaname = $1 and relname in ('ready', 'lease', 'scheduled')`, s.schema).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// drain claims and finishes n jobs, so many at a time.
func drain(t *testing.T, s *Store, n, at int) {
	t.Helper()
	ctx := context.Background()
	for n > 0 {
		jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"q"}, Limit: at, Server: "a"})
		if err != nil || len(jobs) != at {
			t.Fatalf("a claim of %d brings %d jobs, %v", at, len(jobs), err)
		}
		outs := make([]driver.Outcome, len(jobs))
		for i, j := range jobs {
			outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Succeeded}
		}
		if _, err := s.Finish(ctx, "a", outs); err != nil {
			t.Fatal(err)
		}
		n -= len(jobs)
	}
}

func fillQueue(t *testing.T, s *Store, queue string, n int, with driver.InsertParams) {
	t.Helper()
	with.Kind, with.Queue, with.Args, with.MaxAttempts = "k", queue, []byte("1"), 1
	for n > 0 {
		some := min(n, 10_000)
		if _, err := s.Insert(context.Background(), slices.Repeat([]driver.InsertParams{with}, some)); err != nil {
			t.Fatal(err)
		}
		n -= some
	}
}

// An idle transaction holds the vacuum horizon while jobs pass through. The last ones cost what the first ones did: claims do not
// walk the dead.
func TestCaseB118(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0, "autovacuum=off")
	pool := dial(t, pg.DSN("postgres"))
	s := openAt(t, pg.DSN("postgres"))
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	var n int
	if err := tx.QueryRow(ctx, "select count(*) from kiln.jobs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	const jobs, tenth = 30_000, 3_000
	fillQueue(t, s, "q", jobs, driver.InsertParams{})
	drain(t, s, tenth, 100) // plans are made, catalogues read
	a := blocks(t, s)
	drain(t, s, tenth, 100)
	b := blocks(t, s)
	drain(t, s, jobs-3*tenth, 100)
	c := blocks(t, s)
	drain(t, s, tenth, 100)
	d := blocks(t, s)
	first, last := float64(b-a)/tenth, float64(d-c)/tenth
	t.Logf("blocks per job: %.1f at first, %.1f with %d dead rows", first, last, jobs-tenth)
	if last > 1.3*first+1 {
		t.Errorf("a job costs %.1f blocks at first and %.1f with %d dead rows", first, last, jobs-tenth)
	}
	intact(t, s)
}

// Disk is full, where results would be written: they wait, the server says so and runs on, old jobs can be pruned, and when there is
// room everything goes on. Retention is on by default, and each pass of it is bounded: drivertest.
func TestCaseB119(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	pool := dial(t, pg.DSN("postgres"))
	s := openAt(t, pg.DSN("postgres"))
	client := kiln.NewClient(s)
	exec := func(statement string) {
		t.Helper()
		if _, err := pool.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	l := newLedger()
	server, _ := l.work(t, s, kiln.ServerConfig{DisableMaintenance: true}, 0)
	if _, err := l.bulk(ctx, client, 300); err != nil {
		t.Fatal(err)
	}
	eventually(t, comeback, "end of old jobs", func() error {
		c, err := s.Counts(ctx)
		if err == nil && c.Succeeded != 300 {
			err = fmt.Errorf("%+v", c)
		}
		return err
	})
	exec("create function full_disk() returns trigger language plpgsql as $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$")
	exec("create trigger full_disk before insert on kiln.done for each statement execute function full_disk()")
	waiting, err := l.bulk(ctx, client, 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range waiting {
		l.run(t, comeback, n)
	}
	eventually(t, comeback, "result that waits", func() error {
		if server.Stats().Pending == 0 {
			return errors.New("none does")
		}
		return nil
	})
	exec("create trigger full_disk before insert on kiln.jobs for each statement execute function full_disk()")
	if _, err := l.enqueue(ctx, client); sqlState(err) != "53100" {
		t.Errorf("on a full disk Enqueue returns %v", err)
	}
	if n, err := s.Prune(ctx, driver.PruneParams{Retention: driver.Retention{Succeeded: 0, Deleted: -1, Failed: -1}, Limit: 200}); err != nil || n < 200 {
		t.Errorf("Prune on a full disk removes %d, %v", n, err)
	}
	exec("drop trigger full_disk on kiln.jobs")
	exec("drop trigger full_disk on kiln.done")
	l.run(t, comeback, l.must(t, client))
	eventually(t, comeback, "end of all results", func() error {
		c, err := s.Counts(ctx)
		if st := server.Stats(); err == nil && (c.Succeeded != 351 || st.Pending > 0) {
			err = fmt.Errorf("%+v, %+v", c, st)
		}
		return err
	})
	for _, n := range waiting {
		if l.runsOf(n) != 1 {
			t.Errorf("chore %d ran %d times", n, l.runsOf(n))
		}
	}
	intact(t, s)
}

// Jobs with tags that come and go leave no index that grows, none that is invalid and none that is not a tree.
func TestCaseB121(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0, "autovacuum_naptime=1s")
	pool := dial(t, pg.DSN("postgres"))
	s := openAt(t, pg.DSN("postgres"))
	var kinds []string
	var invalid int
	err := pool.QueryRow(ctx, `select array_agg(distinct a.amname::text), count(*) filter (where not i.indisvalid)
		from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
		where c.relnamespace = 'kiln'::regnamespace`).Scan(&kinds, &invalid)
	if err != nil || !slices.Equal(kinds, []string{"btree"}) || invalid != 0 {
		t.Errorf("indexes are of the kinds %v, %d invalid, %v", kinds, invalid, err)
	}
	size := func() (tables, indexes int64) {
		t.Helper()
		if _, err := pool.Exec(ctx, "vacuum"); err != nil {
			t.Fatal(err)
		}
		err := pool.QueryRow(ctx, `select sum(pg_table_size(oid))::bigint, sum(pg_indexes_size(oid))::bigint from pg_class
			where relkind = 'r' and relnamespace = 'kiln'::regnamespace`).Scan(&tables, &indexes)
		if err != nil {
			t.Fatal(err)
		}
		return tables, indexes
	}
	churn := func() {
		fillQueue(t, s, "q", 5_000, driver.InsertParams{Tags: []string{"one", "two", "three"}})
		drain(t, s, 5_000, 500)
		for {
			n, err := s.Prune(ctx, driver.PruneParams{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
	}
	var tables, indexes [12]int64
	for i := range tables {
		churn()
		tables[i], indexes[i] = size()
	}
	first, last := 3, len(tables)-1
	t.Logf("KiB of tables %d, of indexes %d; %d rounds later %d and %d", tables[first]>>10, indexes[first]>>10, last-first, tables[last]>>10, indexes[last]>>10)
	if indexes[last] > indexes[first]*5/4 || tables[last] > tables[first]*5/4 {
		t.Errorf("tables grow without end: %d bytes, and indexes: %d bytes", tables, indexes)
	}
}

// A claim and a promotion cost the same with a thousand and with hundreds of thousands of jobs in each state.
func TestCaseB122(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0, "autovacuum=off")
	pool := dial(t, pg.DSN("postgres"))
	s := openAt(t, pg.DSN("postgres"))
	cost := func() float64 {
		t.Helper()
		drain(t, s, 1000, 100)
		before := blocks(t, s)
		drain(t, s, 2000, 100)
		return float64(blocks(t, s)-before) / 2000
	}
	fillQueue(t, s, "q", 4_000, driver.InsertParams{})
	few := cost()
	const many = 100_000
	fillQueue(t, s, "q", many, driver.InsertParams{})
	fillQueue(t, s, "p", many, driver.InsertParams{})
	fillQueue(t, s, "q", many, driver.InsertParams{Delay: time.Hour})
	if _, err := pool.Exec(context.Background(), "analyze"); err != nil {
		t.Fatal(err)
	}
	// A process that has just started has no plans and no marks.
	s = openAt(t, pg.DSN("postgres"))
	lots := cost()
	t.Logf("blocks per job: %.1f with thousands of jobs, %.1f with %d", few, lots, 3*many)
	if lots > 2*few+1 {
		t.Errorf("a job costs %.1f blocks among thousands and %.1f among %d", few, lots, 3*many)
	}
	fillQueue(t, s, "q", 2_000, driver.InsertParams{Delay: time.Millisecond})
	moved := 0
	eventually(t, comeback, "end of the promotion", func() error {
		p, err := s.Promote(context.Background(), 500)
		if moved += p.Count; err == nil && (p.Count > 500 || moved < 2_000) {
			err = fmt.Errorf("%d moved, %d at a time", moved, p.Count)
		}
		return err
	})
	intact(t, s)
}
