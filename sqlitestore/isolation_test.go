package sqlitestore

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// victims are calls whose statements carry the word victim, so that a rule can fail them and no others, each with what counts
// its traces.
var victims = map[string]struct {
	call   func(ctx context.Context, s *Store) error
	traces string
}{
	"insert": {func(ctx context.Context, s *Store) error {
		return second(s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "victim", Args: []byte("1"), MaxAttempts: 1}}))
	}, "select count(*) from kiln_jobs where queue = 'victim'"},
	"claim": {func(ctx context.Context, s *Store) error {
		return second(s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "victim"}))
	}, "select count(*) from kiln_lease where server = 'victim'"},
	"finish": {func(ctx context.Context, s *Store) error {
		return second(s.Finish(ctx, "victim", []driver.Outcome{{Ref: driver.Ref{ID: 1, Claim: 1}, State: driver.Succeeded}}))
	}, "select count(*) from kiln_done"},
	"heartbeat": {func(ctx context.Context, s *Store) error {
		return second(s.Heartbeat(ctx, driver.ServerInfo{ID: "victim"}))
	}, "select count(*) from kiln_servers where id = 'victim'"},
	"transaction": {func(ctx context.Context, s *Store) error {
		return s.InTx(ctx, func(w driver.Writer) error {
			return second(w.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "victim", Args: []byte("1"), MaxAttempts: 1}}))
		})
	}, "select count(*) from kiln_jobs where queue = 'victim'"},
}

// TestIsolation merges calls of which one fails, whatever fails it: the others do not notice, and it leaves nothing behind.
func TestIsolation(t *testing.T) {
	faults := map[string]error{
		"full": full{}, "I/O error": ioError{}, "busy": busy{}, "bad connection": sqldriver.ErrBadConn, "unheard of": errors.New("unheard of"),
	}
	for who, v := range victims {
		for what, fault := range faults {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, after %v", who, what, after), func(t *testing.T) {
					isolate(t, v.call, v.traces, func(s step) error {
						if s.after == after && (s.does == "exec" || s.does == "query") && marked(s) {
							return fault
						}
						return nil
					})
				})
			}
		}
	}
}

// marked reports whether a statement has the word victim among its arguments.
func marked(s step) bool {
	for _, arg := range s.args {
		if text, ok := arg.Value.(string); ok && text == "victim" {
			return true
		}
	}
	return false
}

func isolate(t *testing.T, victim func(context.Context, *Store) error, traces string, r rule) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	fill(t, s, 4) // the first is processing
	if jobs, err := s.Claim(context.Background(), driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "a"}); err != nil || len(jobs) != 1 || jobs[0].ID != 1 {
		t.Fatal(jobs, err)
	}
	release := lock(t, db.DB)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// A fault that looks like another's lock is waited for as long as the caller likes.
	short, end := context.WithTimeout(ctx, 200*time.Millisecond)
	defer end()
	failed := make([]error, 6)
	wg := pile(t, s,
		func() { failed[0] = second(insertOne(s, "other")) },
		func() {
			failed[1] = second(s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "b"}))
		},
		func() { failed[2] = victim(short, s) },
		func() { failed[3] = second(s.Heartbeat(ctx, driver.ServerInfo{ID: "b"})) },
		func() { failed[4] = second(s.Promote(ctx, 10)) },
		func() { failed[5] = second(s.Insert(ctx, plainJobs(3))) })
	db.obey(r)
	release()
	wg.Wait()
	db.obey(nil)
	for i, err := range failed {
		if (err != nil) != (i == 2) {
			t.Errorf("call %d returns %v", i, err)
		}
	}
	var n int
	if err := db.QueryRow(traces).Scan(&n); err != nil || n != 0 {
		t.Errorf("the call that failed leaves %d rows, %v", n, err)
	}
	checked(t, s, 3-1+1+3)
	if err := victim(ctx, s); err != nil {
		t.Errorf("without the fault the call returns %v", err)
	}
}

// TestOwnTransaction has a goroutine that holds a transaction open and calls the client without it: the call ends with its
// context and says what it waited for, and everybody else goes on as soon as the transaction ends.
func TestOwnTransaction(t *testing.T) {
	for name, most := range map[string]int{"default pool": 0, "pool of two": 2} {
		t.Run(name, func(t *testing.T) {
			db := newPool(t)
			db.SetMaxOpenConns(most)
			s := newStore(t, db)
			client := kiln.NewClient(s)
			ctx := context.Background()
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			// The transaction has not written yet, so it is in nobody's way.
			if _, err := client.Enqueue(ctx, task{1}); err != nil {
				t.Errorf("beside a transaction that has done nothing Enqueue returns %v", err)
			}
			inside, err := client.EnqueueTx(ctx, s.Tx(tx), task{2})
			if err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			if _, err := client.Enqueue(short, task{3}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrUnknown) ||
				!strings.Contains(err.Error(), "calling goroutine itself") {
				t.Errorf("inside of the goroutine's own transaction Enqueue returns %v", err)
			}
			if c, err := s.Counts(ctx); err != nil || c.Enqueued != 1 {
				t.Errorf("beside the transaction Counts returns %+v, %v", c, err)
			}
			if err := s.Check(ctx); err != nil {
				t.Errorf("beside the transaction Check returns %v", err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if rec, err := client.Get(ctx, inside); err != nil || rec.State != kiln.State("enqueued") {
				t.Errorf("Get returns %+v, %v", rec, err)
			}
			if _, err := client.Enqueue(ctx, task{4}); err != nil {
				t.Errorf("after the transaction Enqueue returns %v", err)
			}
			checked(t, s, 3)
		})
	}
}

// TestEveryDeadlineNamesTheCause ends the contexts of many calls behind a lock, each at another moment of the writer's attempts.
func TestEveryDeadlineNamesTheCause(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	lock(t, db)
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond+time.Duration(i)*100*time.Microsecond)
			defer cancel()
			if _, err := s.Insert(ctx, plainJobs(1)); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "write lock") {
				t.Errorf("Insert returns %v", err)
			}
		})
	}
	wg.Wait()
}
