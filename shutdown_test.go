package kiln_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// safeBuffer is a log that several goroutines write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func logTo(b *safeBuffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func TestShutdownWaitsForRunningJobs(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		started, release := make(chan int64, 2), make(chan struct{})
		r.handle(block(started, release))
		s := r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		running, waiting := r.enqueue(), r.enqueue()
		<-started
		begin := time.Now()
		s.stop()
		pass(20 * time.Second)
		if n, _ := r.mem.Servers(t.Context()); len(n) != 1 || time.Since(n[0].HeartbeatAt) > 6*time.Second {
			t.Errorf("heartbeats stopped while a job runs: %+v", n)
		}
		close(release)
		<-s.done
		if took := time.Since(begin); took != 20*time.Second {
			t.Errorf("Run returned after %s", took)
		}
		r.want(running, kiln.Succeeded)
		if rec := r.want(waiting, kiln.Enqueued); rec.Attempt != 0 {
			t.Errorf("the job that did not start has attempt %d", rec.Attempt)
		}
		if n, _ := r.mem.Servers(t.Context()); len(n) != 0 {
			t.Errorf("the server is still registered: %+v", n)
		}
		if st := s.Stats(); st.Running != 0 || st.Pending != 0 || st.Leader {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestShutdownInterrupts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		started := make(chan int64, 3)
		stubborn := make(chan struct{})
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			started <- j.ID
			<-ctx.Done()
			if context.Cause(ctx) != kiln.ErrShutdown {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			switch j.Args.N {
			case 1:
				return kiln.Permanent(errors.New("interrupted"))
			case 2:
				return nil
			}
			<-stubborn
			return nil
		})
		s := r.start(kiln.ServerConfig{})
		var ids []int64
		for n := range 3 {
			id, _ := r.client.Enqueue(t.Context(), task{n}, kiln.MaxAttempts(1))
			ids = append(ids, id)
			<-started
		}
		begin := time.Now()
		s.end()
		// 30s for the jobs, 5s after the interruption, 5s more for the one that ignores it.
		if took := time.Since(begin); took != 40*time.Second {
			t.Errorf("Run returned after %s", took)
		}
		if rec := r.want(ids[0], kiln.Enqueued, "shutdown"); rec.Attempt != 0 {
			t.Errorf("an abandoned job has attempt %d", rec.Attempt)
		}
		if rec := r.want(ids[1], kiln.Enqueued, "shutdown"); rec.Attempt != 0 || rec.History[0].Error != "interrupted" {
			t.Errorf("an interrupted job: attempt %d, %+v", rec.Attempt, rec.History)
		}
		r.want(ids[2], kiln.Succeeded)
		st := s.Stats()
		if st.Abandoned != 1 || st.Succeeded != 1 || st.Failed+st.Retried+st.Canceled+st.Snoozed != 0 {
			t.Errorf("a hand-back counts in none of the outcomes: %+v", st)
		}
		close(stubborn)
		pass(time.Second)
		r.want(ids[0], kiln.Enqueued, "shutdown") // what an abandoned handler returns is ignored
	})
}

func TestShutdownGivesBackWhatAClaimStillBrings(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		late := make(chan struct{})
		r.faulty(faultstore.On("Claim", faultstore.Nth(1, faultstore.HangAfter(late))))
		r.handle(func(context.Context, *kiln.Job[task]) error { t.Error("a job started after the stop"); return nil })
		id := r.enqueue()
		s := r.start(kiln.ServerConfig{})
		pass(time.Second)
		s.stop()
		pass(time.Second)
		close(late)
		<-s.done
		if rec := r.want(id, kiln.Enqueued); rec.Attempt != 0 || rec.Claim != 1 {
			t.Errorf("given back with attempt %d, claim %d", rec.Attempt, rec.Claim)
		}
	})
}

func TestShutdownWhileTheStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log safeBuffer
		f := r.faulty(nil)
		started, release := make(chan int64, 1), make(chan struct{})
		r.handle(block(started, release))
		s := r.start(kiln.ServerConfig{Logger: logTo(&log)})
		id := r.enqueue()
		<-started
		f.SetRule(faultstore.Always(faultstore.Fail(errDown)))
		close(release)
		pass(time.Second)
		begin := time.Now()
		s.end()
		if took := time.Since(begin); took < 15*time.Second || took > 21*time.Second {
			t.Errorf("Run returned after %s", took)
		}
		if text := log.String(); !strings.Contains(text, "could not be written before the server stopped") || !strings.Contains(text, "jobs=[1]") {
			t.Errorf("the lost result is not in the log:\n%s", text)
		}
		f.SetRule(nil)
		r.want(id, kiln.Processing)
	})
}

func TestResultsSurviveAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.faulty(nil)
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		s := r.start(kiln.ServerConfig{})
		pass(time.Second)
		finish := func(f faultstore.Fault) faultstore.Rule {
			return faultstore.On("Finish", faultstore.Always(f))
		}
		f.SetRule(finish(faultstore.Fail(errDown)))
		id := r.enqueue()
		pass(29 * time.Second)
		if st := s.Stats(); st.Pending != 1 || st.Running != 0 {
			t.Errorf("stats %+v: the worker is free, the result waits", st)
		}
		if err := s.Healthy(); err != nil {
			t.Errorf("unhealthy too early: %v", err)
		}
		pass(2 * time.Second)
		if err := s.Healthy(); err == nil || !strings.Contains(err.Error(), "1 results wait") {
			t.Errorf("health with an old result: %v", err)
		}
		if n := f.Calls("Finish"); n > 20 {
			t.Errorf("%d tries in half a minute: the wait does not double up to 5s", n)
		}
		// The write that got through without its answer being heard is repeated, and is stale then.
		f.SetRule(faultstore.On("Finish", faultstore.Nth(f.Calls("Finish")+1, faultstore.Lose(errDown))))
		pass(12 * time.Second)
		r.want(id, kiln.Succeeded)
		if st := s.Stats(); st.Pending != 0 || st.Stale != 1 || s.Healthy() != nil {
			t.Errorf("stats %+v, health %v", st, s.Healthy())
		}
	})
}

