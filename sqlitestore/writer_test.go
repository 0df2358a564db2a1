package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// full is what a driver says when the disk is full.
type full struct{}

func (full) Error() string { return "database or disk is full" }
func (full) Code() int     { return codeFull }

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

// lock takes the write lock of a database as an application's transaction does, and returns what ends it.
func lock(t testing.TB, db *sql.DB) (release func()) {
	t.Helper()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(ctx, "begin immediate"); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	release = func() {
		once.Do(func() {
			if _, err := conn.ExecContext(ctx, "commit"); err != nil {
				t.Error(err)
			}
			conn.Close()
		})
	}
	t.Cleanup(release)
	return release
}

// pile submits calls while the lock is taken, so that they are written together, and waits until they all wait.
func pile(t testing.TB, s *Store, calls ...func()) *sync.WaitGroup {
	t.Helper()
	var wg sync.WaitGroup
	// The first call waits alone for the lock; the others pile up behind it.
	wg.Go(func() {
		if err := s.PauseQueue(context.Background(), "first", true); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the writer meets the lock", func() bool { return s.writer.blockedSince.Load() != 0 })
	for _, c := range calls {
		wg.Go(c)
	}
	eventually(t, "all calls are queued", func() bool {
		s.writer.mu.Lock()
		defer s.writer.mu.Unlock()
		return len(s.writer.queue) == len(calls)
	})
	return &wg
}

func insertOne(s *Store, queue string) (int64, error) {
	out, err := s.Insert(context.Background(), []driver.InsertParams{{Kind: "k", Queue: queue, Args: []byte("1"), MaxAttempts: 1}})
	if err != nil {
		return 0, err
	}
	return out[0].ID, nil
}

// TestMerged shows that calls that arrive together share one transaction.
func TestMerged(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	release := lock(t, db.DB)
	var calls []func()
	for i := range 20 {
		calls = append(calls, func() {
			if _, err := insertOne(s, fmt.Sprintf("q%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg := pile(t, s, calls...)
	var c counter
	db.set(c.hook)
	release()
	wg.Wait()
	db.set(nil)
	n := c.take()
	if n["commit"] > 3 {
		t.Errorf("20 calls that wait together need %d commits: %v", n["commit"], n)
	}
	checked(t, s, 20)
}

// checked looks for damage, and for the number of enqueued jobs.
func checked(t testing.TB, s *Store, enqueued int64) {
	t.Helper()
	if err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
	c, err := s.Counts(context.Background())
	if err != nil || c.Enqueued != enqueued {
		t.Errorf("%d jobs are enqueued (%v), want %d", c.Enqueued, err, enqueued)
	}
}

// TestCancelledSibling cancels one of several calls that wait together.
func TestCancelledSibling(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	release := lock(t, db)
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	wg := pile(t, s,
		func() {
			if _, err := insertOne(s, "a"); err != nil {
				t.Error(err)
			}
		},
		func() {
			_, err := s.Insert(ctx, plainJobs(1))
			left <- err
		},
		func() {
			if _, err := insertOne(s, "b"); err != nil {
				t.Error(err)
			}
		})
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "write lock") {
		t.Errorf("the cancelled call returns %v while the lock is taken, want context.Canceled and what it waited for", err)
	}
	release()
	wg.Wait()
	checked(t, s, 2)
}

// TestDeadlineNamesTheCause is for the goroutine that holds a transaction open and calls the store.
func TestDeadlineNamesTheCause(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	lock(t, db)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Insert(ctx, plainJobs(1))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "calling goroutine itself") {
		t.Errorf("the error is %v, want DeadlineExceeded and a hint at the goroutine's own transaction", err)
	}
}

// TestFailingSibling lets one of several merged calls fail in the middle of the transaction.
func TestFailingSibling(t *testing.T) {
	for name, failure := range map[string]error{"disk full": full{}, "unknown": errors.New("no such thing")} {
		t.Run(name, func(t *testing.T) {
			db := newHookedPool(t)
			s := newStore(t, db.DB)
			release := lock(t, db.DB)
			outcome := make([]error, 3)
			wg := pile(t, s,
				func() { _, outcome[0] = insertOne(s, "a") },
				func() { outcome[1] = s.Resign(context.Background(), "x", "y") },
				func() { _, outcome[2] = insertOne(s, "b") })
			db.set(func(query string) error {
				if strings.Contains(query, "kiln_leaders") {
					return failure
				}
				return nil
			})
			release()
			wg.Wait()
			db.set(nil)
			if outcome[0] != nil || outcome[2] != nil {
				t.Errorf("siblings of a failing call fail: %v, %v", outcome[0], outcome[2])
			}
			if !errors.Is(outcome[1], failure) {
				t.Errorf("the failing call returns %v, want its own error", outcome[1])
			}
			checked(t, s, 2)
		})
	}
}

// TestFullDisk fails every commit that holds more than one job, as a disk does that has little room left.
func TestFullDisk(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	release := lock(t, db.DB)
	outcome := make([]error, 3)
	wg := pile(t, s,
		func() { _, outcome[0] = insertOne(s, "a") },
		func() { _, outcome[1] = s.Insert(context.Background(), plainJobs(50)) },
		func() { _, outcome[2] = insertOne(s, "b") })
	rows := 0
	db.set(func(query string) error {
		switch {
		case query == "begin immediate":
			rows = 0
		case strings.Contains(query, "insert into kiln_jobs"):
			rows += strings.Count(query, "(?")
		case query == "commit" && rows > 10:
			return full{}
		}
		return nil
	})
	release()
	wg.Wait()
	db.set(nil)
	if outcome[0] != nil || outcome[2] != nil || primary(outcome[1]) != codeFull {
		t.Errorf("small, large, small insert on a disk with little room return %v, want nil, full, nil", outcome)
	}
	checked(t, s, 2)
}

// TestConnectionLost breaks the writer's connection: the call fails, and the next one has another.
func TestConnectionLost(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	broken := true
	db.set(func(query string) error {
		if broken && strings.Contains(query, "insert into kiln_jobs") {
			broken = false
			return ioError{}
		}
		return nil
	})
	if _, err := insertOne(s, "a"); primary(err) != codeIOErr {
		t.Errorf("the insert returns %v, want the I/O error", err)
	}
	if _, err := insertOne(s, "b"); err != nil {
		t.Errorf("the insert after it returns %v", err)
	}
	checked(t, s, 1)
}

type ioError struct{}

func (ioError) Error() string { return "disk I/O error" }
func (ioError) Code() int     { return codeIOErr | 3<<8 }

// TestBusyWaits takes the lock for longer than the pool's busy timeout would wait at a time.
func TestBusyWaits(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	release := lock(t, db)
	wg := pile(t, s)
	done := make(chan error, 1)
	go func() {
		_, err := insertOne(s, "a")
		done <- err
	}()
	since := s.writer.blockedSince.Load()
	eventually(t, "the writer has waited for a while", func() bool {
		return time.Since(time.UnixMicro(since)) > 100*time.Millisecond
	})
	select {
	case err := <-done:
		t.Errorf("the insert ends while the lock is taken: %v", err)
	default:
	}
	release()
	wg.Wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if s.writer.blockedSince.Load() != 0 {
		t.Error("the writer still believes to be blocked")
	}
}

// TestClose answers calls that wait, and may be repeated.
func TestClose(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	release := lock(t, db)
	done := make(chan error, 1)
	go func() {
		_, err := insertOne(s, "a")
		done <- err
	}()
	eventually(t, "the call waits", func() bool { return s.writer.blockedSince.Load() != 0 })
	s.Close()
	if err := <-done; err == nil {
		t.Error("a call that waits succeeds after Close")
	}
	s.Close()
	release()
	if _, err := insertOne(s, "a"); err == nil {
		t.Error("an insert succeeds after Close")
	}
	if _, err := s.Counts(context.Background()); err == nil {
		t.Error("a read succeeds after Close")
	}
	if open := db.Stats().InUse; open != 0 {
		t.Errorf("%d connections are in use after Close", open)
	}
	var timeout int
	if err := db.QueryRow("pragma busy_timeout").Scan(&timeout); err != nil || timeout != 5000 {
		t.Errorf("the pool has busy_timeout %d after Close (%v), want the 5000 that it had", timeout, err)
	}
}

// TestReadFallback reads while an application's transactions hold all connections but the writer's.
func TestReadFallback(t *testing.T) {
	db := newPool(t)
	db.SetMaxOpenConns(2)
	s := newStore(t, db)
	id, err := insertOne(s, "a")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if rec, err := s.Job(ctx, id); err != nil || rec.Queue != "a" {
		t.Errorf("Job returns %+v, %v", rec, err)
	}
	if _, err := s.Job(ctx, id+1); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("Job of an unknown id returns %v", err)
	}
}
