package sqlitestore

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// once is a rule that fails the first step that fits, and every other one that fits also.
func once(err error, fits func(s step) bool, also func(s step) bool) rule {
	failed := false
	return func(s step) error {
		if !failed && fits(s) {
			failed = true
			return err
		}
		if failed && also != nil && also(s) {
			return err
		}
		return nil
	}
}

func committed(s step) bool  { return s.after && s.does == "exec" && s.query == "commit" }
func committing(s step) bool { return !s.after && s.does == "exec" && s.query == "commit" }
func looking(s step) bool    { return strings.HasPrefix(s.query, "select 1 from kiln_jobs where id") }

// lostAnswers are what a driver may say instead of the answer to a commit that happened.
var lostAnswers = map[string]error{
	"I/O error": ioError{}, "busy": busy{}, "bad connection": sqldriver.ErrBadConn, "unheard of": errors.New("unheard of"),
}

// TestCommitAnswerLost commits and fails to hear of it. An insert finds its jobs; when it cannot even look, it says so. In no
// case is a job there twice.
func TestCommitAnswerLost(t *testing.T) {
	for name, lost := range lostAnswers {
		for _, blind := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, blind %v", name, blind), func(t *testing.T) {
				db := newHookedPool(t)
				s := newStore(t, db.DB)
				release := lock(t, db.DB)
				outcome := make([]error, 2)
				wg := pile(t, s,
					func() { _, outcome[0] = insertOne(s, "a") },
					func() { _, outcome[1] = s.Insert(context.Background(), plainJobs(2)) })
				var also func(step) bool
				if blind {
					also = looking
				}
				merged := 0
				fault := once(lost, func(s step) bool {
					if strings.Contains(s.query, "insert into kiln_jobs") && !s.after && s.does == "exec" {
						merged++
					}
					return merged > 0 && committed(s)
				}, also)
				db.obey(fault)
				release()
				wg.Wait()
				db.obey(nil)
				for i, err := range outcome {
					if blind != errors.Is(err, driver.ErrUnknown) || !blind && err != nil {
						t.Errorf("insert %d returns %v, blind %v", i, err, blind)
					}
				}
				checked(t, s, 3)
				if _, err := insertOne(s, "b"); err != nil {
					t.Errorf("the insert after it returns %v", err)
				}
			})
		}
	}
}

// TestCommitAnswerLostTransaction is the same for an insert in a transaction of its own.
func TestCommitAnswerLostTransaction(t *testing.T) {
	ctx := context.Background()
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	insert := func() error {
		return s.InTx(ctx, func(w driver.Writer) error { return second(w.Insert(ctx, plainJobs(2))) })
	}
	db.obey(once(ioError{}, committed, nil))
	if err := insert(); err != nil {
		t.Errorf("a transaction that is found again returns %v", err)
	}
	db.obey(once(ioError{}, committed, looking))
	if err := insert(); !errors.Is(err, driver.ErrUnknown) || primary(err) != codeIOErr {
		t.Errorf("a transaction that cannot be looked for returns %v", err)
	}
	db.obey(nil)
	checked(t, s, 4)
}

// TestCommitRefused refuses the commit before SQLite sees it: nothing is there, and nobody is told that it might be.
func TestCommitRefused(t *testing.T) {
	for name, refused := range lostAnswers {
		t.Run(name, func(t *testing.T) {
			db := newHookedPool(t)
			s := newStore(t, db.DB)
			db.obey(once(refused, committing, nil))
			_, err := insertOne(s, "a")
			db.obey(nil)
			enqueued := int64(0)
			if isBusy(refused) {
				enqueued = 1 // tried again
			}
			if errors.Is(err, driver.ErrUnknown) || (err == nil) != isBusy(refused) {
				t.Errorf("the insert returns %v", err)
			}
			checked(t, s, enqueued)
		})
	}
}

