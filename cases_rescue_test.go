package kiln_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// A job that ends, or is claimed again, between the rescuer's look and its write is left alone.
func TestCaseB005(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		looked := make(chan struct{})
		f := r.faulty(faultstore.On("Orphans", faultstore.Nth(1, faultstore.HangAfter(looked))))
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		ended, again := r.enqueue(), r.enqueue()
		jobs := r.seize("gone", 2, false)
		r.start(bystander)
		pass(time.Second)
		for i, state := range []kiln.State{kiln.Succeeded, kiln.Enqueued} {
			if res, err := f.Finish(t.Context(), "gone", []driver.Outcome{{Ref: jobs[i].Ref, State: state}}); err != nil || res[0] != driver.Applied {
				t.Fatal(res, err)
			}
		}
		r.beat("live")
		r.seize("live", 1, true)
		close(looked)
		pass(2 * time.Minute)
		r.want(ended, kiln.Succeeded)
		if rec := r.want(again, kiln.Processing); rec.Attempt != 2 || rec.Server != "live" {
			t.Errorf("attempt %d on %s", rec.Attempt, rec.Server)
		}
	})
}

// A process that starts again under the same name has another id, and what it ran before is rescued.
func TestCaseB007(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := faultstore.Wrap(r.mem, nil)
		hold := make(chan struct{})
		defer close(hold)
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			if j.Attempt == 1 {
				<-hold
			}
			return nil
		})
		first := r.startOn(kiln.NewClient(f), kiln.ServerConfig{Name: "pod-0"})
		var ids []int64
		for range 10 {
			ids = append(ids, r.enqueue())
		}
		pass(2 * time.Minute)
		f.SetRule(faultstore.Always(faultstore.Fail(errDown))) // from the store's side: dead
		second := r.start(kiln.ServerConfig{Name: "pod-0"})
		pass(3 * time.Minute)
		if first.ID() == second.ID() {
			t.Error("two starts have one id")
		}
		for _, id := range ids {
			if rec := r.want(id, kiln.Succeeded, "orphaned"); rec.Server != second.ID() {
				t.Errorf("ran on %s", rec.Server)
			}
		}
	})
}

// A processing job whose server has no row is an orphan, whatever removed the row.
func TestCaseB008(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		id := r.enqueue()
		r.seize("dead", 1, true)
		pass(time.Second)
		if _, err := r.mem.Prune(t.Context(), driver.PruneParams{Servers: time.Nanosecond, Retention: driver.Retention{Succeeded: -1, Deleted: -1, Failed: -1}}); err != nil {
			t.Fatal(err)
		}
		r.start(kiln.ServerConfig{})
		pass(2 * time.Second)
		r.want(id, kiln.Succeeded, "orphaned")
	})
}

// Healthy long jobs, however many and however old, do not keep orphans behind them from being rescued, in one pass.
func TestCaseB010(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		for range 1600 {
			r.enqueue()
		}
		r.beat("live")
		healthy := r.seize("live", 1500, true)
		pass(time.Hour)
		orphans := r.seize("dead", 100, false)
		r.start(kiln.ServerConfig{})
		pass(4 * time.Second)
		for _, j := range orphans {
			r.want(j.ID, kiln.Succeeded, "orphaned")
		}
		pass(10 * time.Minute)
		for _, j := range healthy {
			if rec := r.job(j.ID); rec.State != kiln.Processing || rec.Attempt != 1 {
				t.Fatalf("healthy job %d is %s", j.ID, rec.State)
			}
		}
	})
}

// A job that takes its server down each time waits after the second time, ends failed after its last attempt, and its history
// names the servers; those that died beside it go on.
func TestCaseB011(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		poison := r.enqueue(kiln.MaxAttempts(3), kiln.Priority(1))
		innocent := r.enqueue()
		r.start(bystander)
		r.seize("victim-1", 2, false)
		pass(6 * time.Second)
		r.want(poison, kiln.Enqueued, "orphaned")
		r.want(innocent, kiln.Enqueued, "orphaned")
		r.seize("victim-2", 1, false) // only the poison: it has the higher priority
		pass(6 * time.Second)
		r.want(poison, kiln.Scheduled, "orphaned", "orphaned")
		r.seize("healthy", 1, false)
		jobs := r.job(innocent)
		if res, err := r.mem.Finish(t.Context(), "healthy", []driver.Outcome{{Ref: jobs.Ref, State: kiln.Succeeded}}); err != nil || res[0] != driver.Applied {
			t.Fatal(res, err)
		}
		pass(2 * time.Minute)
		r.seize("victim-3", 1, false)
		pass(6 * time.Second)
		rec := r.want(poison, kiln.Failed, "orphaned", "orphaned", "orphaned")
		for i, e := range rec.History {
			if name := fmt.Sprintf("victim-%d", i+1); e.Server != name || !strings.Contains(e.Error, name) {
				t.Errorf("entry %+v does not name %s", e, name)
			}
		}
		r.want(innocent, kiln.Succeeded, "orphaned")
	})
}

// A job of many hours on a healthy server is never rescued; TestRescueOfADeadServer measures how soon one of a dead server is.
func TestCaseB013(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { <-time.After(6 * time.Hour); return nil }, kiln.NoTimeout)
		runs := r.start(kiln.ServerConfig{DisableMaintenance: true})
		leads := r.start(bystander)
		id := r.enqueue()
		pass(7 * time.Hour)
		if rec := r.want(id, kiln.Succeeded); rec.Attempt != 1 || !leads.Stats().Leader || runs.Stats().Succeeded != 1 {
			t.Errorf("attempt %d, leader %+v, runner %+v", rec.Attempt, leads.Stats(), runs.Stats())
		}
	})
}

// Announced restarts cost a long job nothing; unannounced deaths count, and are in its history.
func TestCaseB014(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(block(nil, nil), kiln.NoTimeout)
		id := r.enqueue()
		for range 30 {
			s := r.start(kiln.ServerConfig{ShutdownTimeout: time.Second})
			pass(10 * time.Second)
			s.end()
		}
		if rec := r.job(id); rec.State != kiln.Enqueued || rec.Attempt != 0 {
			t.Fatalf("after 30 restarts: %s with attempt %d", rec.State, rec.Attempt)
		}
		r.start(bystander)
		for n := range 5 {
			for r.job(id).State != kiln.Enqueued {
				pass(time.Second)
			}
			r.seize(fmt.Sprintf("killed-%d", n), 1, false)
			pass(6 * time.Second)
		}
		rec := r.job(id)
		if n := len(rec.History); rec.Attempt != 5 || rec.State.Final() || n != 16 || rec.History[n-5].Reason != "orphaned" {
			t.Errorf("after 5 kills: %s with attempt %d, history %+v", rec.State, rec.Attempt, rec.History)
		}
	})
}
