package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// Of callers that enqueue one key at once one inserts, and all get its id.
func TestCaseB031(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for round := range 20 {
			var wg sync.WaitGroup
			var mu sync.Mutex
			ids := map[int64]bool{}
			for range 200 {
				wg.Go(func() {
					id := r.enqueue(kiln.Unique{Key: fmt.Sprint(round)})
					mu.Lock()
					defer mu.Unlock()
					ids[id] = true
				})
			}
			wg.Wait()
			if len(ids) != 1 {
				t.Errorf("round %d: %d jobs", round, len(ids))
			}
		}
	})
}

// An open transaction in memory holds the keys that it took: a second enqueue is a duplicate of its job until it ends, and never a second
// job. A database waits for the transaction's fate instead, see the case of the same number in sqlitestore.
func TestCaseB032(t *testing.T) {
	for _, commit := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *rig) {
			tx := r.mem.Begin()
			first, err := r.client.EnqueueTx(t.Context(), tx, task{1}, kiln.Unique{Key: "k"})
			if err != nil {
				t.Fatal(err)
			}
			if own, err := r.client.EnqueueTx(t.Context(), tx, task{2}, kiln.Unique{Key: "k"}); err != nil || own != first {
				t.Errorf("inside of the transaction: job %d, %v", own, err)
			}
			for _, opt := range []kiln.Unique{{Key: "k"}, {Key: "k", Replace: true}} {
				if id := r.enqueue(opt); id != first {
					t.Errorf("beside the open transaction: job %d, want a duplicate of %d", id, first)
				}
			}
			if commit {
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if id := r.enqueue(kiln.Unique{Key: "k"}); err != nil || (id == first) != commit {
				t.Errorf("committed %t: the next caller got job %d, the first %d, %v", commit, id, first, err)
			} else {
				r.want(id, kiln.Enqueued)
			}
		})
	}
}

// Every end of a job frees its key, unusual ones too.
func TestCaseB034(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		mode := make(chan error, 1)
		r.handle(func(context.Context, *kiln.Job[task]) error { return <-mode })
		s := r.start(kiln.ServerConfig{})
		last := int64(0)
		next := func(what string, opts ...kiln.InsertOption) int64 {
			t.Helper()
			id := r.enqueue(append(opts, kiln.Unique{Key: "k"})...)
			if id == last {
				t.Fatalf("after a job that was %s its key is still taken", what)
			}
			last = id
			return id
		}
		next("nothing")
		mode <- nil
		pass(time.Second)
		next("successful", kiln.MaxAttempts(1))
		mode <- errors.New("no")
		pass(time.Second)
		r.want(last, kiln.Failed, "exhausted")
		next("failed")
		mode <- kiln.Permanent(errors.New("no"))
		pass(time.Second)
		next("failed for good", kiln.Delay(time.Hour))
		if _, err := r.client.Delete(ctx, last); err != nil {
			t.Fatal(err)
		}
		next("deleted while it was scheduled", kiln.Deadline(time.Now().Add(time.Second)), kiln.Delay(time.Hour))
		pass(time.Minute)
		r.want(last, kiln.Deleted, "deadline")
		next("late")
		pass(time.Second)
		if _, err := r.client.Delete(ctx, last); err != nil {
			t.Fatal(err)
		}
		mode <- errors.New("no")
		pass(time.Second)
		r.want(last, kiln.Deleted, "canceled")
		s.end()
		// Its server dies, and nobody tries again.
		next("canceled", kiln.MaxAttempts(1))
		if jobs, err := r.mem.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "gone"}); err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		r.start(bystander)
		pass(2 * time.Minute)
		r.want(last, kiln.Failed, "orphaned")
		next("orphaned")
	})
}

