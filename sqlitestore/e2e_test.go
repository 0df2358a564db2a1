package sqlitestore

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

type task struct{ N int }

func (task) Kind() string { return "task" }

// serve runs a server until the test ends.
func serve(t *testing.T, s *Store, handle func(ctx context.Context, j *kiln.Job[task]) error) {
	t.Helper()
	start(t, s, kiln.ServerConfig{Backoff: kiln.Constant(2 * time.Second)}, handle)
}

// start runs a server with settings of its own until the test ends, and returns it.
func start(t *testing.T, s driver.Store, cfg kiln.ServerConfig, handle func(ctx context.Context, j *kiln.Job[task]) error) *kiln.Server {
	t.Helper()
	mux := kiln.NewMux()
	kiln.Handle(mux, handle)
	server, err := kiln.NewServer(kiln.NewClient(s), mux, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returns %v", err)
		}
	})
	return server
}

// TestServers runs two servers on stores of their own on one file, in virtual time.
func TestServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		var mu sync.Mutex
		runs := map[int]int{}
		handle := func(_ context.Context, j *kiln.Job[task]) error {
			mu.Lock()
			runs[j.Args.N]++
			n := runs[j.Args.N]
			mu.Unlock()
			if j.Args.N%10 == 0 && n == 1 {
				return errors.New("once more")
			}
			return nil
		}
		a, b := newStore(t, openPool(t, path)), newStore(t, openPool(t, path))
		serve(t, a, handle)
		serve(t, b, handle)
		client := kiln.NewClient(a)
		const jobs = 300
		for i := range jobs {
			opts := []kiln.InsertOption{}
			if i%7 == 0 {
				opts = append(opts, kiln.Delay(3*time.Second))
			}
			if _, err := client.Enqueue(ctx, task{i}, opts...); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(20 * time.Second)
		synctest.Wait()
		c, err := a.Counts(ctx)
		if err != nil || c.Succeeded != jobs || c.Enqueued+c.Processing+c.Scheduled+c.Failed != 0 {
			t.Errorf("after 20 seconds the counts are %+v, %v", c, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range jobs {
			if want := 1 + map[bool]int{true: 1}[i%10 == 0]; runs[i] != want {
				t.Errorf("job %d ran %d times, want %d", i, runs[i], want)
			}
		}
		if err := a.Check(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestPickup measures, in virtual time, how soon a server starts what another process has enqueued, has delayed, and has
// enqueued in a transaction of its own.
func TestPickup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		started := make(chan time.Time, 10)
		a, b := newStore(t, openPool(t, path)), newStore(t, openPool(t, path))
		serve(t, b, func(context.Context, *kiln.Job[task]) error { started <- time.Now(); return nil })
		<-time.After(10 * time.Second) // idle by now
		client := kiln.NewClient(a)
		pickup := func(what string, due time.Time) {
			t.Helper()
			if late := (<-started).Sub(storekit.Stamp(due)); late < 0 || late > 50*time.Millisecond {
				t.Errorf("%s is started %s after it was due", what, late)
			}
		}
		now := time.Now()
		if _, err := client.Enqueue(ctx, task{1}); err != nil {
			t.Fatal(err)
		}
		pickup("a job of another process", now)
		now = time.Now()
		if _, err := client.Enqueue(ctx, task{2}, kiln.Delay(777*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		pickup("a delayed job of another process", now.Add(777*time.Millisecond))
		tx, err := a.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.EnqueueTx(ctx, a.Tx(tx), task{3}); err != nil {
			t.Fatal(err)
		}
		now = time.Now()
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		pickup("a job of a transaction", now)
	})
}

// BenchmarkServer works through no-op jobs as an application does: what the client, the engine and the store allocate in all.
func BenchmarkServer(b *testing.B) {
	s := newStore(b, newPool(b))
	c := kiln.NewClient(s)
	mux := kiln.NewMux()
	ran := make(chan struct{}, 1000)
	kiln.Handle(mux, func(context.Context, *kiln.Job[task]) error { ran <- struct{}{}; return nil })
	server, err := kiln.NewServer(c, mux, kiln.ServerConfig{Queues: map[string]int{"default": 100}})
	if err != nil {
		b.Fatal(err)
	}
	specs := make([]kiln.Spec, b.N)
	for i := range specs {
		specs[i].Args = task{i}
	}
	if _, err := c.EnqueueMany(b.Context(), specs...); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { done <- server.Run(ctx) }()
	for range b.N {
		<-ran
	}
	b.StopTimer()
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
