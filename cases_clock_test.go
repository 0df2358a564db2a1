package kiln_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/internal/faultstore"
	"github.com/kilnjobs/kiln/memstore"
)

// A server that stood still for longer than DeadAfter finds that its jobs went to others: they were rescued once, its own
// results are refused, it comes back without a burst of calls.
func TestCaseB016(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := faultstore.Wrap(r.mem, nil)
		var ends atomic.Int32
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			if j.Attempt == 1 {
				<-time.After(100 * time.Second) // it stands still too, and hears no end of its context
			}
			ends.Add(1)
			return nil
		})
		frozen := r.startOn(kiln.NewClient(f), kiln.ServerConfig{})
		var ids []int64
		for range 5 {
			ids = append(ids, r.enqueue())
		}
		pass(2 * time.Second)
		other := r.start(kiln.ServerConfig{})
		pass(8 * time.Second)
		awake := make(chan struct{})
		f.SetRule(faultstore.Always(faultstore.Hang(awake)))
		pass(90 * time.Second)
		calls := f.Calls("Claim") + f.Calls("Finish") + f.Calls("Heartbeat") + f.Calls("Promote")
		f.SetRule(nil)
		close(awake)
		pass(10 * time.Second)
		if n := f.Calls("Claim") + f.Calls("Finish") + f.Calls("Heartbeat") + f.Calls("Promote") - calls; n > 60 {
			t.Errorf("%d calls in the ten seconds after it woke up", n)
		}
		for _, id := range ids {
			r.want(id, kiln.Succeeded, "orphaned")
		}
		if a, b := frozen.Stats(), other.Stats(); a.Succeeded != 0 || a.Stale != 5 || b.Succeeded != 5 || ends.Load() != 10 || a.Fenced {
			t.Errorf("frozen %+v, other %+v, %d runs", a, b, ends.Load())
		}
	})
}

// Delays and liveness go by the store's clock alone, however far off a server's clock is.
func TestCaseB017(t *testing.T) {
	for _, skew := range []time.Duration{-2 * time.Minute, 0, 2 * time.Minute, 24 * time.Hour} {
		t.Run(fmt.Sprint(skew), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				mem := memstore.New(memstore.Clock(func() time.Time { return time.Now().Add(skew) }))
				defer mem.Close()
				r.mem = mem
				r.on(mem)
				var mu sync.Mutex
				var starts []time.Duration
				begin := time.Now()
				r.handle(func(_ context.Context, j *kiln.Job[task]) error {
					mu.Lock()
					defer mu.Unlock()
					starts = append(starts, time.Since(begin))
					if j.Attempt == 1 {
						return fmt.Errorf("again")
					}
					<-time.After(10 * time.Minute)
					return nil
				}, kiln.Constant(20*time.Second))
				leads, stands := r.start(kiln.ServerConfig{}), r.start(kiln.ServerConfig{})
				id := r.enqueue(kiln.Delay(10 * time.Second))
				for range 20 {
					pass(30 * time.Second)
					if !leads.Stats().Leader || stands.Stats().Leader {
						t.Fatal("the lease changed hands")
					}
				}
				pass(time.Minute)
				r.want(id, kiln.Succeeded, "retry")
				for i, want := range []time.Duration{10 * time.Second, 30 * time.Second} {
					if late := starts[i] - want; late < 0 || late > 200*time.Millisecond {
						t.Errorf("start %d was %s late", i, late)
					}
				}
			})
		})
	}
}

// Fractions of a second order jobs and never make one start early.
func TestCaseB020(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var order []int
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			order = append(order, j.Args.N)
			if early := time.Until(j.RunAt); early > 0 {
				t.Errorf("job %d started %s early", j.Args.N, early)
			}
			return nil
		})
		at := time.Now().Add(time.Minute)
		var ids []int64
		for _, us := range []int{999_000, 100_000, 0, 120_000, 999_999, 1} {
			id, err := r.client.Enqueue(t.Context(), task{us}, kiln.At(at.Add(time.Duration(us)*time.Microsecond)))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if got := r.job(ids[4]).RunAt; !got.Equal(at.Add(999_999 * time.Microsecond)) {
			t.Errorf("run time %s lost its microseconds", got)
		}
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		pass(2 * time.Minute)
		if got := fmt.Sprint(order); got != "[0 1 100000 120000 999000 999999]" {
			t.Errorf("order %s", got)
		}
	})
}
