package sqlitestore

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// A wake-up that comes before the commit, or never, costs no more than a poll, and one for a transaction that was rolled back
// nothing. (The store sees commits of others by itself, so a poll is not even waited for.)
func TestCaseB055(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		db := openPool(t, path)
		s := newStore(t, db)
		var runs atomic.Int64
		start(t, s, kiln.ServerConfig{}, counted(&runs))
		pass(10 * time.Second)
		client := kiln.NewClient(s)
		for _, c := range []struct {
			what  string
			early bool
			end   func(tx *sql.Tx) error
			want  int64
		}{
			{"no Notify", false, (*sql.Tx).Commit, 1},
			{"Notify before the commit", true, (*sql.Tx).Commit, 1},
			{"Notify before a rollback", true, (*sql.Tx).Rollback, 0},
		} {
			runs.Store(0)
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			w := s.Tx(tx)
			if _, err := client.EnqueueTx(ctx, w, task{1}); err != nil {
				t.Fatal(err)
			}
			if c.early {
				if err := w.Notify(ctx); err != nil {
					t.Error(err)
				}
			}
			if err := c.end(tx); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
			if n := runs.Load(); n != c.want {
				t.Errorf("%s: %d jobs run within a poll, want %d", c.what, n, c.want)
			}
		}
	})
}

// A transaction that is rolled back, or a savepoint of it, leaves nothing: no key, no slot, no member, no edge.
func TestCaseB056(t *testing.T) {
	ctx := context.Background()
	for _, savepoint := range []bool{false, true} {
		db := newPool(t)
		s := newStore(t, db)
		parent := put(t, s, driver.InsertParams{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1})
		batch, err := s.OpenBatch(ctx, driver.NewBatch{})
		if err != nil {
			t.Fatal(err)
		}
		before := all(t, s, batch)
		everything := keyedJob("k")
		everything.LimitKey, everything.LimitMax, everything.BatchID = "l", 1, batch
		everything.Parents = []driver.Parent{{ID: parent.ID, On: driver.OnSucceeded}}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		exec := func(statement string) {
			t.Helper()
			if _, err := tx.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		if savepoint {
			exec("create table mine (n integer)")
			exec("savepoint mine")
		}
		w := s.Tx(tx)
		put(t, w, everything)
		if savepoint {
			exec("rollback to mine")
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Notify(ctx); err != nil {
			t.Error(err)
		}
		if after := all(t, s, batch); after != before {
			t.Errorf("savepoint %t: %+v became %+v", savepoint, before, after)
		}
		everything.Parents = nil
		if again := put(t, s, everything); again.Duplicate {
			t.Errorf("savepoint %t: the key is still held: %+v", savepoint, again)
		}
		sound(t, s)
	}
}

// B056: an insert that the database refuses is an error, never an id of nothing.
func TestRefusedInsert(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	if _, err := db.Exec("create trigger refuse before insert on kiln_uniques begin select raise(abort, 'refused'); end"); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Insert(ctx, []driver.InsertParams{keyedJob("k")}); err == nil {
		t.Errorf("Insert returns %+v", out)
	}
	if counts, err := s.Counts(ctx); err != nil || counts != (driver.Counts{}) {
		t.Errorf("afterwards there are %+v, %v", counts, err)
	}
	sound(t, s)
}

// held is what a transaction could leave behind.
type held struct {
	counts driver.Counts
	total  int64
	limits int
}

func all(t *testing.T, s *Store, batch int64) held {
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
	return held{counts, b.Total, len(limits)}
}
