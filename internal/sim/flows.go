package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/kilnjobs/kiln/driver"
)

// masks are those that let nobody wait for a failed job for ever, since nobody else requeues them.
var masks = []driver.Mask{driver.OnFinished, driver.OnSucceeded | driver.OnFailed, driver.OnFailed, driver.OnFailed | driver.OnDeleted}

// flow gives jobs that are about to be inserted parents and a batch. The last of the jobs of a batch may wait for its end.
func (w *world) flow(jobs []driver.InsertParams) {
	for i := range jobs {
		if w.rng.IntN(3) > 0 {
			continue
		}
		for range 1 + w.rng.IntN(3) {
			p := driver.Parent{On: masks[w.rng.IntN(len(masks))]}
			if rec := w.any(); rec != nil && w.rng.IntN(2) == 0 {
				p.ID = rec.id
				if _, err := w.store.Job(context.Background(), p.ID); err != nil {
					continue
				}
			} else if p.Index = w.rng.IntN(len(jobs)); p.Index >= i {
				continue
			}
			jobs[i].Parents = append(jobs[i].Parents, p)
		}
	}
	if len(jobs) < 2 || w.rng.IntN(2) == 0 {
		return
	}
	batch := driver.NewBatch{}
	if n := len(w.batches); n > 0 && w.rng.IntN(2) == 0 {
		around := w.batches[w.rng.IntN(n)]
		if b, err := w.store.Batch(context.Background(), around); err == nil && b.FinishedAt.IsZero() {
			batch.Parent = around
		}
	}
	if batch.Parent != 0 {
		// A job from before may wait for the batch around: who waits for that one in turn would wait for itself.
		for i := range jobs {
			jobs[i].Parents = slices.DeleteFunc(jobs[i].Parents, func(p driver.Parent) bool { return p.ID != 0 })
			// Who waits for a duplicate waits for the job from before that holds its key.
			jobs[i].UniqueKey, jobs[i].UniqueFor, jobs[i].UniqueReplace, jobs[i].UniqueDebounce = nil, 0, false, 0
		}
	}
	id, err := w.store.OpenBatch(context.Background(), batch)
	if err != nil {
		panic(err)
	}
	w.batches = append(w.batches, id)
	for i := range jobs {
		switch {
		case i < len(jobs)-1:
			jobs[i].BatchID = id
		default:
			jobs[i].AfterBatch, jobs[i].BatchID = id, batch.Parent
		}
	}
}

// seal seals the newest batch, sooner or later, and at the latest when the faults end.
func (w *world) seal() {
	for len(w.batches) > w.sealed && (w.calm || w.rng.IntN(3) > 0) {
		if err := w.store.SealBatch(context.Background(), w.batches[w.sealed]); err != nil && !w.pruned(err) {
			panic(err)
		}
		w.sealed++
	}
}

// clear deletes what has failed in batches, which would stay open for ever.
func (w *world) clear() {
	for _, id := range w.batches {
		page, err := w.store.Jobs(context.Background(), driver.JobQuery{State: driver.Failed, BatchID: id, Limit: 500})
		if err != nil {
			panic(err)
		}
		for _, r := range page.Records {
			w.jobs[r.ID].deleted = true
		}
		if _, err := w.store.Delete(context.Background(), driver.Filter{State: driver.Failed, BatchID: id}); err != nil {
			panic(err)
		}
	}
}

// wait notes a parent. The masks of one that is named twice are joined.
func (r *jobRecord) wait(p driver.Parent) {
	for i := range r.parents {
		if r.parents[i].ID == p.ID {
			r.parents[i].On |= p.On
			return
		}
	}
	r.parents = append(r.parents, p)
}

// waited checks that a job that starts has waited for what it was to wait for. Operators who send jobs back are not held to it.
func (r *jobRecord) waited(w *world, job *driver.Job) {
	rec, err := w.store.Job(context.Background(), job.ID)
	if err != nil || r.requeued {
		return
	}
	for _, p := range r.parents {
		parent, err := w.store.Job(context.Background(), p.ID)
		if known := w.jobs[p.ID]; err != nil || known.requeued || known.deleted {
			continue
		}
		if !p.On.Has(parent.State) {
			r.fail("job %d, which waits for the ends %d of job %d, starts while that is %s", job.ID, p.On, p.ID, parent.State)
		}
	}
	if rec.AfterBatch == 0 {
		return
	}
	if b, err := w.store.Batch(context.Background(), rec.AfterBatch); err == nil && b.FinishedAt.IsZero() {
		r.fail("job %d starts while batch %d, which it waits for, is open: %+v", job.ID, rec.AfterBatch, b)
	}
}

// finished checks that no batch is left behind, and that its members are where its end says.
func (w *world) finished() error {
	for _, id := range w.batches {
		b, err := w.store.Batch(context.Background(), id)
		if w.pruned(err) {
			continue
		}
		if err != nil {
			return err
		}
		if b.FinishedAt.IsZero() {
			return fmt.Errorf("batch %d is open at the end: %+v", id, b)
		}
	}
	return nil
}
