package kiln_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

var errDown = errors.New("the database is down")

// faulty puts a fault store between the rig's client and its memory store.
func (r *rig) faulty(rule faultstore.Rule) *faultstore.Store {
	f := faultstore.Wrap(r.mem, rule)
	r.on(f)
	return f
}

// seize claims jobs as a server that dies right after: its row is missing when beat is false.
func (r *rig) seize(server string, n int, beat bool) []driver.Job {
	r.t.Helper()
	if beat {
		if _, err := r.mem.Heartbeat(r.t.Context(), driver.ServerInfo{ID: server}); err != nil {
			r.t.Fatal(err)
		}
	}
	jobs, err := r.mem.Claim(r.t.Context(), driver.ClaimQuery{Queues: []string{"default"}, Limit: n, Server: server})
	if err != nil || len(jobs) != n {
		r.t.Fatalf("claimed %d of %d: %v", len(jobs), n, err)
	}
	return jobs
}

func TestRescueOfADeadServer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var started time.Time
		f := r.faulty(nil)
		r.handle(func(context.Context, *kiln.Job[task]) error { started = time.Now(); return nil })
		s := r.start(kiln.ServerConfig{})
		pass(10 * time.Minute) // the leader has watched for long enough
		f.SetRule(faultstore.On("Claim", faultstore.Always(faultstore.Fail(errDown))))
		id := r.enqueue()
		r.seize("dead", 1, true)
		f.SetRule(nil)
		begin := time.Now()
		pass(2 * time.Minute)
		rec := r.want(id, kiln.Succeeded, "orphaned")
		if took := started.Sub(begin); took < 60*time.Second || took > 70*time.Second {
			t.Errorf("the job started again after %s, want 60 to 70 seconds", took)
		}
		if e := rec.History[0]; e.Server != "dead" || !strings.Contains(e.Error, "dead") || rec.Attempt != 2 {
			t.Errorf("entry %+v, attempt %d: a rescue counts and names the dead server", e, rec.Attempt)
		}
		if !s.Stats().Leader {
			t.Error("the only server does not lead")
		}
	})
}

func TestRescueWithoutARowIsImmediate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		var ids []int64
		for range 2500 {
			ids = append(ids, r.enqueue())
		}
		r.seize("gone", 2500, false)
		r.start(kiln.ServerConfig{})
		pass(2 * time.Second)
		for _, id := range []int64{ids[0], ids[1999], ids[2499]} {
			r.want(id, kiln.Succeeded, "orphaned")
		}
	})
}

func TestRescueOutcomes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		hold := make(chan struct{})
		r.handle(block(nil, hold))
		last, twice, canceled := r.enqueue(kiln.MaxAttempts(1)), r.enqueue(), r.enqueue()
		r.seize("one", 3, false)
		if n, err := r.client.Delete(t.Context(), canceled); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		s := r.start(kiln.ServerConfig{Queues: map[string]int{"other": 1}})
		pass(time.Second)
		r.want(last, kiln.Failed, "orphaned")
		r.want(canceled, kiln.Deleted, "orphaned")
		r.want(twice, kiln.Enqueued, "orphaned")
		r.seize("two", 1, false)
		pass(6 * time.Second)
		rec := r.want(twice, kiln.Scheduled, "orphaned", "orphaned")
		if wait := rec.RunAt.Sub(rec.History[1].At); wait < 16*time.Second || wait > 74*time.Second {
			t.Errorf("a job rescued twice in a row waits %s, which is not the default backoff of attempt 2", wait)
		}
		s.end()
	})
}

func TestLeaderChange(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		f := faultstore.Wrap(r.mem, nil)
		first := r.startOn(kiln.NewClient(f), kiln.ServerConfig{})
		pass(time.Minute)
		second := r.start(kiln.ServerConfig{})
		third := r.start(kiln.ServerConfig{DisableMaintenance: true})
		pass(time.Minute)
		if !first.Stats().Leader || second.Stats().Leader || third.Stats().Leader {
			t.Fatal("the first server leads alone")
		}
		// The first dies: its lease runs out, and the second takes over.
		f.SetRule(faultstore.Always(faultstore.Fail(errDown)))
		pass(9 * time.Second) // the last renewal was up to 5.5s before
		if second.Stats().Leader {
			t.Error("the second took over before the lease ended")
		}
		pass(12 * time.Second)
		if first.Stats().Leader || !second.Stats().Leader {
			t.Errorf("leader: first %v, second %v", first.Stats().Leader, second.Stats().Leader)
		}
		// A clean stop hands over within a third of the lease.
		f.SetRule(nil)
		pass(10 * time.Second)
		second.end()
		pass(6 * time.Second)
		if !first.Stats().Leader || third.Stats().Leader {
			t.Errorf("after the handover: first %v, third %v", first.Stats().Leader, third.Stats().Leader)
		}
	})
}

