package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// disturb does one of the larger mischiefs.
func (w *world) disturb() {
	if len(w.nodes) == 0 {
		w.spawn()
		return
	}
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	switch f := w.cfg.Faults; w.rng.IntN(4) {
	case 0:
		if f.Freeze {
			n.frozenUntil = w.now.Add(time.Duration(w.rng.IntN(int(3 * deadAfter))))
			n.begin(w, "freezes until "+n.frozenUntil.Sub(w.start).String())
		}
	case 1:
		if f.Kill {
			n.begin(w, "dies")
			w.remove(n)
			w.spawn()
		}
	case 2:
		if f.Stop && !n.stopping {
			n.begin(w, "stops")
			n.stopping = true
			n.engine.BeginStop()
			w.spawn()
		}
	case 3:
		w.hear(driver.Event{Kind: driver.Resync})
	}
}

// disorder does what the shape of a simulation adds to the mischiefs.
func (w *world) disorder() {
	if len(w.nodes) == 0 {
		return
	}
	f := w.cfg.Faults
	if f.Jump && w.rng.IntN(4) == 0 {
		w.ahead = time.Duration(w.rng.Int64N(int64(2*time.Hour))) - time.Hour
		w.jumpedAt = w.now
		w.logf("the store's clock jumps to %s ahead", w.ahead)
	}
	if f.Unregister && w.rng.IntN(4) == 0 {
		n := w.nodes[w.rng.IntN(len(w.nodes))]
		n.unregisteredAt = w.now
		w.logf("%s is unregistered by an operator", n.id)
		_ = w.store.Unregister(context.Background(), n.id)
	}
}

// verdict checks the end of a simulation: what went in came out, within its bounds, and nothing is left behind.
func (w *world) verdict() error {
	ctx := context.Background()
	if err := w.check(); err != nil {
		return err
	}
	if err := w.judgeSchedules(); err != nil {
		return err
	}
	counts, err := w.store.Counts(ctx)
	if err != nil {
		return err
	}
	if live := counts.Awaiting + counts.Scheduled + counts.Throttled + counts.Enqueued + counts.Processing; live != 0 {
		return fmt.Errorf("%d jobs are still live at the end: %+v", live, counts)
	}
	for _, id := range w.order {
		if err := w.judge(ctx, w.jobs[id]); err != nil {
			return err
		}
	}
	return w.finished()
}

// judge checks one job's end.
func (w *world) judge(ctx context.Context, rec *jobRecord) error {
	if rec.broken != nil {
		return rec.broken
	}
	job, err := w.store.Job(ctx, rec.id)
	if w.pruned(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("job %d was lost: %w", rec.id, err)
	}
	switch {
	case !job.State.Final():
		return fmt.Errorf("job %d ended %s", rec.id, job.State)
	case job.Attempt > job.MaxAttempts:
		return fmt.Errorf("job %d ended with attempt %d of %d", rec.id, job.Attempt, job.MaxAttempts)
	case job.FinalizedAt.IsZero():
		return fmt.Errorf("job %d is %s without a time", rec.id, job.State)
	}
	return nil
}

// pruned reports whether a job is gone because nobody wanted to keep it. The store's own check sees to it that only ended ones go.
func (w *world) pruned(err error) bool {
	return errors.Is(err, driver.ErrNotFound) && w.cfg.Shape.Retention.Succeeded >= 0
}

func (w *world) report() Report {
	r := Report{Steps: w.steps, Runs: w.runs, Elapsed: w.now.Sub(w.start)}
	for _, s := range w.schedules {
		r.Fired += len(s.fired)
	}
	for _, id := range w.order {
		job, err := w.store.Job(context.Background(), id)
		if err != nil {
			continue
		}
		switch job.State {
		case driver.Succeeded:
			r.Succeeded++
		case driver.Failed:
			r.Failed++
		case driver.Deleted:
			r.Deleted++
		}
	}
	return r
}