// picky refuses or holds outcomes.
type picky struct {
	*faultstore.Store
	judge func(o driver.Outcome) driver.Result
}

func (p picky) Finish(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
	results := make([]driver.Result, len(outs))
	for i, o := range outs {
		if results[i] = p.judge(o); results[i] != driver.Applied {
			continue
		}
		one, err := p.Store.Finish(ctx, server, []driver.Outcome{o})
		if err != nil {
			return nil, err
		}
		results[i] = one[0]
	}
	return results, nil
}

func TestRejectedAndBusyOutcomes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log safeBuffer
		var mu sync.Mutex
		seen := map[int64]int{}
		r.on(picky{faultstore.Wrap(r.mem, nil), func(o driver.Outcome) driver.Result {
			mu.Lock()
			defer mu.Unlock()
			seen[o.ID]++
			switch {
			case o.ID == 1 && o.State == kiln.Succeeded:
				return driver.Rejected
			case o.ID == 2:
				return driver.Rejected
			case o.ID == 3 && seen[3] < 5:
				return driver.Busy
			}
			return driver.Applied
		}})
		r.handle(func(_ context.Context, j *kiln.Job[task]) error { return j.SetOutput(1) })
		s := r.start(kiln.ServerConfig{Logger: logTo(&log), HeartbeatInterval: 10 * time.Second})
		rejected, twice, busy, plain := r.enqueue(), r.enqueue(), r.enqueue(), r.enqueue()
		pass(2 * time.Second)
		if rec := r.want(rejected, kiln.Failed, "rejected"); rec.Output != nil {
			t.Error("a rejected result kept its output")
		}
		r.want(twice, kiln.Processing)
		r.want(busy, kiln.Succeeded)
		r.want(plain, kiln.Succeeded)
		if text := log.String(); !strings.Contains(text, "refused a result twice") || !strings.Contains(text, "job=2") {
			t.Errorf("log:\n%s", text)
		}
		if st := s.Stats(); st.Busy != 4 || st.Pending != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

// TestBoundOfPendingResults pins that a server whose results cannot be written stops claiming before it runs out of memory.
func TestBoundOfPendingResults(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.faulty(faultstore.On("Finish", faultstore.Always(faultstore.Fail(errDown))))
		var runs atomic.Int32
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			runs.Add(1)
			return j.SetOutput(strings.Repeat("x", 1<<20-2))
		})
		for range 100 {
			r.enqueue()
		}
		s := r.start(kiln.ServerConfig{})
		pass(5 * time.Second)
		if n := runs.Load(); n < 64 || n > 64+10 {
			t.Errorf("%d handlers with a MiB of output each ran while nothing could be written; the bound is 64 MiB", n)
		}
		if err := s.Healthy(); err == nil || !strings.Contains(err.Error(), "claiming has stopped") {
			t.Errorf("health at the bound: %v", err)
		}
		f.SetRule(nil)
		pass(10 * time.Second)
		if st := s.Stats(); st.Succeeded != 100 || s.Healthy() != nil {
			t.Errorf("stats %+v, health %v", st, s.Healthy())
		}
	})
}

func TestStuckJobs(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log safeBuffer
		hold := make(chan struct{})
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error { <-hold; return errors.New("at last") }, kiln.Timeout(time.Minute))
		s := r.start(kiln.ServerConfig{Logger: logTo(&log), Queues: map[string]int{"default": 2}})
		stuck, canceled := r.enqueue(kiln.MaxAttempts(1)), r.enqueue(kiln.NoTimeout)
		pass(time.Second)
		r.client.Delete(t.Context(), canceled)
		pass(4 * time.Second)
		if n := s.Stats().Stuck; n != 0 {
			t.Errorf("%d stuck within the grace", n)
		}
		pass(2 * time.Second)
		if n := s.Stats().Stuck; n != 1 {
			t.Errorf("%d stuck after a cancel was ignored", n)
		}
		pass(time.Minute)
		if n := s.Stats().Stuck; n != 2 {
			t.Errorf("%d stuck after a timeout was ignored", n)
		}
		pass(time.Hour)
		text := log.String()
		if n := strings.Count(text, "ignores that its context has ended"); n != 2 {
			t.Errorf("%d messages about two stuck jobs", n)
		}
		if !strings.Contains(text, "TestStuckJobs") {
			t.Errorf("no stack in the log:\n%s", text)
		}
		close(hold)
		pass(time.Second)
		if st := s.Stats(); st.Stuck != 0 || st.Running != 0 {
			t.Errorf("stats %+v", st)
		}
		r.want(stuck, kiln.Failed, "exhausted")
		r.want(canceled, kiln.Deleted, "canceled")
	})
}

func TestLogIsNotFlooded(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var log safeBuffer
		f := r.faulty(nil)
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{Logger: logTo(&log)})
		pass(time.Second)
		f.SetRule(faultstore.Always(faultstore.Fail(errDown)))
		pass(45 * time.Second)
		if n := strings.Count(log.String(), "operation=heartbeat"); n < 4 || n > 5 {
			t.Errorf("%d messages about heartbeats in 45 seconds, want one per 10 seconds", n)
		}
	})
}
