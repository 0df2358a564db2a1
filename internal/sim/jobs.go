package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/engine"
)

// jobRecord is what the world knows of a job.
type jobRecord struct {
	id int64
	// requeued says that an operator sent it back, after which it may succeed again.
	requeued bool
	// deleted says that an operator asked for its deletion.
	deleted bool
	// parents are the jobs that it waits for.
	parents []driver.Parent
	// readyAt is when it was first seen in its queue.
	readyAt time.Time
	// done says that it was seen in a final state that nobody can change any more.
	done bool
	// live are the runs that may still write a result.
	live   []liveRun
	broken error
}

type liveRun struct {
	node *node
	run  *engine.Run
}

// insert stores a few jobs.
func (w *world) insert() {
	n := min(1+w.rng.IntN(20), w.left)
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = driver.InsertParams{
			Kind: "job", Queue: queues[w.rng.IntN(len(queues))], Args: []byte("{}"), Priority: int16(w.rng.IntN(3)),
			MaxAttempts: 1 + w.rng.IntN(5),
		}
		if w.rng.IntN(4) == 0 {
			jobs[i].Delay = time.Duration(w.rng.IntN(60_000)) * time.Millisecond
		}
		if w.cfg.Shape.Deadlines && w.rng.IntN(4) == 0 {
			jobs[i].Deadline = w.storeNow().Add(time.Duration(w.rng.IntN(90_000)) * time.Millisecond)
		}
	}
	if w.cfg.Shape.Keys {
		for i := range jobs {
			w.keyed(&jobs[i])
		}
	}
	if w.cfg.Shape.Flows {
		w.flow(jobs)
	}
	out, err := w.store.Insert(context.Background(), jobs)
	if err != nil {
		panic(err)
	}
	w.left -= n
	for i, o := range out {
		if o.Duplicate {
			continue
		}
		rec := &jobRecord{id: o.ID}
		for _, p := range jobs[i].Parents {
			if p.ID == 0 {
				p.ID = out[p.Index].ID
			}
			rec.wait(p)
		}
		w.jobs[o.ID] = rec
		w.order = append(w.order, o.ID)
		w.hear(driver.Event{Kind: driver.JobsReady, Queue: jobs[i].Queue})
	}
	w.logf("%d jobs inserted, from %d", n, out[0].ID)
	if w.cfg.Shape.Flows {
		w.seal()
	}
}

// client does what a client or an operator might.
func (w *world) client() {
	ctx := context.Background()
	switch w.rng.IntN(8) {
	default:
		if w.left > 0 {
			w.insert()
		}
	case 5:
		if rec := w.any(); rec != nil {
			n, _ := w.store.Delete(ctx, driver.Filter{IDs: []int64{rec.id}})
			if n > 0 {
				rec.deleted = true
				w.logf("job %d: deletion asked for", rec.id)
				w.hear(driver.Event{Kind: driver.CancelRequested, ID: rec.id})
			}
		}
	case 6:
		if rec := w.any(); rec != nil {
			n, _ := w.store.Requeue(ctx, driver.Filter{IDs: []int64{rec.id}})
			if n > 0 {
				rec.requeued = true
				w.logf("job %d: requeued", rec.id)
			}
		}
	case 7:
		q := queues[w.rng.IntN(len(queues))]
		_ = w.store.PauseQueue(ctx, q, w.rng.IntN(3) == 0)
		w.hear(driver.Event{Kind: driver.QueueChanged, Queue: q})
	}
}

func (w *world) any() *jobRecord {
	if len(w.order) == 0 {
		return nil
	}
	return w.jobs[w.order[w.rng.IntN(len(w.order))]]
}

// started holds the start of a run to the rules.
func (r *jobRecord) started(w *world, n *node, run *engine.Run) {
	job := run.Job()
	w.logf("%s: job %d starts, claim %d, attempt %d of %d", n.id, job.ID, job.Claim, job.Attempt, job.MaxAttempts)
	if job.Attempt > job.MaxAttempts {
		r.fail("job %d starts attempt %d of %d", job.ID, job.Attempt, job.MaxAttempts)
	}
	r.waited(w, job)
	for _, other := range r.live {
		if w.awake(other.node) && !w.outcast(n) && other.run.Context().Err() == nil && !w.cfg.Faults.Skew && !w.cfg.Faults.Rush {
			r.fail("job %d starts on %s under claim %d while %s, which is awake, runs it under claim %d and was not told to stop",
				job.ID, n.id, job.Claim, other.node.id, other.run.Job().Claim)
		}
	}
	r.live = append(r.live, liveRun{n, run})
}

// awake reports whether a server is in the cluster and has had time, since it was last frozen, to notice what it missed.
func (w *world) awake(n *node) bool {
	if n.frozen(w) || w.now.Sub(n.frozenUntil) < time.Second && !n.frozenUntil.IsZero() {
		return false
	}
	// A store whose clock jumped takes a heartbeat or two to be understood.
	if w.outcast(n) || w.jumpedAt.After(w.now.Add(-3*heartbeat)) {
		return false
	}
	for _, other := range w.nodes {
		if other == n {
			return true
		}
	}
	return false
}

// outcast reports whether an operator has removed the row of a server that lives, which it does not know until its heartbeats have told
// it so. Its jobs are given to others at once, those of a claim that is under way included.
func (w *world) outcast(n *node) bool { return n.unregisteredAt.After(w.now.Add(-3 * heartbeat)) }

func (r *jobRecord) fail(format string, args ...any) {
	if r.broken == nil {
		r.broken = fmt.Errorf(format, args...)
	}
}

// outcome draws how a run ends, as the root package would classify it.
func (r *jobRecord) outcome(w *world, ctx context.Context, job *driver.Job) driver.Outcome {
	roll := w.rng.IntN(10)
	if w.calm && roll > 6 {
		roll = 0
	}
	failed := roll >= 5
	cause := context.Cause(ctx)
	switch {
	case !failed:
		return driver.Outcome{State: driver.Succeeded}
	case cause == errCanceled || roll == 9:
		return driver.Outcome{State: driver.Deleted, Reason: "canceled"}
	case cause == errShutdown:
		return driver.Outcome{State: driver.Enqueued, Refund: true, Reason: "shutdown"}
	case roll == 8:
		return driver.Outcome{State: driver.Scheduled, Refund: true, Reason: "snoozed", Delay: time.Duration(w.rng.IntN(5000)) * time.Millisecond}
	case job.Attempt < job.MaxAttempts:
		return driver.Outcome{State: driver.Scheduled, Reason: "retry", Delay: time.Duration(w.rng.IntN(10_000)-2000) * time.Millisecond}
	}
	return driver.Outcome{State: driver.Failed, Reason: "exhausted"}
}

// ended notes the end of a run.
func (r *jobRecord) ended(n *node, run *engine.Run, out driver.Outcome) {
	for i := range r.live {
		if r.live[i].run == run {
			r.live = append(r.live[:i], r.live[i+1:]...)
			break
		}
	}
	n.world.logf("%s: job %d ends %s, claim %d", n.id, r.id, out.State, run.Job().Claim)
}

// final reports whether the job has ended.
func (r *jobRecord) final(w *world) bool {
	if r.done {
		return true
	}
	rec, err := w.store.Job(context.Background(), r.id)
	r.done = w.calm && (w.pruned(err) || err == nil && rec.State.Final())
	return r.done
}
