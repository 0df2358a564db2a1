package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// No attempt number and no backoff makes a wait negative or a run time that a store cannot keep.
func TestCaseB022(t *testing.T) {
	for _, b := range []kiln.Backoff{kiln.Exponential(2*time.Second, time.Hour), kiln.Exponential(math.MaxInt64, math.MaxInt64), kiln.Delays()} {
		for attempt := 1; attempt < 100_000; attempt++ {
			if d := b(attempt, nil); d <= 0 {
				t.Fatalf("attempt %d waits %s", attempt, d)
			}
		}
		if b(math.MaxInt32, nil) <= 0 {
			t.Error("the last attempt number there is waits for nothing")
		}
	}
	nan := math.NaN()
	for name, d := range map[string]time.Duration{"negative": -time.Hour, "least": math.MinInt64, "zero": 0, "most": math.MaxInt64, "NaN": time.Duration(nan)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.handle(func(context.Context, *kiln.Job[task]) error { return errors.New("x") }, kiln.Constant(d))
				s := r.start(kiln.ServerConfig{})
				id := r.enqueue(kiln.MaxAttempts(3))
				pass(time.Second)
				rec := r.job(id)
				if waits := d > 0; waits != (rec.State == kiln.Scheduled) || !waits && rec.State != kiln.Failed {
					t.Errorf("%s: %s", d, rec.State)
				}
				if year := rec.RunAt.Year(); year < 2000 || year > 9999 || s.Stats().Pending != 0 {
					t.Errorf("run time %s, stats %+v", rec.RunAt, s.Stats())
				}
			})
		})
	}
}

// Args that do not decode cost their own job only, which fails at once and shows them.
func TestCaseB023(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		s := r.start(kiln.ServerConfig{})
		for args, state := range map[string]kiln.State{`{"N":"text"}`: kiln.Failed, `[1]`: kiln.Failed, `"x"`: kiln.Failed, `null`: kiln.Succeeded, `{"N":1e999}`: kiln.Failed} {
			out, err := r.store.Insert(t.Context(), []driver.InsertParams{{Kind: "task", Queue: "default", Args: []byte(args), MaxAttempts: 5}})
			if err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
			if rec := r.job(out[0].ID); rec.State != state || string(rec.Args) != args || rec.Attempt != 1 {
				t.Errorf("args %s: %s after attempt %d, args now %s", args, rec.State, rec.Attempt, rec.Args)
			}
		}
		id := r.enqueue()
		pass(time.Second)
		r.want(id, kiln.Succeeded)
		if err := s.Healthy(); err != nil {
			t.Error(err)
		}
	})
}

// A job fails when its attempts are used up or it says so, and MaxAttempts changes by no restart and no rescue.
func TestCaseB025(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if j.ID%10 == 0 {
				return kiln.Permanent(errors.New("no"))
			}
			<-time.After(time.Duration(j.ID%5) * time.Second)
			return errors.New("x")
		}, kiln.Constant(time.Second))
		var ids []int64
		for n := range 60 {
			ids = append(ids, r.enqueue(kiln.MaxAttempts(1+n%7)))
		}
		for n := range 8 {
			r.seize(fmt.Sprintf("killed-%d", n), 1, false)
			s := r.start(kiln.ServerConfig{ShutdownTimeout: time.Second})
			pass(5 * time.Second)
			s.end()
		}
		r.start(kiln.ServerConfig{})
		pass(10 * time.Minute)
		for n, id := range ids {
			rec := r.job(id)
			last := rec.History[len(rec.History)-1].Reason
			if rec.State != kiln.Failed || rec.MaxAttempts != 1+n%7 || rec.Attempt != rec.MaxAttempts && last != "permanent" {
				t.Errorf("job %d: %s after attempt %d of %d, %s", id, rec.State, rec.Attempt, rec.MaxAttempts, last)
			}
		}
	})
}

// A job that comes back stands where its priority and id put it: ahead of the backlog that came later.
func TestCaseB026(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var order []int64
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			order = append(order, j.ID)
			<-time.After(100 * time.Millisecond)
			if j.ID == 2 && j.Attempt == 1 {
				return errors.New("once")
			}
			return nil
		}, kiln.Constant(250*time.Millisecond))
		for range 1000 {
			r.enqueue()
		}
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		pass(time.Second)
		if got := fmt.Sprint(order[:7]); got != "[1 2 3 4 5 2 6]" && got != "[1 2 3 4 2 5 6]" {
			t.Errorf("order %s", got)
		}
	})
}

// The stored trace begins where the handler panicked, not in what called it.
func TestCaseB029(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var nothing *kiln.Record
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if j.Args.N == 1 {
				_ = nothing.Attempt
			}
			return deep(5)
		})
		r.start(kiln.ServerConfig{})
		for n, site := range []string{"kiln_test.deep(", "kiln_test.TestCaseB029."} {
			id, _ := r.client.Enqueue(t.Context(), task{n}, kiln.MaxAttempts(1))
			pass(time.Second)
			e := r.want(id, kiln.Failed, "exhausted").History[0]
			lines := strings.Split(e.Trace, "\n")
			if len(lines) < 3 || !strings.HasPrefix(lines[0], "goroutine ") || !strings.Contains(lines[1], site) || !strings.Contains(lines[2], "cases_retry_test.go:") {
				t.Errorf("the trace begins with\n%s", strings.Join(lines[:min(8, len(lines))], "\n"))
			}
			if len(e.Trace) > 8<<10 || !strings.HasPrefix(e.Error, "kiln: panic: ") {
				t.Errorf("trace of %d bytes, error %q", len(e.Trace), e.Error)
			}
		}
	})
}

// deep panics n calls further down.
//
//go:noinline
func deep(n int) error {
	if n == 0 {
		panic("at the bottom")
	}
	return deep(n - 1)
}
