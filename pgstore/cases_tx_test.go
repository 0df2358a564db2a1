package pgstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// appTx is an application's transaction of either kind.
type appTx struct {
	w                *TxWriter
	exec             func(statement string)
	commit, rollback func()
}

// begins are the ways to begin one.
func begins(t *testing.T, s *Store, pool *pgxpool.Pool) map[string]func() appTx {
	t.Helper()
	ctx := context.Background()
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { db.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func() appTx{
		"pgx": func() appTx {
			tx, err := pool.Begin(ctx)
			must(err)
			return appTx{s.Tx(tx), func(text string) { _, err := tx.Exec(ctx, text); must(err) },
				func() { must(tx.Commit(ctx)) }, func() { must(tx.Rollback(ctx)) }}
		},
		"database/sql": func() appTx {
			tx, err := db.BeginTx(ctx, nil)
			must(err)
			return appTx{s.SQLTx(tx), func(text string) { _, err := tx.ExecContext(ctx, text); must(err) },
				func() { must(tx.Commit()) }, func() { must(tx.Rollback()) }}
		},
		"database/sql, serializable": func() appTx {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
			must(err)
			return appTx{s.SQLTx(tx), func(text string) { _, err := tx.ExecContext(ctx, text); must(err) },
				func() { must(tx.Commit()) }, func() { must(tx.Rollback()) }}
		},
	}
}

// A wake-up that comes before the commit, or never, costs no more than a poll, and one for a transaction that was rolled back
// nothing. One after the commit is heard at once, also by another process.
func TestCaseB055(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	pool := dial(t, pg.DSN("postgres"))
	app := openAt(t, pg.DSN("postgres"))
	client := kiln.NewClient(app)
	s := openAt(t, pg.DSN("postgres"))
	l := newLedger()
	const poll = 2 * time.Second // what the pool and the promoter share: each looks at every other one
	l.work(t, s, kiln.ServerConfig{PollInterval: poll / 2}, 0)
	l.run(t, comeback, l.must(t, client))
	for how, begin := range begins(t, app, pool) {
		for _, c := range []struct {
			what                         string
			early, late, commits, prompt bool
		}{
			{"no Notify", false, false, true, false},
			{"Notify before the commit", true, false, true, false},
			{"Notify after the commit", false, true, true, true},
			{"Notify before a rollback", true, false, false, false},
			{"Notify after a rollback", false, true, false, false},
		} {
			tx := begin()
			numbers := l.take(1)
			id, err := client.EnqueueTx(ctx, tx.w, chore{numbers[0]})
			if err != nil {
				t.Fatal(err)
			}
			notify := func(wanted bool) {
				if wanted {
					if err := tx.w.Notify(ctx); err != nil {
						t.Errorf("%s: %s: %v", how, c.what, err)
					}
				}
			}
			notify(c.early)
			if c.commits {
				tx.commit()
			} else {
				tx.rollback()
			}
			notify(c.late)
			if !c.commits {
				l.run(t, comeback, l.must(t, client)) // a later one has run
				if _, err := app.Job(ctx, id); err == nil || l.runsOf(numbers[0]) != 0 {
					t.Errorf("%s: %s: the job is there: %v", how, c.what, err)
				}
				continue
			}
			l.note(numbers, []int64{id}, nil)
			if took := l.run(t, comeback, numbers[0]); took > poll+poll/2 || c.prompt && took > poll/4 {
				t.Errorf("%s: %s: the job starts after %s, a poll takes %s", how, c.what, took, poll)
			}
		}
	}
	l.judge(t, s, comeback)
}

// A transaction that is rolled back, or a savepoint of it, leaves nothing: no key, no slot, no member, no edge.
func TestCaseB056(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	pool := dial(t, pg.DSN("postgres"))
	for _, savepoint := range []bool{false, true} {
		s := emptyStore(t, pg.DSN("postgres"), pg.DSN("postgres"))
		for how, begin := range begins(t, s, pool) {
			name := fmt.Sprintf("%s, savepoint %t", how, savepoint)
			out, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}})
			if err != nil {
				t.Fatal(err)
			}
			batch, err := s.OpenBatch(ctx, driver.NewBatch{})
			if err != nil {
				t.Fatal(err)
			}
			before := left(t, s, batch)
			everything := driver.InsertParams{
				Kind: "k", Queue: "q", Args: []byte("2"), MaxAttempts: 1, UniqueKey: []byte(name), LimitKey: "l" + name, LimitMax: 1, BatchID: batch,
				Parents: []driver.Parent{{ID: out[0].ID, On: driver.OnSucceeded}}, Deadline: time.Now().Add(time.Hour), Meta: map[string]string{"a": "b"},
			}
			tx := begin()
			if savepoint {
				tx.exec("savepoint mine")
			}
			if _, err := tx.w.Insert(ctx, []driver.InsertParams{everything}); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.w.OpenBatch(ctx, driver.NewBatch{Parent: batch}); err != nil {
				t.Fatal(err)
			}
			if err := tx.w.SealBatch(ctx, batch); err != nil {
				t.Fatal(err)
			}
			if savepoint {
				tx.exec("rollback to mine")
				tx.commit()
			} else {
				tx.rollback()
			}
			if err := tx.w.Notify(ctx); err != nil {
				t.Error(err)
			}
			if after := left(t, s, batch); after != before {
				t.Errorf("%s: %+v became %+v", name, before, after)
			}
			everything.Parents = nil
			again, err := s.Insert(ctx, []driver.InsertParams{everything})
			if err != nil || again[0].Duplicate {
				t.Errorf("%s: the key is still held: %+v, %v", name, again, err)
			}
			intact(t, s)
		}
	}
}

