package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

func TestJobSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			if c, ok := kiln.ClientFrom(ctx); !ok || c != r.client {
				t.Error("ClientFrom does not give the server's client")
			}
			raw, ok := kiln.JobFrom(ctx)
			if !ok || raw.ID != j.ID || string(raw.Args) != `{"N":7}` {
				t.Errorf("JobFrom gives %+v", raw)
			}
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the context has no deadline")
			}
			if j.Args.N != 7 || j.Attempt != 1 || j.MaxAttempts != 10 || j.Kind != "task" || j.Queue != "default" || j.Tags[0] != "x" {
				t.Errorf("job %+v", j)
			}
			return j.SetOutput(map[string]int{"n": j.Args.N})
		})
		s := r.start(kiln.ServerConfig{Name: "host"})
		id, _ := r.client.Enqueue(t.Context(), task{7}, kiln.Tags{"x"})
		pass(time.Second)
		rec := r.want(id, kiln.Succeeded)
		if string(rec.Output) != `{"n":7}` || rec.Server != s.ID() || rec.Attempt != 1 {
			t.Errorf("record %+v", rec)
		}
		if st := s.Stats(); st.Claimed != 1 || st.Succeeded != 1 || st.Running != 0 || st.Pending != 0 || !st.Listening || !st.Leader {
			t.Errorf("stats %+v", st)
		}
		if err := s.Healthy(); err != nil {
			t.Errorf("unhealthy: %v", err)
		}
		if id := s.ID(); !strings.HasPrefix(id, "host:") || len(id[strings.LastIndex(id, ":")+1:]) != 16 {
			t.Errorf("server id %q", id)
		}
		if err := s.Run(t.Context()); err == nil {
			t.Error("a server ran twice")
		}
	})
}

func TestRetriesUntilExhausted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var starts []time.Time
		r.handle(func(context.Context, *kiln.Job[task]) error {
			starts = append(starts, time.Now())
			return errors.New("broken")
		}, kiln.Delays(time.Second, time.Minute))
		s := r.start(kiln.ServerConfig{})
		id := r.enqueue(kiln.MaxAttempts(3))
		pass(2 * time.Minute)
		rec := r.want(id, kiln.Failed, "retry", "retry", "exhausted")
		if rec.History[2].Error != "broken" || rec.History[2].Attempt != 3 || rec.History[0].Server != s.ID() {
			t.Errorf("history %+v", rec.History)
		}
		// A delayed job starts within 100 ms of its time.
		for i, wait := range []time.Duration{time.Second, time.Minute} {
			if late := starts[i+1].Sub(starts[i]) - wait; late < 0 || late > 100*time.Millisecond {
				t.Errorf("retry %d started %s after its time", i+1, late)
			}
		}
		if st := s.Stats(); st.Retried != 2 || st.Failed != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestBackoffPrecedence(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		fail := func(context.Context, *kiln.RawJob) error { return errors.New("broken") }
		r.mux.HandleFunc("own", fail, kiln.Constant(time.Hour))
		r.mux.HandleFunc("server", fail)
		r.start(kiln.ServerConfig{Backoff: kiln.Constant(2 * time.Hour)})
		for kind, want := range map[string]time.Duration{"own": time.Hour, "server": 2 * time.Hour} {
			id, err := r.client.Enqueue(t.Context(), badKind{kind})
			if err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
			if rec := r.want(id, kiln.Scheduled, "retry"); rec.RunAt.Sub(rec.History[0].At) != want {
				t.Errorf("%s waits %s, want %s", kind, rec.RunAt.Sub(rec.History[0].At), want)
			}
		}
	})
}

