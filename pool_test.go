package kiln_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// TestWorkersAreABound pins that a pool never runs more than its workers.
func TestWorkersAreABound(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var now, most atomic.Int32
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-time.After(time.Duration(j.ID%7) * time.Millisecond)
			now.Add(-1)
			return nil
		})
		for range 3000 {
			r.enqueue()
		}
		s := r.start(kiln.ServerConfig{Queues: map[string]int{"default": 5}})
		pass(time.Minute)
		if most.Load() != 5 || s.Stats().Succeeded != 3000 {
			t.Errorf("most at once %d, want 5; stats %+v", most.Load(), s.Stats())
		}
	})
}

// TestStartOrder pins that jobs start in priority and id order, as far as one worker can show it.
func TestStartOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var order []int16
		r.handle(func(_ context.Context, j *kiln.Job[task]) error { order = append(order, j.Priority); return nil })
		for _, p := range []int{0, 5, -5, 5, 0, 9} {
			r.enqueue(kiln.Priority(p))
		}
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		pass(time.Second)
		if got := fmt.Sprint(order); got != "[9 5 5 0 0 -5]" {
			t.Errorf("order %s", got)
		}
	})
}

// TestPoolsAreCopied pins that what a caller does to a configuration after NewServer, which checked it, changes nothing.
func TestPoolsAreCopied(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		pool := kiln.Pool{Queues: []string{"default", "b"}, Workers: 1, Weights: map[string]int{"b": 2}}
		s, err := kiln.NewServer(r.client, r.mux, kiln.ServerConfig{Pools: []kiln.Pool{pool}})
		if err != nil {
			t.Fatal(err)
		}
		pool.Queues[0], pool.Weights["b"] = "elsewhere", -1
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		id, other := r.enqueue(), r.enqueue(kiln.Queue("b"))
		pass(time.Second)
		r.want(id, kiln.Succeeded)
		r.want(other, kiln.Succeeded)
		cancel()
		<-done
	})
}

func TestStrictQueueOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var order []string
		r.handle(func(_ context.Context, j *kiln.Job[task]) error { order = append(order, j.Queue); return nil })
		for range 3 {
			r.enqueue(kiln.Queue("low"))
			r.enqueue(kiln.Queue("high"))
		}
		r.start(kiln.ServerConfig{Pools: []kiln.Pool{{Queues: []string{"high", "low"}, Workers: 1}}})
		pass(time.Second)
		if got := fmt.Sprint(order); got != "[high high high low low low]" {
			t.Errorf("order %s", got)
		}
	})
}

// TestWeights pins each queue's share of the claims, with few and with many workers, and that an idle queue lends its share.
func TestWeights(t *testing.T) {
	weights := map[string]int{"a": 6, "b": 3}
	for _, workers := range []int{1, 2, 20} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				const n = 1000
				var mu sync.Mutex
				ran := map[string]int{}
				total := 0
				r.handle(func(_ context.Context, j *kiln.Job[task]) error {
					mu.Lock()
					if total < n {
						ran[j.Queue]++
						total++
					}
					mu.Unlock()
					<-time.After(60 * time.Millisecond) // slow enough that nothing is taken ahead
					return nil
				})
				for _, q := range []string{"a", "b", "c"} {
					specs := make([]kiln.Spec, n)
					for i := range specs {
						specs[i] = kiln.Spec{Args: task{}, Options: []kiln.InsertOption{kiln.Queue(q)}}
					}
					if _, err := r.client.EnqueueMany(t.Context(), specs...); err != nil {
						t.Fatal(err)
					}
				}
				r.start(kiln.ServerConfig{Pools: []kiln.Pool{{Queues: []string{"a", "b", "c"}, Workers: workers, Weights: weights}}})
				pass(time.Duration(n/workers+10) * 70 * time.Millisecond)
				for q, share := range map[string]float64{"a": 0.6, "b": 0.3, "c": 0.1} {
					if got := float64(ran[q]) / n; math.Abs(got-share) > share*0.1 {
						t.Errorf("queue %s got %.3f of the claims, want %.1f ± 10 %%", q, got, share)
					}
				}
			})
		})
	}
}

func TestIdleQueueLendsItsShare(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var order []string
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			mu.Lock()
			order = append(order, j.Queue)
			mu.Unlock()
			<-time.After(100 * time.Millisecond)
			return nil
		})
		r.on(r.mem)
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			mu.Lock()
			order = append(order, j.Queue)
			mu.Unlock()
			<-time.After(100 * time.Millisecond)
			return nil
		})
		for range 60 {
			r.enqueue(kiln.Queue("small"))
		}
		s := r.start(kiln.ServerConfig{Pools: []kiln.Pool{{Queues: []string{"big", "small"}, Workers: 1, Weights: map[string]int{"big": 9}}}})
		pass(2 * time.Second)
		if n := s.Stats().Succeeded; n < 19 {
			t.Errorf("%d of 20 jobs ran although the other queue is empty", n)
		}
		// The big queue wakes up and gets its share again, but nothing for its idle time.
		for range 20 {
			r.enqueue(kiln.Queue("big"))
		}
		mu.Lock()
		from := len(order)
		mu.Unlock()
		pass(2 * time.Second)
		big := 0
		mu.Lock()
		for _, q := range order[from:] {
			if q == "big" {
				big++
			}
		}
		got := len(order) - from
		mu.Unlock()
		if big < got*8/10 || big == got {
			t.Errorf("the big queue got %d of %d claims, want about nine of ten", big, got)
		}
	})
}