// TestFence pins that a server which cannot reach the store stops before others may take its jobs, and goes on afterwards.
func TestFence(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.faulty(nil)
		started := make(chan int64, 10)
		var causes []error
		var mu sync.Mutex
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			started <- j.ID
			if j.Args.N == 2 {
				<-ctx.Done()
				return nil // it succeeds all the same
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Minute):
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			causes = append(causes, context.Cause(ctx))
			return errors.New("interrupted")
		})
		s := r.start(kiln.ServerConfig{})
		lost := r.enqueue(kiln.MaxAttempts(1))
		wins, _ := r.client.Enqueue(t.Context(), task{2})
		pass(time.Second)
		if len(started) != 2 {
			t.Fatalf("%d jobs started", len(started))
		}
		f.SetRule(faultstore.On("Heartbeat", faultstore.Always(faultstore.Fail(errDown))))
		pass(25 * time.Second)
		if err := s.Healthy(); err != nil {
			t.Errorf("unhealthy too early: %v", err)
		}
		pass(8 * time.Second)
		if err := s.Healthy(); err == nil || !strings.Contains(err.Error(), "heartbeat") {
			t.Errorf("health with an old heartbeat: %v", err)
		}
		pass(15 * time.Second) // 49s after the start at most
		if s.Stats().Fenced {
			t.Error("fenced before its time")
		}
		pass(8 * time.Second)
		st := s.Stats()
		if !st.Fenced || st.Running != 0 {
			t.Errorf("not fenced after 50s: %+v", st)
		}
		if err := s.Healthy(); err == nil || !strings.Contains(err.Error(), "fenced") {
			t.Errorf("health of a fenced server: %v", err)
		}
		mu.Lock()
		if len(causes) != 1 || !errors.Is(causes[0], kiln.ErrLost) {
			t.Errorf("causes %v", causes)
		}
		mu.Unlock()
		r.want(wins, kiln.Succeeded) // a success that was reached is not thrown away
		claims := f.Calls("Claim")
		later := r.enqueue()
		pass(3 * time.Second)
		if f.Calls("Claim") != claims {
			t.Error("a fenced server claims")
		}
		f.SetRule(nil)
		pass(time.Second)
		if s.Stats().Fenced || s.Healthy() != nil {
			t.Errorf("the fence was not lifted: %v", s.Healthy())
		}
		pass(20 * time.Second)
		// The interrupted attempt left no result behind: its lease came back as lost, at no cost of an attempt.
		if rec := r.want(lost, kiln.Processing, "lost"); rec.Attempt != 1 {
			t.Errorf("attempt %d after a lost lease", rec.Attempt)
		}
		pass(5 * time.Minute)
		r.want(lost, kiln.Succeeded, "lost")
		r.want(later, kiln.Succeeded)
	})
}

// TestLostClaimReply pins that jobs whose claim was answered to nobody come back without having cost an attempt.
func TestLostClaimReply(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.faulty(faultstore.On("Claim", faultstore.Nth(1, faultstore.Lose(errDown))))
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if j.Attempt != 1 {
				t.Errorf("attempt %d", j.Attempt)
			}
			return nil
		})
		id := r.enqueue(kiln.MaxAttempts(1))
		r.start(kiln.ServerConfig{})
		pass(9 * time.Second)
		r.want(id, kiln.Processing)
		pass(8 * time.Second)
		r.want(id, kiln.Succeeded, "lost")
	})
}

// TestSlowClaimIsNotLost pins that a heartbeat does not mistake a claim whose reply is late for a lost one.
func TestSlowClaimIsNotLost(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		late := make(chan struct{})
		r.faulty(faultstore.On("Claim", faultstore.Nth(1, faultstore.HangAfter(late))))
		var runs atomic.Int32
		r.handle(func(context.Context, *kiln.Job[task]) error { runs.Add(1); return nil })
		id := r.enqueue()
		r.start(kiln.ServerConfig{HeartbeatInterval: time.Second})
		pass(9 * time.Second)
		r.want(id, kiln.Processing)
		close(late)
		pass(time.Second)
		r.want(id, kiln.Succeeded)
		if runs.Load() != 1 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

// TestHandedOutAgain pins that when the store hands out a job that this server still runs, the older run is cancelled as lost
// and its result is dropped.
func TestHandedOutAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var causes []error
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			if j.Attempt > 1 {
				return nil
			}
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			causes = append(causes, context.Cause(ctx))
			return errors.New("older run")
		})
		s := r.start(kiln.ServerConfig{})
		id := r.enqueue()
		pass(time.Second)
		ref := r.job(id).Ref
		res, err := r.mem.Finish(t.Context(), "rescuer", []driver.Outcome{{Ref: ref, State: kiln.Enqueued, Reason: "orphaned"}})
		if err != nil || res[0] != driver.Applied {
			t.Fatal(res, err)
		}
		pass(2 * time.Second)
		r.want(id, kiln.Succeeded, "orphaned")
		mu.Lock()
		defer mu.Unlock()
		if len(causes) != 1 || !errors.Is(causes[0], kiln.ErrLost) {
			t.Errorf("causes %v", causes)
		}
		if st := s.Stats(); st.Running != 0 || st.Succeeded != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