func TestSnoozePermanentCancel(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		results := map[int]error{0: kiln.Snooze(time.Minute), 1: kiln.Permanent(errors.New("no")), 2: kiln.Cancel(errors.New("off"))}
		r.handle(func(_ context.Context, j *kiln.Job[task]) error { return results[j.Args.N] })
		s := r.start(kiln.ServerConfig{})
		var ids []int64
		for n := range 3 {
			id, _ := r.client.Enqueue(t.Context(), task{n}, kiln.MaxAttempts(1))
			ids = append(ids, id)
		}
		pass(90 * time.Second)
		if rec := r.want(ids[0], kiln.Scheduled, "snoozed", "snoozed"); rec.Attempt != 0 || rec.History[1].Attempt != 1 {
			t.Errorf("a snooze costs no attempt: %+v", rec)
		}
		r.want(ids[1], kiln.Failed, "permanent")
		r.want(ids[2], kiln.Deleted, "canceled")
		if st := s.Stats(); st.Snoozed != 2 || st.Failed != 1 || st.Canceled != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

// TestHandlersThatBreak pins that whatever a handler does costs at most its own attempt, and the server goes on.
func TestHandlersThatBreak(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var seen []error
		r.mux.Use(func(next kiln.HandlerFunc) kiln.HandlerFunc {
			return func(ctx context.Context, j *kiln.RawJob) error {
				err := next(ctx, j)
				seen = append(seen, err)
				if j.Kind == "wrap" {
					panic("middleware")
				}
				return err
			}
		})
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			switch j.Args.N {
			case 0:
				panic("boom")
			case 1:
				runtime.Goexit()
			case 2:
				return errors.New("nul \x00 and broken \xff text")
			case 3:
				return j.SetOutput(strings.Repeat("x", 1<<20))
			case 4:
				panic(fmt.Errorf("an error"))
			}
			return nil
		}, kiln.Constant(time.Hour))
		r.mux.HandleFunc("wrap", func(context.Context, *kiln.RawJob) error { return nil }, kiln.Constant(time.Hour))
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		var ids []int64
		for n := range 6 {
			id, _ := r.client.Enqueue(t.Context(), task{n})
			ids = append(ids, id)
			pass(time.Second)
		}
		rec := r.want(ids[0], kiln.Scheduled, "retry")
		if e := rec.History[0]; e.Error != "kiln: panic: boom" || !strings.Contains(e.Trace, "outcome_test.go") {
			t.Errorf("panic's entry: %+v", e)
		}
		var p *kiln.PanicError
		if !errors.As(seen[0], &p) || p.Value != "boom" {
			t.Errorf("middleware saw %v instead of the panic", seen[0])
		}
		if e := r.want(ids[1], kiln.Scheduled, "retry").History[0]; !strings.Contains(e.Error, "Goexit") {
			t.Errorf("Goexit's entry: %+v", e)
		}
		if e := r.want(ids[2], kiln.Scheduled, "retry").History[0]; e.Error != "nul \uFFFD and broken \uFFFD text" {
			t.Errorf("unprintable error: %q", e.Error)
		}
		if rec := r.want(ids[3], kiln.Failed, "output rejected"); rec.Output != nil {
			t.Error("output that is too large was kept")
		}
		r.want(ids[4], kiln.Scheduled, "retry")
		r.want(ids[5], kiln.Succeeded)
		id, _ := r.client.Enqueue(t.Context(), badKind{"wrap"})
		pass(time.Second)
		if e := r.want(id, kiln.Scheduled, "retry").History[0]; e.Error != "kiln: panic: middleware" {
			t.Errorf("middleware's panic: %+v", e)
		}
	})
}

func TestArgsThatDoNotDecode(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { t.Error("the handler ran"); return nil })
		r.start(kiln.ServerConfig{})
		out, err := r.store.Insert(t.Context(), []driver.InsertParams{{Kind: "task", Queue: "default", Args: []byte(`{"N":"text"}`), MaxAttempts: 5}})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if e := r.want(out[0].ID, kiln.Failed, "permanent").History[0]; !strings.Contains(e.Error, "kind task") || !strings.Contains(e.Error, "kiln_test.task") {
			t.Errorf("entry %+v does not name kind and type", e)
		}
	})
}

func TestTimeouts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		type seen struct {
			after time.Duration
			cause error
			err   error
		}
		got := map[int]seen{}
		wait := func(ctx context.Context, j *kiln.RawJob) error {
			start := time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(4 * time.Hour):
			}
			mu.Lock()
			defer mu.Unlock()
			got[int(j.Priority)] = seen{time.Since(start), context.Cause(ctx), ctx.Err()}
			if j.Priority == 9 {
				return nil
			}
			return errors.New("late")
		}
		r.mux.HandleFunc("kind", wait, kiln.Timeout(time.Hour))
		r.mux.HandleFunc("none", wait)
		r.start(kiln.ServerConfig{Timeout: kiln.Timeout(2 * time.Hour)})
		ids := map[int]int64{}
		for n, c := range map[int]struct {
			kind string
			opt  kiln.InsertOption
		}{
			1: {"kind", kiln.Timeout(time.Minute)}, 2: {"kind", nil}, 3: {"none", nil}, 4: {"none", kiln.NoTimeout},
			5: {"kind", kiln.Timeout(time.Nanosecond)}, 9: {"kind", kiln.Timeout(time.Minute)},
		} {
			ids[n], _ = r.client.Enqueue(t.Context(), badKind{c.kind}, kiln.Priority(n), kiln.MaxAttempts(1), c.opt)
		}
		pass(5 * time.Hour)
		for n, want := range map[int]time.Duration{1: time.Minute, 2: time.Hour, 3: 2 * time.Hour, 4: 4 * time.Hour, 5: time.Millisecond, 9: time.Minute} {
			g := got[n]
			if g.after != want {
				t.Errorf("case %d ran for %s, want %s", n, g.after, want)
			}
			if n != 4 && (g.cause != kiln.ErrTimeout || g.err != context.DeadlineExceeded) {
				t.Errorf("case %d: cause %v, err %v", n, g.cause, g.err)
			}
		}
		if e := r.want(ids[1], kiln.Failed, "exhausted").History[0]; e.Error != "kiln: job timed out: late" {
			t.Errorf("entry %+v", e)
		}
		// A handler that returns nil after its timeout has done its work.
		r.want(ids[9], kiln.Succeeded)
	})
}

func TestDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var ran atomic.Int32
		r.handle(func(context.Context, *kiln.Job[task]) error { ran.Add(1); return nil })
		now := time.Now()
		past := r.enqueue(kiln.Deadline(now.Add(time.Minute)))
		future := r.enqueue(kiln.Deadline(now.Add(time.Hour)))
		none := r.enqueue(kiln.Deadline(time.Time{}))
		pass(2 * time.Minute)
		r.start(kiln.ServerConfig{})
		pass(time.Second)
		r.want(past, kiln.Deleted, "deadline")
		r.want(future, kiln.Succeeded)
		r.want(none, kiln.Succeeded)
		if ran.Load() != 2 {
			t.Errorf("%d handlers ran, want 2", ran.Load())
		}
	})
}

func TestUnknownKind(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		// A store that ignores the kinds of a claim hands out jobs that nobody here can run.
		r.on(anyKind{r.mem})
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{UnknownKindTTL: time.Hour})
		id, _ := r.client.Enqueue(t.Context(), badKind{"alien"})
		pass(30 * time.Second)
		rec := r.want(id, kiln.Scheduled, "unknown kind")
		if wait := rec.RunAt.Sub(rec.History[0].At); wait != time.Minute || rec.Attempt != 0 {
			t.Errorf("waits %s at attempt %d", wait, rec.Attempt)
		}
		pass(2 * time.Hour)
		rec = r.job(id)
		last := rec.History[len(rec.History)-1]
		if rec.State != kiln.Failed || last.Reason != "unknown kind" || last.Error != `kiln: no handler for kind "alien"` {
			t.Errorf("after its time: %s %+v", rec.State, last)
		}
		if age := last.At.Sub(rec.CreatedAt); age < time.Hour || age > time.Hour+2*time.Minute {
			t.Errorf("gave up after %s, want about an hour", age)
		}
	})
}

// anyKind is a store that ignores which kinds a claim asks for.
type anyKind struct{ driver.Store }

func (s anyKind) Claim(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
	q.Kinds = nil
	return s.Store.Claim(ctx, q)
}

func TestSetParam(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			var step int
			if _, err := j.Param("step", &step); err != nil {
				return err
			}
			if err := j.SetParam(ctx, "step", step+1); err != nil {
				return err
			}
			raw, _ := kiln.JobFrom(ctx)
			if raw.Meta["step"] != fmt.Sprint(step+1) {
				t.Errorf("middleware's view of the meta is %v", raw.Meta)
			}
			if step < 2 {
				return errors.New("again")
			}
			return nil
		}, kiln.Constant(time.Second))
		r.start(kiln.ServerConfig{})
		id := r.enqueue(kiln.Meta{"own": "1"})
		pass(time.Minute)
		if rec := r.want(id, kiln.Succeeded, "retry", "retry"); rec.Meta["step"] != "3" || rec.Meta["own"] != "1" {
			t.Errorf("meta %v", rec.Meta)
		}
	})
}

func TestMiddlewareOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var order []string
		wrap := func(name string) kiln.Middleware {
			return func(next kiln.HandlerFunc) kiln.HandlerFunc {
				return func(ctx context.Context, j *kiln.RawJob) error {
					order = append(order, name)
					return next(ctx, j)
				}
			}
		}
		r.mux.Use(wrap("first"))
		r.handle(func(context.Context, *kiln.Job[task]) error { order = append(order, "handler"); return nil })
		r.mux.Use(wrap("second"))
		r.start(kiln.ServerConfig{})
		r.enqueue()
		pass(time.Second)
		if got := strings.Join(order, " "); got != "first second handler" {
			t.Errorf("order %q", got)
		}
	})
}
