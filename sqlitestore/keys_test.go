package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// keyedJob is a job with a unique key.
func keyedJob(key string) driver.InsertParams {
	return driver.InsertParams{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1, UniqueKey: []byte(key)}
}

func limitedJob(key string, most int) driver.InsertParams {
	return driver.InsertParams{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1, LimitKey: key, LimitMax: most}
}

func put(t testing.TB, w driver.Writer, p driver.InsertParams) driver.Inserted {
	t.Helper()
	out, err := w.Insert(context.Background(), []driver.InsertParams{p})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// sound expects the store's invariants to hold.
func sound(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
}

// Callers in several processes that insert one key at once: one inserts, and all get its id. (Two stores on one file are as two
// processes: each has a connection and a writer of its own.)
func TestCaseB031(t *testing.T) {
	const rounds, callers = 20, 8
	path := filepath.Join(t.TempDir(), "jobs.db")
	stores := []*Store{newStore(t, openPool(t, path)), newStore(t, openPool(t, path))}
	for round := range rounds {
		ids := make([]driver.Inserted, len(stores)*callers)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				out, err := stores[i%len(stores)].Insert(context.Background(), []driver.InsertParams{keyedJob(fmt.Sprint(round))})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = out[0]
			})
		}
		wg.Wait()
		fresh := 0
		for _, r := range ids {
			if !r.Duplicate {
				fresh++
			}
			if r.ID != ids[0].ID {
				t.Errorf("round %d: jobs %d and %d", round, ids[0].ID, r.ID)
			}
		}
		if fresh != 1 {
			t.Errorf("round %d: %d callers inserted", round, fresh)
		}
	}
	sound(t, stores[0])
}

// A caller that meets the key of an open transaction waits for its fate.
func TestCaseB032(t *testing.T) {
	ctx := context.Background()
	for _, commit := range []bool{false, true} {
		db := newPool(t)
		s := newStore(t, db)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := s.Tx(tx)
		first := put(t, w, keyedJob("k"))
		if again := put(t, w, keyedJob("k")); !again.Duplicate || again.ID != first.ID {
			t.Errorf("in the transaction itself: %+v", again)
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := s.Insert(short, []driver.InsertParams{keyedJob("k")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline that passes: %v", err)
		}
		got := make(chan driver.Inserted, 1)
		go func() { got <- put(t, s, keyedJob("k")) }()
		if commit {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
		second := <-got
		if second.Duplicate != commit || commit && second.ID != first.ID {
			t.Errorf("committed %t: the second caller got %+v, the first %+v", commit, second, first)
		}
		if _, err := s.Job(ctx, second.ID); err != nil {
			t.Errorf("committed %t: %v", commit, err)
		}
		if err := w.Notify(ctx); err != nil {
			t.Error(err)
		}
		sound(t, s)
	}
}

// A key whose job was deleted behind the store's back is free, and so is a slot once Sweep has counted.
func TestCaseB034(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	p := keyedJob("k")
	p.LimitKey, p.LimitMax = "l", 1
	lost := put(t, s, p)
	waits := put(t, s, limitedJob("l", 1))
	for _, statement := range []string{"delete from kiln_jobs where id = ?", "delete from kiln_ready where id = ?"} {
		if _, err := db.Exec(statement, lost.ID); err != nil {
			t.Fatal(err)
		}
	}
	if next := put(t, s, keyedJob("k")); next.Duplicate {
		t.Errorf("the key of a job that is gone is taken: %+v", next)
	}
	if n, err := s.Sweep(ctx, 1000); err != nil || n == 0 {
		t.Errorf("Sweep changed %d rows, %v", n, err)
	}
	if rec, err := s.Job(ctx, waits.ID); err != nil || rec.State != driver.Enqueued {
		t.Errorf("the job that waited for the slot of one that is gone: %s, %v", rec.State, err)
	}
	if n, err := s.Sweep(ctx, 1000); err != nil || n != 0 {
		t.Errorf("a second Sweep changed %d rows, %v", n, err)
	}
	sound(t, s)
}

// Inserts that share a transaction meet each other's keys as if they had come one after the other.
func TestMergedDuplicates(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	release := lock(t, db)
	const callers = 40
	results := make([][]driver.Inserted, callers)
	calls := make([]func(), callers)
	for i := range calls {
		calls[i] = func() {
			replace := keyedJob("replaced")
			replace.UniqueReplace, replace.Args = true, []byte(fmt.Sprint(i))
			out, err := s.Insert(ctx, []driver.InsertParams{keyedJob(fmt.Sprint("own ", i)), keyedJob("shared"), replace, limitedJob("l", 3)})
			if err != nil {
				t.Error(err)
			}
			results[i] = out
		}
	}
	wg := pile(t, s, calls...)
	release()
	wg.Wait()
	fresh, replaced := 0, 0
	for _, out := range results {
		if out[0].Duplicate || out[1].ID != results[0][1].ID || out[2].ID != results[0][2].ID {
			t.Errorf("results %+v", out)
		}
		if !out[1].Duplicate {
			fresh++
		}
		if out[2].Replaced {
			replaced++
		}
	}
	if fresh != 1 || replaced != callers-1 {
		t.Errorf("%d callers inserted the shared key and %d replaced the other, of %d", fresh, replaced, callers)
	}
	if c, err := s.Counts(ctx); err != nil || c.Enqueued != callers+2+3 || c.Throttled != callers-3 {
		t.Errorf("%+v, %v", c, err)
	}
	sound(t, s)
}

// Inside of an application's transaction limited jobs are admitted with it, also when nobody calls Notify.
func TestTxLimits(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	first := put(t, s, limitedJob("l", 1))
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	second := put(t, s.Tx(tx), limitedJob("l", 2))
	third := put(t, s.Tx(tx), limitedJob("l", 2))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]driver.State{first.ID: driver.Enqueued, second.ID: driver.Enqueued, third.ID: driver.Throttled} {
		if rec, err := s.Job(ctx, id); err != nil || rec.State != want {
			t.Errorf("job %d is %s, %v, want %s", id, rec.State, err, want)
		}
	}
	sound(t, s)
	tx, err = db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.Tx(tx), limitedJob("l", 5))
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if limits, err := s.Limits(ctx, "", 10); err != nil || len(limits) != 1 || limits[0].Max != 2 || limits[0].Active != 2 {
		t.Errorf("after a rollback: %+v, %v", limits, err)
	}
	sound(t, s)
}

// A sweep counts keys in turn, so that each is counted in the end, and leaves out the one that too many jobs name.
func TestSweepLimits(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	var jobs []driver.InsertParams
	for i := range 300 {
		jobs = append(jobs, limitedJob(fmt.Sprintf("key %03d", i), 2), limitedJob(fmt.Sprintf("key %03d", i), 2))
	}
	for range recounted + 1 {
		jobs = append(jobs, limitedJob("many", 1))
	}
	if _, err := s.Insert(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("update kiln_limits set active = 7, reserved = 3 where limit_key <> 'many'"); err != nil {
		t.Fatal(err)
	}
	total := 0
	for range 10 {
		n, err := s.Sweep(ctx, 1000)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if total != 300 {
		t.Errorf("%d counters were corrected, want 300", total)
	}
	sound(t, s)
}
