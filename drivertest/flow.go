package drivertest

import (
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// after lets a job wait for outcomes of others.
func after(on driver.Mask, parents ...int64) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) {
		for _, id := range parents {
			p.Parents = append(p.Parents, driver.Parent{ID: id, On: on})
		}
	}
}

// needs lets a job wait for outcomes of others of the same call.
func needs(on driver.Mask, indices ...int) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) {
		for _, i := range indices {
			p.Parents = append(p.Parents, driver.Parent{Index: i, On: on})
		}
	}
}

func inBatch(id int64) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.BatchID = id }
}

func afterBatch(id int64) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.AfterBatch = id }
}

// end ends a running job.
func (e *env) end(j driver.Job, state driver.State) {
	e.Helper()
	e.apply(driver.Outcome{Ref: j.Ref, State: state})
}

// runningAll inserts n jobs into a queue, where nothing else is ready, and claims them.
func (e *env) runningAll(n int, queue string, mods ...func(*driver.InsertParams)) []driver.Job {
	e.Helper()
	e.insert(copies(n, append(mods, inQueue(queue))...)...)
	return e.claimExactly(n, queue)
}

// endAllAs ends running jobs in one call.
func (e *env) endAllAs(jobs []driver.Job, state driver.State) {
	e.Helper()
	outs := make([]driver.Outcome, len(jobs))
	for i, j := range jobs {
		outs[i] = driver.Outcome{Ref: j.Ref, State: state}
	}
	e.apply(outs...)
}

// runNext claims the one job that is ready in a queue, which has to be the given one, and ends it.
func (e *env) runNext(queue string, id int64, state driver.State) {
	e.Helper()
	j := e.claimOne(queue)
	if j.ID != id {
		e.Fatalf("Claim in queue %q returned job %d, want %d", queue, j.ID, id)
	}
	e.end(j, state)
}

func (e *env) sweep(limit int) int {
	e.Helper()
	n, err := e.s.Sweep(e.ctx, limit)
	e.must(err, "Sweep(%d)", limit)
	return n
}

// sweepUp sweeps until nothing is left, at most so many times.
func (e *env) sweepUp(most int) {
	e.Helper()
	for range most {
		if e.sweep(1000) == 0 {
			return
		}
	}
	if n := e.sweep(1000); n != 0 {
		e.Errorf("after %d sweeps one more still changes %d rows", most, n)
	}
}

// sound expects a sweep to find nothing.
func (e *env) sound(what string) {
	e.Helper()
	for range 3 {
		if n := e.sweep(1000); n != 0 {
			e.Errorf("%s: Sweep changed %d rows, want none on consistent data", what, n)
		}
	}
}

// awaits expects a job to wait for so many things.
func (e *env) awaits(id int64, pending int) {
	e.Helper()
	r := e.inState(id, driver.Awaiting)
	eq(e, fmt.Sprintf("PendingDeps of job %d", id), r.PendingDeps, pending)
}

// released expects a job to have got into a state because it waits for nothing any more.
func (e *env) released(id int64, want driver.State) driver.Record {
	e.Helper()
	r := e.inState(id, want)
	eq(e, fmt.Sprintf("PendingDeps of the released job %d", id), r.PendingDeps, 0)
	eq(e, fmt.Sprintf("history entries of the released job %d", id), len(r.History), 0)
	return r
}

// doomed expects a job to be deleted for what a parent became.
func (e *env) doomed(id, parent int64, end string) driver.Record {
	e.Helper()
	r := e.inState(id, driver.Deleted)
	entry := e.lastEntry(r, 1)
	entry.At = r.FinalizedAt
	e.entryIs(fmt.Sprintf("the entry of the doomed job %d", id), entry, driver.Entry{
		State: driver.Deleted, Reason: fmt.Sprintf("parent %d %s", parent, end),
	}, r.FinalizedAt, r.FinalizedAt)
	eq(e, fmt.Sprintf("PendingDeps of the doomed job %d", id), r.PendingDeps, 0)
	return r
}

func (e *env) openBatch(b driver.NewBatch) int64 {
	e.Helper()
	id, err := e.s.OpenBatch(e.ctx, b)
	e.must(err, "OpenBatch(%+v)", b)
	if id <= 0 {
		e.Fatalf("OpenBatch returned id %d, want one above 0", id)
	}
	return id
}

func (e *env) seal(ids ...int64) {
	e.Helper()
	for _, id := range ids {
		e.must(e.s.SealBatch(e.ctx, id), "SealBatch(%d)", id)
	}
}

func (e *env) batch(id int64) driver.Batch {
	e.Helper()
	b, err := e.s.Batch(e.ctx, id)
	e.must(err, "Batch(%d)", id)
	if b.ID != id {
		e.Fatalf("Batch(%d) returned batch %d", id, b.ID)
	}
	return b
}

// unfinished and finished expect batches to have finished or not.
func (e *env) unfinished(what string, ids ...int64) {
	e.Helper()
	for _, id := range ids {
		if b := e.batch(id); !b.FinishedAt.IsZero() {
			e.Errorf("%s: batch %d has finished: %+v", what, id, b)
		}
	}
}

func (e *env) finished(what string, ids ...int64) {
	e.Helper()
	for _, id := range ids {
		b := e.batch(id)
		if b.FinishedAt.IsZero() {
			e.Errorf("%s: batch %d has not finished: %+v", what, id, b)
		}
		e.utc("FinishedAt", b.FinishedAt)
	}
}