// leavings is what a transaction could leave behind.
type leavings struct {
	counts        driver.Counts
	total, nested int64
	sealed        bool
	limits        int
}

func left(t *testing.T, s *Store, batch int64) leavings {
	t.Helper()
	ctx := context.Background()
	counts, err := s.Counts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Batch(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	limits, err := s.Limits(ctx, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	return leavings{counts, b.Total, b.Nested, b.Sealed, len(limits)}
}

// An insert that the database refuses is an error, never an id of nothing, whatever is missing.
func TestRefusedInsert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	pool := dial(t, pg.DSN("postgres"))
	plain := driver.InsertParams{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}
	keyed, limited := plain, plain
	keyed.UniqueKey, limited.LimitKey, limited.LimitMax = []byte("u"), "l", 1
	for spoil, job := range map[string]driver.InsertParams{
		"alter table %s.uniques drop column expires_at":                      keyed,
		"alter table %s.jobs add constraint never check (queue <> 'q')":      plain,
		"alter table %s.throttled add constraint never check (queue <> 'q')": limited,
		"alter table %s.ready rename to gone":                                plain,
		"drop sequence %s.job_ids cascade":                                   keyed,
	} {
		s := emptyStore(t, pg.DSN("postgres"), pg.DSN("postgres"))
		statement := fmt.Sprintf(spoil, s.schema)
		if _, err := pool.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
		if out, err := s.Insert(ctx, slices.Repeat([]driver.InsertParams{job}, 2)); err == nil {
			t.Errorf("after %q Insert returns %+v", statement, out)
		}
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { _, err := s.Tx(tx).Insert(ctx, []driver.InsertParams{job}); return err })
		if err == nil {
			t.Errorf("after %q Insert in a transaction returns nil", statement)
		}
		var n int
		if err := pool.QueryRow(ctx, "select count(*) from "+s.schema+".jobs").Scan(&n); err != nil || n != 0 {
			t.Errorf("after %q there are %d jobs, %v", statement, n, err)
		}
	}
}

// A job that is committed late, with a smaller id than others that have run meanwhile, is not passed over: not by the process that
// took the others, not by the promoter, and not by a reader of the console.
func TestCaseB058(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	pool := dial(t, pg.DSN("postgres"))
	app := openAt(t, pg.DSN("postgres"))
	client := kiln.NewClient(app)
	s := openAt(t, pg.DSN("postgres"))
	l := newLedger()
	l.work(t, s, kiln.ServerConfig{}, 0)
	for how, begin := range begins(t, app, pool) {
		for _, notifies := range []bool{true, false} {
			tx := begin()
			numbers := l.take(2)
			late, err := client.EnqueueTx(ctx, tx.w, chore{numbers[0]})
			if err != nil {
				t.Fatal(err)
			}
			due, err := client.EnqueueTx(ctx, tx.w, chore{numbers[1]}, kiln.Delay(300*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			for range 20 { // so that the process has a mark far above
				younger := l.must(t, client)
				scheduled := l.must(t, client, kiln.Delay(50*time.Millisecond))
				l.run(t, comeback, younger)
				l.run(t, comeback, scheduled)
				if l.sure[younger] < late || l.sure[scheduled] < due {
					t.Fatalf("ids %d and %d after %d and %d", l.sure[younger], l.sure[scheduled], late, due)
				}
			}
			tx.commit()
			if notifies {
				if err := tx.w.Notify(ctx); err != nil {
					t.Error(err)
				}
			}
			l.note(numbers, []int64{late, due}, nil)
			within := 2500 * time.Millisecond // the pool and the promoter take turns with one poll a second
			if took := l.run(t, comeback, numbers[0]); took > within {
				t.Errorf("%s, Notify %t: the late job starts %s after its commit", how, notifies, took)
			}
			if took := l.run(t, comeback, numbers[1]); took > within {
				t.Errorf("%s, Notify %t: the late scheduled job starts %s after its commit", how, notifies, took)
			}
		}
	}
	l.judge(t, s, comeback)
}

// Lines of the console are numbered as they are committed: a reader that goes on from the last number misses none.
func TestConsoleHasNoLateLines(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	s := openAt(t, pg.DSN("postgres"))
	if _, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}}); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"q"}, Limit: 1, Server: "a"})
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	const writers, lines = 4, 50
	done := make(chan error, writers)
	for range writers {
		go func() {
			var err error
			for range lines {
				if err == nil {
					err = s.WriteConsole(ctx, jobs[0].Ref, []string{"line"}, -1)
				}
			}
			done <- err
		}()
	}
	seen, after, ended := 0, int64(0), 0
	for ended < writers || seen < writers*lines {
		select {
		case err := <-done:
			if ended++; err != nil {
				t.Fatal(err)
			}
		default:
		}
		whole := ended == writers
		found, err := s.Logs(ctx, jobs[0].ID, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range found {
			after = line.Seq
		}
		if seen += len(found); whole && len(found) == 0 {
			break
		}
	}
	if seen != writers*lines {
		t.Errorf("a reader that went on from the last line has seen %d of %d", seen, writers*lines)
	}
}