// TestLookAhead pins how a pool takes jobs ahead: only while handlers are fast, and what finds no worker within 250 ms goes
// back without a trace.
func TestLookAhead(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		hold := make(chan struct{})
		var slow atomic.Bool
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			if slow.Load() {
				<-hold
				return nil
			}
			<-time.After(time.Millisecond)
			if j.Args.N == 299 {
				slow.Store(true)
			}
			return nil
		})
		specs := make([]kiln.Spec, 1000)
		for i := range specs {
			specs[i].Args = task{i}
		}
		if _, err := r.client.EnqueueMany(t.Context(), specs...); err != nil {
			t.Fatal(err)
		}
		s := r.start(kiln.ServerConfig{Queues: map[string]int{"default": 4}})
		pass(100 * time.Millisecond)
		st := s.Stats()
		n, _ := r.mem.Counts(t.Context())
		if ahead := n.Processing - 4; ahead < 50 || ahead > 200 || st.Running != 4 {
			t.Errorf("%d jobs taken ahead while the pool finished 200 in 50 ms; running %d", ahead, st.Running)
		}
		pass(300 * time.Millisecond)
		n, _ = r.mem.Counts(t.Context())
		if n.Processing != 4 {
			t.Errorf("%d jobs are processing after the give-back, want the 4 that run", n.Processing)
		}
		page, err := r.client.List(t.Context(), kiln.JobQuery{State: kiln.Enqueued, Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		returned := 0
		for _, rec := range page.Records {
			if rec.Attempt != 0 || len(rec.History) != 0 {
				t.Errorf("job %d was given back with attempt %d and history %+v", rec.ID, rec.Attempt, rec.History)
			}
			if rec.Claim > 0 {
				returned++
			}
		}
		if returned == 0 {
			t.Error("no job was given back")
		}
		close(hold)
		pass(time.Second)
		if st := s.Stats(); st.Succeeded != 1000 || st.Retried != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestSlowHandlersTakeNothingAhead(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { <-time.After(time.Second); return nil })
		for range 50 {
			r.enqueue()
		}
		s := r.start(kiln.ServerConfig{Queues: map[string]int{"default": 3}})
		for range 10 {
			pass(990 * time.Millisecond)
			n, _ := r.mem.Counts(t.Context())
			if n.Processing > 3 || s.Stats().Claimed > s.Stats().Succeeded+3 {
				t.Fatalf("%d jobs are processing for 3 workers; stats %+v", n.Processing, s.Stats())
			}
		}
	})
}

// watched records what claims ask for.
type watched struct {
	*faultstore.Store
	mu    sync.Mutex
	asked []int
}

func (w *watched) Claim(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
	w.mu.Lock()
	w.asked = append(w.asked, q.Limit)
	w.mu.Unlock()
	return w.Store.Claim(ctx, q)
}

func TestFetchBatch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		w := &watched{Store: faultstore.Wrap(r.mem, nil)}
		r.on(w)
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		for range 500 {
			r.enqueue()
		}
		s := r.start(kiln.ServerConfig{Queues: map[string]int{"default": 20}, FetchBatch: 7})
		pass(10 * time.Second)
		for _, n := range w.asked {
			if n > 7 {
				t.Fatalf("a claim asked for %d jobs, more than FetchBatch 7", n)
			}
		}
		if s.Stats().Succeeded != 500 {
			t.Errorf("stats %+v", s.Stats())
		}
	})
}

// TestFetchCooldown pins that claims that find little keep their distance, however many hints come.
func TestFetchCooldown(t *testing.T) {
	for name, c := range map[string]struct {
		cooldown time.Duration
		most     int
	}{"on": {100 * time.Millisecond, 13}, "off": {-1, 200}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				f := r.faulty(nil)
				r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
				r.start(kiln.ServerConfig{FetchCooldown: c.cooldown, Queues: map[string]int{"default": 50}})
				pass(time.Second)
				base := f.Calls("Claim")
				for range 100 {
					r.enqueue()
					pass(10 * time.Millisecond)
				}
				pass(time.Second)
				if n := f.Calls("Claim") - base; n > c.most || c.most > 100 && n < 100 {
					t.Errorf("%d claims for 100 jobs in a second, want at most %d", n, c.most)
				}
			})
		})
	}
}
