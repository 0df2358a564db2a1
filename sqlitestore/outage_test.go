package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// pass lets virtual time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// counted handles tasks in no time and counts them; tasks below 0 take as many seconds.
func counted(runs *atomic.Int64) func(context.Context, *kiln.Job[task]) error {
	return func(_ context.Context, j *kiln.Job[task]) error {
		runs.Add(1)
		if j.Args.N < 0 {
			<-time.After(time.Duration(-j.Args.N) * time.Second)
		}
		return nil
	}
}

func enqueue(t *testing.T, s *Store, n int, opts ...kiln.InsertOption) int64 {
	t.Helper()
	id, err := kiln.NewClient(s).Enqueue(context.Background(), task{n}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// succeeded checks that a job has succeeded in its first attempt.
func succeeded(t *testing.T, s *Store, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		rec, err := s.Job(context.Background(), id)
		if err != nil || rec.State != driver.Succeeded || rec.Attempt != 1 {
			t.Errorf("job %d is %s after %d attempts, %v", id, rec.State, rec.Attempt, err)
		}
	}
}

// TestLockedForAMinute lets another connection hold the write lock for a minute while a server runs. Calls end with their
// contexts and say why, reads work, the server says that it cannot go on, and goes on when the lock is free.
func TestLockedForAMinute(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, openPool(t, path))
		var runs atomic.Int64
		server := start(t, s, kiln.ServerConfig{}, counted(&runs))
		running := enqueue(t, s, -10)
		pass(time.Second)
		release := lock(t, openPool(t, path))
		client := kiln.NewClient(s)
		for range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			began := time.Now()
			_, err := client.Enqueue(ctx, task{1})
			cancel()
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrUnknown) ||
				!strings.Contains(err.Error(), "write lock") || took > 250*time.Millisecond {
				t.Errorf("after %s Enqueue returns %v", took, err)
			}
		}
		if c, err := s.Counts(context.Background()); err != nil || c.Processing != 1 {
			t.Errorf("Counts returns %+v, %v", c, err)
		}
		patient := make(chan int64, 1)
		go func() {
			id, err := client.Enqueue(context.Background(), task{2})
			if err != nil {
				t.Errorf("an enqueue without a deadline returns %v", err)
			}
			patient <- id
		}()
		pass(40 * time.Second)
		if err := server.Healthy(); err == nil {
			t.Error("a server that could not write for 40 seconds calls itself healthy")
		}
		pass(20 * time.Second)
		release()
		pass(10 * time.Second)
		if err := server.Healthy(); err != nil {
			t.Errorf("10 seconds after the lock was released: %v", err)
		}
		later := enqueue(t, s, 3)
		pass(time.Second)
		succeeded(t, s, running, <-patient, later)
		if n := runs.Load(); n != 3 {
			t.Errorf("3 jobs ran %d times", n)
		}
		checked(t, s, 0)
	})
}

// TestReadOnly opens a finished database that cannot be written: it can be read, and whatever writes says why it cannot.
func TestReadOnly(t *testing.T) {
	for name, dsn := range map[string]string{"opened read-only": "mode=ro&", "queries only": "_pragma=query_only(1)&"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			before := newStore(t, openPool(t, path))
			id, err := insertOne(before, "a")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				db, err := sql.Open("sqlite", "file:"+path+"?"+dsn+"_pragma=busy_timeout(5000)")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				s := newStore(t, db)
				if rec, err := s.Job(ctx, id); err != nil || rec.State != driver.Enqueued {
					t.Errorf("Job returns %+v, %v", rec, err)
				}
				if err := s.Check(ctx); err != nil {
					t.Error(err)
				}
				var runs atomic.Int64
				server := start(t, s, kiln.ServerConfig{}, counted(&runs))
				pass(time.Minute)
				if _, err := kiln.NewClient(s).Enqueue(ctx, task{1}); primary(err) != codeReadOnly || !strings.Contains(err.Error(), "readonly") {
					t.Errorf("Enqueue returns %v", err)
				}
				if err := server.Healthy(); err == nil || runs.Load() != 0 {
					t.Errorf("a server that can write nothing has run %d jobs and is healthy: %v", runs.Load(), err)
				}
			})
		})
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	if _, err := openPool(t, empty).Exec("create table own (x)"); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+empty+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := New(context.Background(), db); primary(err) != codeReadOnly || db.Stats().InUse != 0 {
		t.Errorf("New on a read-only database without a schema returns %v and keeps %d connections", err, db.Stats().InUse)
	}
}

// TestQueryOnlyConnection spoils the writer's connection; the store takes another.
func TestQueryOnlyConnection(t *testing.T) {
	s := newStore(t, newPool(t))
	pragma(t, s, "query_only = 1")
	if _, err := insertOne(s, "a"); err != nil && primary(err) != codeReadOnly {
		t.Errorf("the first insert returns %v", err)
	}
	before, err := s.Counts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := insertOne(s, "a"); err != nil {
		t.Errorf("the second insert returns %v", err)
	}
	checked(t, s, before.Enqueued+1)
}

