package kiln_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/internal/faultstore"
	"github.com/kilnjobs/kiln/memstore"
)

// Starting, stopping and closing in any order, from many goroutines, never panics and never hangs.
func TestCaseB028(t *testing.T) {
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 28))
			mem := memstore.New()
			defer mem.Close()
			c := kiln.NewClient(mem)
			m := kiln.NewMux()
			kiln.Handle(m, block(nil, nil))
			s, err := kiln.NewServer(c, m, kiln.ServerConfig{ShutdownTimeout: time.Second, KillGrace: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var done sync.WaitGroup
			var refused atomic.Int32
			steps := []func(){cancel, cancel, mem.Close, func() { _, _ = c.Enqueue(ctx, task{}) }, func() { _, _ = s.Stats(), s.Healthy() }}
			for range 2 {
				steps = append(steps, func() {
					if s.Run(ctx) != nil {
						refused.Add(1)
					}
				})
			}
			rng.Shuffle(len(steps), func(i, k int) { steps[i], steps[k] = steps[k], steps[i] })
			for _, step := range steps {
				done.Go(step)
				if rng.IntN(2) == 0 {
					pass(time.Duration(rng.IntN(2000)) * time.Millisecond)
				}
			}
			done.Wait()
			if refused.Load() != 1 {
				t.Errorf("seed %d: %d of 2 runs were refused", seed, refused.Load())
			}
		})
	}
}

// Deleting, requeueing, finishing, failing and snoozing meet in every order, and each job ends in one state that all agree on.
func TestCaseB061(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		rng := rand.New(rand.NewPCG(61, 61))
		results := []error{nil, errors.New("x"), kiln.Snooze(time.Millisecond), kiln.Cancel(nil), kiln.Permanent(errors.New("no"))}
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			<-time.After(time.Duration(j.ID%9) * time.Millisecond)
			if j.CreatedAt.Add(10 * time.Second).Before(time.Now()) {
				return nil
			}
			return results[(int(j.ID)+j.Attempt)%len(results)]
		}, kiln.Constant(time.Millisecond))
		s := r.start(kiln.ServerConfig{})
		r.start(kiln.ServerConfig{})
		for range 1000 {
			r.enqueue()
			id := 1 + rng.Int64N(40)
			switch rng.IntN(3) {
			case 0:
				r.client.Delete(t.Context(), id)
			case 1:
				r.client.Requeue(t.Context(), id)
			}
			if rng.IntN(4) == 0 {
				pass(time.Millisecond)
			}
		}
		pass(5 * time.Minute)
		n, err := r.mem.Counts(t.Context())
		if live := n.Scheduled + n.Enqueued + n.Processing; err != nil || live != 0 || s.Stats().Pending != 0 {
			t.Errorf("%d jobs are still live: %+v, %v", live, n, err)
		}
	})
}

// A server that shuts down for longer than DeadAfter is not taken for dead: its heartbeats go on until its last result.
func TestCaseB062(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		started := make(chan int64, 1)
		var runs atomic.Int32
		r.handle(func(context.Context, *kiln.Job[task]) error {
			runs.Add(1)
			started <- 0
			<-time.After(90 * time.Second)
			return nil
		})
		leads := r.start(kiln.ServerConfig{})
		s := r.start(kiln.ServerConfig{Queues: map[string]int{"mine": 1}, ShutdownTimeout: 2 * time.Minute})
		pass(2 * time.Minute)
		id := r.enqueue(kiln.Queue("mine"))
		<-started
		s.end()
		if rec := r.want(id, kiln.Succeeded); rec.Attempt != 1 || runs.Load() != 1 || !leads.Stats().Leader {
			t.Errorf("attempt %d, %d runs", rec.Attempt, runs.Load())
		}
	})
}

// Rolling restarts hand a long job on at once and cost it no attempt and no checkpoint.
func TestCaseB064(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			if context.Cause(ctx) != nil {
				t.Error("started with an ended context")
			}
			minutes := 0
			if _, err := j.Param("minutes", &minutes); err != nil {
				return err
			}
			for ; minutes < 45; minutes++ {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(time.Minute):
				}
				if err := j.SetParam(ctx, "minutes", minutes+1); err != nil {
					return err
				}
			}
			return nil
		}, kiln.NoTimeout)
		id := r.enqueue(kiln.MaxAttempts(1))
		s := r.start(kiln.ServerConfig{ShutdownTimeout: time.Second})
		for range 15 {
			next := r.start(kiln.ServerConfig{ShutdownTimeout: time.Second})
			pass(150 * time.Second)
			s.end()
			s = next
			pass(100 * time.Millisecond)
			if rec := r.job(id); rec.State != kiln.Processing || rec.Attempt != 1 {
				t.Fatalf("after a restart the job is %s with attempt %d", rec.State, rec.Attempt)
			}
		}
		pass(20 * time.Minute)
		r.job(id)
		if rec := r.job(id); rec.State != kiln.Succeeded || rec.Attempt != 1 || rec.Meta["minutes"] != "45" {
			t.Errorf("%s, attempt %d, meta %v", rec.State, rec.Attempt, rec.Meta)
		}
	})
}

// A claim whose answer is lost while the server shuts down is given back before it leaves, at no cost of an attempt.
func TestCaseB065(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		cut := make(chan struct{})
		lost := faultstore.Fault{After: faultstore.Step{Until: cut, Err: errDown}}
		f := faultstore.Wrap(r.mem, faultstore.On("Claim", faultstore.Nth(1, lost)))
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		id := r.enqueue(kiln.MaxAttempts(1))
		s := r.startOn(kiln.NewClient(f), kiln.ServerConfig{})
		pass(time.Second)
		s.stop()
		pass(time.Second)
		close(cut)
		<-s.done
		rec := r.job(id)
		if rec.State != kiln.Enqueued || rec.Attempt != 0 {
			t.Fatalf("the server left the job %s with attempt %d", rec.State, rec.Attempt)
		}
		r.start(kiln.ServerConfig{})
		pass(time.Second)
		r.want(id, kiln.Succeeded, "lost")
	})
}

// A leader whose duties fail at first does them all within half a minute.
func TestCaseB091(t *testing.T) {
	for _, duty := range []string{"Orphans", "Sweep", "Prune", "Promote"} {
		t.Run(duty, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				f := r.faulty(faultstore.On(duty, func(c faultstore.Call) faultstore.Fault {
					if c.Number <= 5 {
						return faultstore.Fail(errDown)
					}
					return faultstore.Fault{}
				}))
				r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
				id := r.enqueue()
				r.seize("gone", 1, false)
				r.start(kiln.ServerConfig{})
				pass(30 * time.Second)
				for _, m := range []string{"Orphans", "Sweep", "Prune", "Promote"} {
					if n := f.Calls(m); n < 1 || m == duty && n < 6 {
						t.Errorf("%s was called %d times", m, n)
					}
				}
				r.want(id, kiln.Succeeded, "orphaned")
			})
		})
	}
}