// TestCommitAnswerLostWork loses the answers to a claim and to a finish. Both say that they do not know, the claim's jobs are
// among the server's leases, and the same outcomes again are stale.
func TestCommitAnswerLostWork(t *testing.T) {
	ctx := context.Background()
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	fill(t, s, 2)
	db.obey(once(ioError{}, committed, nil))
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 5, Server: "a"})
	if !errors.Is(err, driver.ErrUnknown) || len(jobs) != 0 {
		t.Errorf("Claim returns %d jobs, %v", len(jobs), err)
	}
	d, err := s.Heartbeat(ctx, driver.ServerInfo{ID: "a"})
	if err != nil || len(d.Leases) != 2 {
		t.Fatalf("the heartbeat lists %v, %v", d.Leases, err)
	}
	outs := []driver.Outcome{{Ref: d.Leases[0].Ref, State: driver.Succeeded}, {Ref: d.Leases[1].Ref, State: driver.Enqueued, Refund: true, Reason: "lost"}}
	db.obey(once(busy{}, committed, nil))
	if _, err := s.Finish(ctx, "a", outs); !errors.Is(err, driver.ErrUnknown) {
		t.Errorf("Finish returns %v", err)
	}
	db.obey(nil)
	results, err := s.Finish(ctx, "a", outs)
	if err != nil || results[0] != driver.Stale || results[1] != driver.Stale {
		t.Errorf("the same again returns %v, %v", results, err)
	}
	checked(t, s, 1)
}

// TestCommitAnswerLostEvents wakes subscribers for a commit that nobody knows of.
func TestCommitAnswerLostEvents(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	events := subscribed(t, s)
	db.obey(once(ioError{}, committed, nil))
	if err := s.PauseQueue(context.Background(), "a", true); !errors.Is(err, driver.ErrUnknown) {
		t.Errorf("PauseQueue returns %v", err)
	}
	events.wait(t, driver.Event{Kind: driver.QueueChanged, Queue: "a"})
}

// TestWriteUnderWay leaves a call whose commit takes long.
func TestWriteUnderWay(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	ctx, cancel := context.WithCancel(context.Background())
	hold := make(chan struct{})
	db.obey(func(s step) error {
		if committing(s) {
			cancel()
			<-hold
		}
		return nil
	})
	_, err := s.Insert(ctx, plainJobs(1))
	if !errors.Is(err, driver.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("the insert returns %v", err)
	}
	close(hold)
	eventually(t, "the job is written", func() bool {
		c, err := s.Counts(context.Background())
		return err == nil && c.Enqueued == 1
	})
}

// TestConnectionsAreClosed gives up many connections. SQLite must be rid of each, statements first: otherwise it keeps files
// and locks of those that are gone.
func TestConnectionsAreClosed(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	for range 20 {
		db.obey(once(ioError{}, func(s step) bool { return !s.after && strings.Contains(s.query, "kiln_ready") }, nil))
		if _, err := insertOne(s, "a"); primary(err) != codeIOErr {
			t.Fatal(err)
		}
	}
	db.obey(nil)
	s.Close()
	if db.leaked.Load() != 0 || db.closed.Load() < 20 {
		t.Errorf("%d of %d connections were closed before their statements", db.leaked.Load(), db.closed.Load())
	}
}

// TestRollbackFails leaves nobody waiting behind a transaction that could not be rolled back.
func TestRollbackFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	db := openHookedPool(t, path)
	s := newStore(t, db.DB)
	db.obey(once(busy{}, func(s step) bool { return s.does == "exec" && s.query == "rollback" }, func(s step) bool { return false }))
	inner := db.rule
	db.obey(func(s step) error {
		if !s.after && strings.Contains(s.query, "kiln_ready") && s.does == "exec" {
			return full{}
		}
		return inner(s)
	})
	if _, err := insertOne(s, "a"); primary(err) != codeFull {
		t.Errorf("the insert returns %v", err)
	}
	db.obey(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	other := openPool(t, path)
	if _, err := other.ExecContext(ctx, "pragma busy_timeout = 0; begin immediate; rollback"); err != nil {
		t.Errorf("another connection finds: %v", err)
	}
}

// TestBeginAnew begins on a connection that went bad while nobody wrote.
func TestBeginAnew(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	for name, bad := range map[string]error{"I/O error": ioError{}, "bad connection": sqldriver.ErrBadConn, "unheard of": errors.New("unheard of")} {
		db.obey(once(bad, func(s step) bool { return s.query == "begin immediate" && s.does == "exec" }, nil))
		if _, err := insertOne(s, "a"); err != nil {
			t.Errorf("%s at begin: the insert returns %v", name, err)
		}
	}
	db.obey(nil)
	checked(t, s, 3)
}

// TestBeginAnswerLost begins a read and does not hear of it. The pool must not get the connection back with a transaction in it.
func TestBeginAnswerLost(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	for range 3 {
		db.obey(once(context.Canceled, func(s step) bool { return s.after && s.query == "begin deferred" }, nil))
		if err := s.Check(context.Background()); !errors.Is(err, context.Canceled) {
			t.Errorf("Check returns %v", err)
		}
		db.obey(nil)
		checked(t, s, 0)
	}
}