// pragma sets something on the writer's connection.
func pragma(t *testing.T, s *Store, text string) {
	t.Helper()
	err := s.do(context.Background(), func(w *work) error {
		_, err := w.db.ExecContext(w.ctx, "pragma "+text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pages is how many pages the database has.
func pages(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.db.QueryRow("pragma page_count").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFull fills the database while a server runs. What does not fit is refused, whatever was acknowledged stays, results
// that do not fit wait, and everything goes on when there is room.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := newStore(t, openPool(t, path))
		var runs atomic.Int64
		server := start(t, s, kiln.ServerConfig{}, counted(&runs))
		running := enqueue(t, s, -10)
		pass(time.Second)
		pragma(t, s, "max_page_count = 150")
		client := kiln.NewClient(s)
		var kept []int64
		for {
			id, err := client.Enqueue(ctx, large{strings.Repeat("x", 2000)}, kiln.Queue("unserved"))
			if err != nil {
				if primary(err) != codeFull || errors.Is(err, driver.ErrUnknown) {
					t.Errorf("Enqueue on a full database returns %v", err)
				}
				break
			}
			if kept = append(kept, id); len(kept) > 1000 {
				t.Fatal("the database does not get full")
			}
		}
		if n := pages(t, s); n > 150 || len(kept) == 0 {
			t.Errorf("%d pages after %d jobs", n, len(kept))
		}
		pragma(t, s, "max_page_count = 1") // SQLite makes it what the database has: not one page more
		for range 20 {
			if _, err := client.Enqueue(ctx, large{strings.Repeat("x", 20_000)}, kiln.Queue("unserved")); primary(err) != codeFull {
				t.Errorf("Enqueue on a full database returns %v", err)
			}
			pass(time.Second)
		}
		if err := s.Check(ctx); err != nil {
			t.Error(err)
		}
		pragma(t, s, "max_page_count = 1000000")
		pass(10 * time.Second)
		if err := server.Healthy(); err != nil {
			t.Errorf("with room again: %v", err)
		}
		succeeded(t, s, running, enqueued(t, s))
		if n := runs.Load(); n != 2 {
			t.Errorf("2 jobs ran %d times", n)
		}
		checked(t, s, int64(len(kept)))
	})
}

// enqueued runs one more job and returns its id.
func enqueued(t *testing.T, s *Store) int64 {
	t.Helper()
	id := enqueue(t, s, 1)
	pass(2 * time.Second)
	return id
}

type large struct{ Text string }

func (large) Kind() string { return "large" }

// TestFullResults refuses every page that the server's writes need, claims and results included, for longer than results
// may wait.
func TestFullResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		db := openHookedPool(t, path)
		s := newStore(t, db.DB)
		var runs atomic.Int64
		server := start(t, s, kiln.ServerConfig{}, counted(&runs))
		running := enqueue(t, s, -10)
		pass(time.Second)
		db.set(func(query string) error {
			if strings.Contains(query, "insert into kiln_done") || strings.Contains(query, "insert into kiln_lease") {
				return full{}
			}
			return nil
		})
		waiting := enqueue(t, s, 1)
		pass(50 * time.Second)
		if err := server.Healthy(); err == nil || !strings.Contains(err.Error(), "results wait") {
			t.Errorf("while a result waits for 40 seconds Healthy returns %v", err)
		}
		db.set(nil)
		pass(10 * time.Second)
		if err := server.Healthy(); err != nil {
			t.Errorf("with room again: %v", err)
		}
		succeeded(t, s, running, waiting)
		if n := runs.Load(); n != 2 {
			t.Errorf("2 jobs ran %d times", n)
		}
	})
}

// TestGoneUnderAServer takes the file away from a running server. Within a heartbeat it claims nothing more and says why.
func TestGoneUnderAServer(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"replaced": func(t *testing.T, path string) {
			other := filepath.Join(filepath.Dir(path), "other.db")
			newStore(t, openPool(t, other)).Close()
			if err := os.Rename(other, path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			synctest.Test(t, func(t *testing.T) {
				db := openHookedPool(t, path)
				s := newStore(t, db.DB)
				var runs atomic.Int64
				server := start(t, s, kiln.ServerConfig{}, counted(&runs))
				enqueue(t, s, 1, kiln.Delay(20*time.Second))
				pass(10 * time.Second)
				take(t, path)
				pass(5*time.Second + 10*time.Millisecond) // a heartbeat interval
				if err := server.Healthy(); !errors.Is(err, driver.ErrGone) || !strings.Contains(err.Error(), path) {
					t.Errorf("Healthy returns %v", err)
				}
				if _, err := kiln.NewClient(s).Enqueue(context.Background(), task{2}); !errors.Is(err, driver.ErrGone) {
					t.Errorf("Enqueue returns %v", err)
				}
				claims := 0
				db.set(func(query string) error {
					if strings.Contains(query, "kiln_ready") {
						claims++
					}
					return nil
				})
				pass(time.Minute)
				db.set(nil)
				if claims != 0 || runs.Load() != 0 {
					t.Errorf("afterwards the server makes %d statements about ready jobs and runs %d", claims, runs.Load())
				}
				if err := server.Healthy(); !errors.Is(err, driver.ErrGone) {
					t.Errorf("a minute later Healthy returns %v", err)
				}
			})
		})
	}
}