// TestTakenAway pins that a run whose job the store gave to another server is cancelled by the next heartbeat.
func TestTakenAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var cause atomic.Value
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			<-ctx.Done()
			cause.Store(context.Cause(ctx))
			return errors.New("too late")
		})
		r.start(kiln.ServerConfig{})
		id := r.enqueue()
		pass(time.Second)
		ref := r.job(id).Ref
		if _, err := r.mem.Finish(t.Context(), "x", []driver.Outcome{{Ref: ref, State: kiln.Failed, Reason: "elsewhere"}}); err != nil {
			t.Fatal(err)
		}
		pass(6 * time.Second)
		if err, _ := cause.Load().(error); !errors.Is(err, kiln.ErrLost) {
			t.Errorf("cause %v", err)
		}
		r.want(id, kiln.Failed, "elsewhere")
	})
}

func TestCancelARunningJob(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var cause atomic.Value
		obey := make(chan bool, 1)
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			<-ctx.Done()
			cause.Store(context.Cause(ctx))
			if <-obey {
				return ctx.Err()
			}
			return nil
		})
		s := r.start(kiln.ServerConfig{})
		for _, c := range []struct {
			obeys   bool
			state   kiln.State
			reasons []string
		}{{true, kiln.Deleted, []string{"canceled"}}, {false, kiln.Succeeded, nil}} {
			id := r.enqueue()
			pass(time.Second)
			obey <- c.obeys
			if n, err := r.client.Delete(t.Context(), id); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if n, _ := r.client.Delete(t.Context(), id); n != 0 {
				t.Error("a second delete counted")
			}
			pass(100 * time.Millisecond)
			r.want(id, c.state, c.reasons...)
			if err, _ := cause.Load().(error); err != kiln.ErrCanceled {
				t.Errorf("cause %v", err)
			}
		}
		if st := s.Stats(); st.Canceled != 1 || st.Succeeded != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		f := r.faulty(nil)
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{})
		pass(time.Second)
		r.client.PauseQueue(t.Context(), "default")
		synctest.Wait()
		claims := f.Calls("Claim")
		id := r.enqueue()
		pass(time.Minute)
		r.want(id, kiln.Enqueued)
		if n := f.Calls("Claim"); n != claims {
			t.Errorf("%d claims while all queues are paused", n-claims)
		}
		r.client.ResumeQueue(t.Context(), "default")
		pass(100 * time.Millisecond)
		r.want(id, kiln.Succeeded)
	})
}

func TestPrune(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			return map[int]error{1: kiln.Permanent(errors.New("x")), 2: kiln.Cancel(nil)}[j.Args.N]
		})
		r.start(kiln.ServerConfig{Retention: kiln.Retention{Succeeded: time.Hour, Deleted: 2 * time.Hour}})
		var ids []int64
		for n := range 3 {
			id, _ := r.client.Enqueue(t.Context(), task{n})
			ids = append(ids, id)
		}
		gone := func(i int) bool {
			_, err := r.client.Get(t.Context(), ids[i])
			return errors.Is(err, kiln.ErrNotFound)
		}
		pass(59 * time.Minute)
		if gone(0) || gone(1) || gone(2) {
			t.Error("pruned too early")
		}
		pass(3 * time.Minute)
		if !gone(0) || gone(2) {
			t.Error("after an hour only the succeeded job is pruned")
		}
		pass(time.Hour)
		if !gone(2) || gone(1) {
			t.Error("after two hours the deleted job is pruned, and the failed one never")
		}
		if n, _ := r.mem.Counts(t.Context()); n.Succeeded != 1 || n.Deleted != 1 || n.Failed != 1 {
			t.Errorf("totals %+v", n)
		}
	})
}

func TestDelayedJobsStartOnTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var late []time.Duration
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, time.Since(j.RunAt))
			return nil
		})
		r.start(kiln.ServerConfig{})
		pass(time.Second)
		for i := range 200 {
			r.enqueue(kiln.Delay(time.Duration(i*i) * time.Millisecond * 7))
			pass(3 * time.Millisecond)
		}
		pass(10 * time.Minute)
		if len(late) != 200 {
			t.Fatalf("%d of 200 ran", len(late))
		}
		for _, d := range late {
			if d < 0 || d > 100*time.Millisecond {
				t.Errorf("a job started %s after its time", d)
			}
		}
	})
}