// Explicit keys are compared as they are; keys from args are those of the encoded args.
func TestCaseB035(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		type nested struct{ A, B int }
		ids := map[int64]bool{}
		for _, args := range []any{nested{1, 2}, nested{2, 1}, map[string]int{"A": 1}, map[string]int{"B": 1}, map[string]nested{"x": {1, 2}}, map[string]nested{"x": {1, 3}}} {
			for range 2 {
				id, err := r.client.Enqueue(t.Context(), anyArgs{args}, kiln.Unique{})
				if err != nil {
					t.Fatal(err)
				}
				ids[id] = true
			}
		}
		// Maps are encoded in the order of their keys.
		for range 20 {
			id, _ := r.client.Enqueue(t.Context(), anyArgs{map[string]int{"z": 1, "a": 2, "m": 3}}, kiln.Unique{})
			ids[id] = true
		}
		if len(ids) != 7 {
			t.Errorf("%d jobs of 7 different args", len(ids))
		}
	})
}

// anyArgs are args of one kind with any content.
type anyArgs struct{ V any }

func (anyArgs) Kind() string { return "any" }

// Debounced at a high rate, a job never runs with data that is not the latest, and runs once after the last enqueue.
func TestCaseB037(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var ran []int
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			ran = append(ran, j.Args.N)
			return nil
		})
		r.start(kiln.ServerConfig{})
		n := 0
		for range 20 * 50 {
			for range 10 {
				n++
				if _, err := r.client.Enqueue(t.Context(), task{n}, kiln.Unique{Key: "k", Debounce: 3 * time.Second}); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(20 * time.Millisecond)
		}
		pass(10 * time.Second)
		if len(ran) != 1 || ran[0] != n {
			t.Errorf("ran with %v, want %d alone", ran, n)
		}
		// Enqueued at the very moment when the holder becomes due.
		for range 50 {
			n++
			first := n
			r.client.Enqueue(t.Context(), task{n}, kiln.Unique{Key: "k", Debounce: time.Second})
			<-time.After(time.Second)
			n++
			r.client.Enqueue(t.Context(), task{n}, kiln.Unique{Key: "k", Debounce: time.Second})
			pass(5 * time.Second)
			if last := ran[len(ran)-1]; last != n && last != first {
				t.Fatalf("the last run has %d, want %d", last, n)
			}
		}
	})
}

// Keys are bytes.
func TestCaseB038(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ids := map[int64]bool{}
		names := []string{"A", "a", "é", "e\u0301", "e", "ß", "ss", "k", "k ", "k\t", "Ａ", "I", "ı", "i", "İ"}
		for _, name := range names {
			ids[r.enqueue(kiln.Unique{Key: name}, kiln.Limit{Key: name}, kiln.Tags{name})] = true
		}
		limits, err := r.mem.Limits(t.Context(), "", 100)
		if len(ids) != len(names) || len(limits) != len(names) || err != nil {
			t.Errorf("%d keys are %d unique and %d limit keys, %v", len(names), len(ids), len(limits), err)
		}
		for _, name := range names {
			page, err := r.client.List(t.Context(), kiln.JobQuery{State: kiln.Enqueued, Tag: name})
			if err != nil || len(page.Records) != 1 {
				t.Errorf("%d jobs with the tag %q, %v", len(page.Records), name, err)
			}
		}
	})
}

// crowd counts how many jobs of a key run at once.
type crowd struct {
	mu        sync.Mutex
	now, most int
}

func (c *crowd) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.most = max(c.most, c.now)
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// The bound holds for as long as a job runs, however long that is and whatever its server goes through.
func TestCaseB043(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var c crowd
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			c.enter()
			defer c.leave()
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Duration(1+j.Args.N%600) * time.Second):
			}
			if j.Args.N%7 == 0 && j.Attempt == 1 {
				return errors.New("again")
			}
			return nil
		}, kiln.Constant(0))
		random := rand.New(rand.NewPCG(1, 2))
		for n := range 60 {
			r.client.Enqueue(t.Context(), task{n * 37}, kiln.Limit{Key: "k", Max: 2})
		}
		servers := []*server{r.start(kiln.ServerConfig{}), r.start(kiln.ServerConfig{}), r.start(kiln.ServerConfig{})}
		for range 200 {
			pass(time.Duration(random.IntN(120)) * time.Second)
			if n := random.IntN(len(servers)); random.IntN(4) == 0 {
				servers[n].end()
				servers[n] = r.start(kiln.ServerConfig{})
			}
			if _, err := r.client.Requeue(t.Context(), int64(1+random.IntN(60))); err != nil {
				t.Fatal(err)
			}
		}
		if c.most != 2 {
			t.Errorf("%d jobs ran at once, want 2", c.most)
		}
	})
}

// An enqueue that races with the end of the job that holds the slot is never left waiting.
func TestCaseB044(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error {
			<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
			return nil
		})
		r.start(kiln.ServerConfig{DisableMaintenance: true})
		for n := range 2000 {
			r.enqueue(kiln.Limit{Key: fmt.Sprint(n % 10)})
			<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
		}
		pass(time.Second)
		c, err := r.mem.Counts(t.Context())
		if err != nil || c.Succeeded != 2000 {
			t.Errorf("%+v, %v; no sweep has helped", c, err)
		}
	})
}

// A limit costs no time while there is work that it allows.
func TestCaseB046(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error {
			<-time.After(100 * time.Millisecond)
			return nil
		})
		for range 4 {
			r.start(kiln.ServerConfig{Queues: map[string]int{"default": 10}})
		}
		took := func(limit func(n int) kiln.Limit) time.Duration {
			start := time.Now()
			specs := make([]kiln.Spec, 4000)
			for i := range specs {
				specs[i] = kiln.Spec{Args: task{i}, Options: []kiln.InsertOption{limit(i)}}
			}
			if _, err := r.client.EnqueueMany(t.Context(), specs...); err != nil {
				t.Fatal(err)
			}
			for {
				<-time.After(10 * time.Millisecond)
				if c, err := r.mem.Counts(t.Context()); err != nil || c.Enqueued+c.Processing+c.Throttled == 0 {
					return time.Since(start)
				}
			}
		}
		free := took(func(n int) kiln.Limit { return kiln.Limit{Key: "free", Max: 10_000} })
		bound := took(func(n int) kiln.Limit { return kiln.Limit{Key: "bound", Max: 40} })
		many := took(func(n int) kiln.Limit { return kiln.Limit{Key: fmt.Sprint("many ", n%1000)} })
		if bound > free*115/100 || many > free*115/100 {
			t.Errorf("without a limit %s, with Max 40 %s, with 1,000 keys %s", free, bound, many)
		}
	})
}

// Jobs over the rate wait without running: one attempt each, at the pace of the rate.
func TestCaseB047(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ran := make(chan *kiln.Job[task], 20_000)
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			ran <- j
			return nil
		})
		specs := make([]kiln.Spec, 10_000)
		for i := range specs {
			specs[i] = kiln.Spec{Args: task{i}, Options: []kiln.InsertOption{kiln.Limit{Rate: 100, Burst: 1}}}
		}
		s := r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		start := time.Now()
		if _, err := r.client.EnqueueMany(t.Context(), specs...); err != nil {
			t.Fatal(err)
		}
		for len(ran) < len(specs) && time.Since(start) < 200*time.Second {
			<-time.After(time.Second / 10)
		}
		took := time.Since(start)
		if took < 98*time.Second || took > 105*time.Second || len(ran) != len(specs) || s.Stats().Claimed != 10_000 {
			t.Errorf("%d jobs in %s, %d claims", len(ran), took, s.Stats().Claimed)
		}
		for i := range len(ran) {
			if j := <-ran; j.Args.N != i || j.Attempt != 1 {
				t.Fatalf("job %d ran at place %d, in attempt %d", j.Args.N, i, j.Attempt)
			}
		}
	})
}