// deaf is a store that does not notify.
type deaf struct{ driver.Store }

func TestWithoutNotifications(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := faultstore.Wrap(r.mem, nil)
		r.on(deaf{f})
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		s := r.start(kiln.ServerConfig{})
		pass(time.Minute)
		before := f.Calls("Claim") + f.Calls("Promote")
		pass(10 * time.Minute)
		if n := f.Calls("Claim") + f.Calls("Promote") - before; n > 2*600+60 {
			t.Errorf("%d queries in 10 idle minutes, more than two a second", n)
		}
		id := r.enqueue()
		delayed := r.enqueue(kiln.Delay(5 * time.Second))
		pass(1200 * time.Millisecond)
		r.want(id, kiln.Succeeded)
		pass(3900 * time.Millisecond)
		r.want(delayed, kiln.Succeeded)
		if s.Stats().Listening {
			t.Error("listening to a deaf store")
		}
	})
}

// TestPollingGoesOnAfterAFullPool pins that a pool whose last claim came back short looks for work again once its workers are
// free, even if nothing ever hints at it.
func TestPollingGoesOnAfterAFullPool(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.on(deaf{r.mem})
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if j.Args.N == 1 {
				<-time.After(time.Minute)
			}
			return nil
		})
		for range 100 {
			r.enqueue()
		}
		if _, err := r.client.Enqueue(t.Context(), task{1}); err != nil {
			t.Fatal(err)
		}
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		pass(30 * time.Second)
		id := r.enqueue()
		pass(29 * time.Second)
		r.want(id, kiln.Enqueued)
		pass(3 * time.Second)
		r.want(id, kiln.Succeeded)
	})
}

// TestIdleServerIsQuiet counts what an idle server asks for: at most one query a second, besides heartbeats, leader election
// and, on the leader, maintenance.
func TestIdleServerIsQuiet(t *testing.T) {
	for pools, cfg := range map[string]kiln.ServerConfig{
		"one":  {},
		"many": {Queues: map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}},
	} {
		t.Run(pools, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				f := r.faulty(nil)
				r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
				r.start(cfg)
				pass(time.Minute)
				base := map[string]int{}
				for _, m := range faultstore.Methods {
					base[m] = f.Calls(m)
				}
				pass(time.Hour)
				calls := func(m string) int { return f.Calls(m) - base[m] }
				if n := calls("Claim") + calls("Promote"); n > 3600*11/10 {
					t.Errorf("%d claims and promotions in an idle hour", n)
				}
				for m, most := range map[string]int{"Heartbeat": 721, "Lead": 800, "Sweep": 4000, "Due": 4000, "Prune": 67, "Orphans": 760, "Finish": 0, "Subscribe": 0} {
					if n := calls(m); n > most {
						t.Errorf("%s: %d calls in an idle hour, more than %d", m, n, most)
					}
				}
			})
		})
	}
}

func TestSubscriptionIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		down := make(chan struct{})
		f := r.faulty(faultstore.On("Subscribe", faultstore.Nth(1, faultstore.Fault{After: faultstore.Step{Until: down, Err: errDown}})))
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		s := r.start(kiln.ServerConfig{})
		pass(time.Second)
		if !s.Stats().Listening {
			t.Fatal("not listening")
		}
		close(down)
		synctest.Wait()
		if s.Stats().Listening {
			t.Error("listening on a broken subscription")
		}
		pass(time.Second)
		if !s.Stats().Listening || f.Calls("Subscribe") != 2 {
			t.Errorf("not renewed: %d subscriptions", f.Calls("Subscribe"))
		}
	})
}

func TestJoinWaitsForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.faulty(faultstore.Always(faultstore.Fail(errDown)))
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		s := r.start(kiln.ServerConfig{})
		pass(10 * time.Minute)
		if n := f.Calls("Heartbeat"); n < 100 || n > 140 {
			t.Errorf("%d first heartbeats in 10 minutes", n)
		}
		if n := f.Calls("Claim") + f.Calls("Promote") + f.Calls("Lead"); n != 0 {
			t.Errorf("%d calls before the first heartbeat got through", n)
		}
		if s.Healthy() == nil {
			t.Error("healthy before the first heartbeat")
		}
		f.SetRule(nil)
		id := r.enqueue()
		pass(6 * time.Second)
		r.want(id, kiln.Succeeded)
		s.end()
		if s.Healthy() == nil {
			t.Error("healthy after the stop")
		}
		if f.SetRule(faultstore.Always(faultstore.Fail(errDown))); true {
			other := r.start(kiln.ServerConfig{})
			pass(time.Minute)
			other.end() // Run returns nil though no heartbeat ever got through
		}
	})
}
