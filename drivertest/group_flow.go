package drivertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// The cases of other groups that need dependencies or batches.

func insertFlowCases() []testCase {
	return []testCase{
		{name: "States/parents", pins: "The first state is deleted with a parent that dooms the job, also over one that is open; awaiting with an open one, whatever its run time; else as without parents.", run: insertParentStates},
		{name: "Fields/parents", pins: "Parents, AfterBatch and PendingDeps are in the record, and the parents in what a claim hands out.", run: insertFieldsParents},
		{name: "Fields/batch", pins: "The batch that a job belongs to is in record, list and claim.", run: insertFieldsBatch},
		{name: "Title/doomed", pins: "A job that is born doomed has its title, and everything else that it was given.", run: insertTitleDoomed},
	}
}

func claimFlowCases() []testCase {
	return []testCase{
		{name: "OnlyEnqueued/awaiting", pins: "An awaiting job is never claimed.", run: claimNoAwaiting},
	}
}

func finishFlowCases() []testCase {
	return []testCase{
		{name: "Stale/awaiting", pins: "Outcomes for an awaiting job are stale under any claim.", run: func(e *env) {
			e.stale("an awaiting job", driver.Ref{ID: e.awaiting(), Claim: 0})
			e.stale("an awaiting job", driver.Ref{ID: e.awaiting(), Claim: 1})
		}},
	}
}

func coordinateFlowCases() []testCase {
	return []testCase{
		{name: "Sweep/flows", pins: "Sweep finds nothing to do beside dependencies and batches in any state.", run: sweepFlows},
		{name: "Prune/parents", pins: "A pruned parent is ErrNotFound for new jobs; its children keep its id, and pruned children leave the list of their parent.", run: pruneParents},
		{name: "PromoteDeadline/dependents", pins: "A job that its deadline ends dooms and releases its dependents and leaves its batch, in the same call; an awaiting one is ended too.", run: deadlineDependents},
		{name: "PruneBatches", pins: "Prune removes finished batches that have no members any more, once they are as old as a succeeded job may become, and each counts one; open and busy ones stay.", run: pruneBatches},
	}
}

func adminFlowCases() []testCase {
	return []testCase{
		{name: "FilterFields/batch", pins: "A filter's BatchID matches the members of one batch.", run: filterBatch},
		{name: "Delete/awaiting", pins: "Awaiting jobs are deleted like others, by id and by state.", run: deleteAwaiting},
		{name: "RequeueSkips/awaiting", pins: "Requeue skips awaiting jobs, without an entry.", run: requeueAwaiting},
	}
}

func inspectFlowCases() []testCase {
	return []testCase{
		{name: "JobsOrder/awaiting", pins: "Awaiting jobs are listed by id, latest first.", run: listAwaiting},
		{name: "JobsFilter/batch", pins: "A query's BatchID finds the members of one batch, in every state.", run: listBatch},
		{name: "Counts/awaiting", pins: "Counts has the number of awaiting jobs.", run: countsAwaiting},
		{name: "DeletedStats/cascade", pins: "Each job that a deletion dooms counts once as deleted.", run: deletedCascade},
		{name: "DeletedStats/doomed", pins: "A job that is born doomed does not count as deleted.", run: deletedDoomed},
		{name: "Outputs", pins: "Outputs returns the outputs of succeeded jobs by id; all other ids are left out.", needs: needsOutputReader, run: inspectOutputs},
		{name: "States", pins: "States returns the states of jobs by id; unknown ids are left out.", needs: needsStateReader, run: inspectStates},
		{name: "Runs", pins: "Runs returns when each attempt began whose end has an entry, oldest first, and nothing for entries of operators.", needs: needsHistoryReader, run: inspectRuns},
		{name: "LastErrors", pins: "LastErrors returns the newest error of each job by id; jobs without one and unknown ids are left out.", needs: needsHistoryReader, run: inspectLastErrors},
	}
}

func notifyFlowCases() []testCase {
	return []testCase{
		{name: "Finish/child", pins: "A Finish tells JobsReady for the queues of jobs that it released, by parents and by batches.", needs: needsNotifier, run: notifyChild},
	}
}

// awaiting inserts a job that waits for another.
func (e *env) awaiting(mods ...func(*driver.InsertParams)) int64 {
	e.Helper()
	parent := e.insertOne(inQueue("parents of the awaiting"))
	id := e.insertOne(append(mods, after(driver.OnSucceeded, parent))...)
	e.awaits(id, 1)
	return id
}

func insertParentStates(e *env) {
	open := e.running(inQueue("open")).ID
	done := e.bring(driver.Succeeded, inQueue("done"))
	gone := e.bring(driver.Deleted, inQueue("gone"))
	on := func(parents ...int64) func(*driver.InsertParams) { return after(driver.OnSucceeded, parents...) }
	past := e.now().Add(-time.Hour)
	for _, c := range []struct {
		what string
		p    driver.InsertParams
		want driver.State
	}{
		{"an open parent", job(on(open)), driver.Awaiting},
		{"an open parent and a delay", job(on(open), withDelay(time.Hour)), driver.Awaiting},
		{"a parent that dooms it", job(on(gone)), driver.Deleted},
		{"a parent that dooms it and a delay", job(on(gone), withDelay(time.Hour)), driver.Deleted},
		{"a parent that dooms it before an open one", job(on(gone, open)), driver.Deleted},
		{"a parent that dooms it behind an open one", job(on(open, gone)), driver.Deleted},
		{"a resolved parent", job(on(done)), driver.Enqueued},
		{"a resolved parent and an open one", job(on(done, open)), driver.Awaiting},
		{"a resolved parent and a delay", job(on(done), withDelay(time.Hour)), driver.Scheduled},
		{"a resolved parent and a run time that has passed", job(on(done), withRunAt(past)), driver.Enqueued},
	} {
		res := e.insertAll(c.p)[0]
		eq(e, "state in the result of a job with "+c.what, res.State, c.want)
		r := e.inState(res.ID, c.want)
		switch c.want {
		case driver.Awaiting:
			e.awaits(res.ID, 1)
		case driver.Deleted:
			e.doomed(res.ID, gone, "deleted")
			eq(e, "Attempt of a job that was born doomed", r.Attempt, 0)
		default:
			e.released(res.ID, c.want)
		}
	}
}

func insertFieldsParents(e *env) {
	parents := e.runningAll(3, "parents")
	b := e.openBatch(driver.NewBatch{})
	p := everything()
	after(driver.OnSucceeded, parents[2].ID, parents[0].ID)(&p)
	after(driver.OnFinished, parents[1].ID)(&p)
	p.AfterBatch = b
	id := e.insert(p)[0]
	want := []int64{parents[2].ID, parents[0].ID, parents[1].ID}
	e.awaits(id, 4)
	r := e.record(id)
	e.sameParams("record", r.Job, p)
	eq(e, "Parents in the record", r.Parents, want)
	eq(e, "AfterBatch in the record", r.AfterBatch, b)
	listed := e.page(driver.JobQuery{State: driver.Awaiting}).Records[0]
	eq(e, "Parents in the list", listed.Parents, want)
	eq(e, "AfterBatch in the list", listed.AfterBatch, b)
	eq(e, "PendingDeps in the list", listed.PendingDeps, 4)
	e.endAllAs(parents, driver.Succeeded)
	e.awaits(id, 1)
	e.seal(b)
	j := e.claimOne(p.Queue)
	e.sameParams("claim", j, p)
	eq(e, "Parents in the claim", j.Parents, want)
	e.end(j, driver.Succeeded)
	r = e.record(id)
	eq(e, "Parents of an ended job", r.Parents, want)
	eq(e, "AfterBatch of an ended job", r.AfterBatch, b)
}

func insertFieldsBatch(e *env) {
	p := everything()
	p.BatchID = e.openBatch(driver.NewBatch{})
	id := e.insert(p)[0]
	e.sameParams("record", e.record(id).Job, p)
	e.sameParams("list", e.page(driver.JobQuery{State: driver.Enqueued}).Records[0].Job, p)
	j := e.claimOne(p.Queue)
	e.sameParams("claim", j, p)
	e.end(j, driver.Succeeded)
	e.sameParams("record of the ended job", e.record(id).Job, p)
}

func insertTitleDoomed(e *env) {
	gone := e.bring(driver.Deleted)
	p := everything()
	after(driver.OnSucceeded, gone)(&p)
	p.Deadline = e.now().Add(time.Hour)
	before := e.now()
	id := e.insert(p)[0]
	r := e.doomed(id, gone, "deleted")
	e.sameParams("record", r.Job, p)
	e.between("FinalizedAt", r.FinalizedAt, before, e.now())
	e.between("CreatedAt", r.CreatedAt, before, e.now())
	e.requeue(driver.Filter{IDs: []int64{id}})
	j := e.claimOne(p.Queue)
	e.sameParams("claim of the requeued job", j, p)
}

func claimNoAwaiting(e *env) {
	e.awaiting()
	e.awaiting(withPriority(100), withRunAt(e.now().Add(-time.Hour)))
	eq(e, "jobs claimed", len(e.claim(10)), 0)
	e.promote(10)
	e.sound("beside awaiting jobs")
	eq(e, "jobs claimed after Promote and Sweep", len(e.claim(10)), 0)
}

func sweepFlows(e *env) {
	b := e.openBatch(driver.NewBatch{})
	inner := e.openBatch(driver.NewBatch{Parent: b})
	for _, state := range []driver.State{driver.Scheduled, driver.Enqueued, driver.Processing, driver.Failed, driver.Succeeded, driver.Deleted} {
		id := e.bring(state, inQueue(string(state)), inBatch(inner))
		for on := driver.OnSucceeded; on <= driver.OnFinished; on++ {
			e.insert(job(inQueue("children"), after(on, id)), job(inQueue("children"), needs(on, 0), inBatch(b)), job(afterBatch(b), needs(on, 0)))
		}
	}
	e.seal(b, inner)
	e.sweepUp(5)
	e.sound("with dependencies and batches in all states")
}

func pruneParents(e *env) {
	parent := e.bring(driver.Succeeded, inQueue("parents"))
	kept := e.running(inQueue("kept"))
	child := e.insertOne(after(driver.OnSucceeded, parent), after(driver.OnSucceeded, kept.ID))
	e.prune(driver.PruneParams{})
	e.gone("the pruned parent", parent)
	_, err := e.s.Insert(e.ctx, []driver.InsertParams{job(after(driver.OnSucceeded, parent))})
	e.wantErr(err, driver.ErrNotFound, "Insert with a pruned parent")
	e.awaits(child, 1)
	eq(e, "Parents of the child", e.record(child).Parents, []int64{parent, kept.ID})
	e.delete(driver.Filter{IDs: []int64{child}})
	e.prune(driver.PruneParams{})
	e.gone("the pruned child", child)
	eq(e, "Children of the parent", len(e.record(kept.ID).Children), 0)
	e.end(kept, driver.Succeeded)
	e.sound("afterwards")
}

func deadlineDependents(e *env) {
	b := e.openBatch(driver.NewBatch{})
	deadline := e.now().Add(20 * time.Millisecond)
	late := e.insertOne(inQueue("late"), inBatch(b), withDelay(time.Hour), withDeadline(deadline))
	e.seal(b)
	open := e.running(inQueue("open"))
	doomed := e.insertOne(after(driver.OnSucceeded, late))
	freed := e.insertOne(after(driver.OnDeleted, late))
	then := e.insertOne(afterBatch(b))
	waiting := e.insertOne(after(driver.OnSucceeded, open.ID), withDeadline(deadline))
	behind := e.insertOne(after(driver.OnDeleted, waiting))
	e.pass(40 * time.Millisecond)
	e.promote(10)
	for _, id := range []int64{late, waiting} {
		r := e.inState(id, driver.Deleted)
		eq(e, "reason", e.lastEntry(r, 1).Reason, "deadline")
		eq(e, "PendingDeps", r.PendingDeps, 0)
	}
	e.doomed(doomed, late, "deleted")
	e.released(freed, driver.Enqueued)
	e.released(behind, driver.Enqueued)
	e.finished("after its member was ended", b)
	e.released(then, driver.Enqueued)
	e.sound("afterwards")
}

func pruneBatches(e *env) {
	open := e.openBatch(driver.NewBatch{})
	busy, done := e.openBatch(driver.NewBatch{}), e.openBatch(driver.NewBatch{})
	e.running(inQueue("busy"), inBatch(busy))
	e.end(e.running(inBatch(done)), driver.Succeeded)
	e.end(e.running(inBatch(open)), driver.Succeeded)
	e.seal(busy, done)
	e.pass(10 * time.Millisecond)
	empty := e.openBatch(driver.NewBatch{})
	e.seal(empty)
	eq(e, "rows pruned with retentions of an hour", e.prune(driver.PruneParams{Retention: driver.Retention{Succeeded: time.Hour, Deleted: time.Hour, Failed: -1}}), 0)
	eq(e, "AfterBatch on an empty batch that has finished", e.insertAll(job(afterBatch(empty)))[0].State, driver.Enqueued)
	total := 0
	for range 3 {
		total += e.prune(driver.PruneParams{})
	}
	eq(e, "rows pruned: two jobs and two batches", total, 4)
	if _, err := e.s.Batch(e.ctx, done); !errors.Is(err, driver.ErrNotFound) {
		e.Errorf("Batch of a finished batch without members after three prunes: %v, want ErrNotFound", err)
	}
	e.order("batches afterwards", e.listBatches(driver.BatchQuery{}), []int64{busy, open})
	eq(e, "Total of a batch whose members were pruned", e.batch(open).Total, 1)
	eq(e, "Counts of a batch whose members were pruned", len(e.batch(open).Counts), 0)
}

func filterBatch(e *env) {
	a, b := e.openBatch(driver.NewBatch{}), e.openBatch(driver.NewBatch{})
	ids := e.insert(job(inBatch(a)), job(inBatch(b)), job(), job(inBatch(a), inQueue("other")), job(inBatch(a), withDelay(time.Hour)))
	eq(e, "jobs of a batch deleted by id", e.delete(driver.Filter{IDs: ids[:2], BatchID: b}), 1)
	eq(e, "jobs of a batch deleted by state", e.delete(driver.Filter{State: driver.Enqueued, BatchID: a}), 2)
	eq(e, "scheduled jobs of a batch requeued", e.requeue(driver.Filter{State: driver.Scheduled, BatchID: a}), 1)
	eq(e, "jobs of a batch that does not exist", e.delete(driver.Filter{State: driver.Enqueued, BatchID: b + 1000}), 0)
	for i, want := range []driver.State{driver.Deleted, driver.Deleted, driver.Enqueued, driver.Deleted, driver.Enqueued} {
		e.inState(ids[i], want)
	}
}

func deleteAwaiting(e *env) {
	first, second, third := e.awaiting(), e.awaiting(inQueue("other")), e.awaiting(withDelay(time.Hour))
	eq(e, "awaiting jobs deleted by id", e.delete(driver.Filter{IDs: []int64{first}}), 1)
	eq(e, "awaiting jobs of a queue deleted", e.delete(driver.Filter{State: driver.Awaiting, Queue: "other"}), 1)
	eq(e, "awaiting jobs deleted by state", e.delete(driver.Filter{State: driver.Awaiting}), 1)
	eq(e, "awaiting jobs deleted once more", e.delete(driver.Filter{State: driver.Awaiting}), 0)
	for _, id := range []int64{first, second, third} {
		r := e.inState(id, driver.Deleted)
		eq(e, "reason", e.lastEntry(r, 1).Reason, "deleted")
		eq(e, "PendingDeps", r.PendingDeps, 0)
	}
}

func requeueAwaiting(e *env) {
	id := e.awaiting()
	before := e.record(id)
	eq(e, "awaiting jobs requeued by id", e.requeue(driver.Filter{IDs: []int64{id}}), 0)
	eq(e, "awaiting jobs requeued by state", e.requeue(driver.Filter{State: driver.Awaiting}), 0)
	e.unchanged("an awaiting job", before)
}

func listAwaiting(e *env) {
	parent := e.insertOne(inQueue("parents"))
	var want []int64
	for i := range 9 {
		want = append(want, e.insertOne(after(driver.OnSucceeded, parent), withPriority(int16(i*7%5)), withDelay(time.Duration(9-i)*time.Minute)))
	}
	slices.Reverse(want)
	e.order("awaiting jobs", e.listed(driver.JobQuery{State: driver.Awaiting}), want)
	e.walk(driver.JobQuery{State: driver.Awaiting, Limit: 2}, want)
}

func listBatch(e *env) {
	b := e.openBatch(driver.NewBatch{})
	e.insert(copies(3)...)
	want := map[driver.State]int64{driver.Awaiting: e.awaiting(inBatch(b))}
	for _, state := range []driver.State{driver.Scheduled, driver.Enqueued, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted} {
		e.bring(state, inQueue("beside "+string(state)))
		want[state] = e.bring(state, inQueue(string(state)), inBatch(b))
	}
	for state, id := range want {
		e.order(fmt.Sprintf("%s jobs of a batch", state), e.listed(driver.JobQuery{State: state, BatchID: b}), []int64{id})
		eq(e, fmt.Sprintf("%s jobs of another batch", state), len(e.listed(driver.JobQuery{State: state, BatchID: b + 1000})), 0)
	}
}

func countsAwaiting(e *env) {
	e.awaiting()
	e.awaiting(withDelay(time.Hour))
	e.countsAre("with two awaiting jobs", driver.Counts{Awaiting: 2, Enqueued: 2})
	e.delete(driver.Filter{State: driver.Awaiting})
	e.countsAre("after they were deleted", driver.Counts{Enqueued: 2, Deleted: 2})
}

func deletedCascade(e *env) {
	ids := e.insert(job(), job(needs(driver.OnSucceeded, 0)), job(needs(driver.OnSucceeded, 0)), job(needs(driver.OnSucceeded, 1, 2)))
	eq(e, "jobs deleted: those that it dooms are not counted", e.delete(driver.Filter{IDs: ids[:1]}), 1)
	e.sweepUp(10)
	e.countsAre("after a cascade", driver.Counts{Deleted: 4})
	eq(e, "statistics", e.totals(), driver.Point{Deleted: 4})
}

func deletedDoomed(e *env) {
	gone := e.bring(driver.Deleted)
	e.insertOne(after(driver.OnSucceeded, gone))
	e.countsAre("with a job that was born doomed", driver.Counts{Deleted: 1})
	eq(e, "statistics", e.totals(), driver.Point{Deleted: 1})
}

func needsOutputReader(e *env) string {
	if _, ok := e.s.(driver.OutputReader); !ok {
		return "the store is no OutputReader"
	}
	return ""
}

func inspectOutputs(e *env) {
	outputs := func(ids ...int64) map[int64][]byte {
		e.Helper()
		out, err := e.s.(driver.OutputReader).Outputs(e.ctx, ids)
		e.must(err, "Outputs(%v)", ids)
		return out
	}
	eq(e, "outputs of no jobs", len(outputs()), 0)
	var ids []int64
	want := map[int64][]byte{}
	for i, state := range []driver.State{driver.Succeeded, driver.Succeeded, driver.Deleted, driver.Failed, driver.Succeeded} {
		j := e.running()
		out := driver.Outcome{Ref: j.Ref, State: state}
		if i > 0 {
			out.Output = fmt.Appendf(nil, `{"n": %d,  "s": "\u0000"}`, i)
		}
		if i > 0 && state == driver.Succeeded {
			want[j.ID] = out.Output
		}
		e.apply(out)
		ids = append(ids, j.ID)
	}
	ids = append(ids, ids[1], ids[4]+1000, e.insertOne())
	eq(e, "outputs", outputs(ids...), want)
	e.requeue(driver.Filter{IDs: ids[1:2]})
	delete(want, ids[1])
	eq(e, "outputs after one of the jobs was requeued", outputs(ids...), want)
}

func notifyChild(e *env) {
	b := e.openBatch(driver.NewBatch{})
	j := e.running(inQueue("parents"), inBatch(b))
	e.seal(b)
	e.insert(
		job(inQueue("children"), after(driver.OnSucceeded, j.ID)), job(inQueue("others"), after(driver.OnFinished, j.ID)), job(inQueue("then"), afterBatch(b)),
		job(inQueue("later"), after(driver.OnFinished, j.ID), withDelay(time.Hour)),
	)
	s := e.subscribe()
	e.end(j, driver.Succeeded)
	s.hears("the end of a parent and of a batch", ready("children"), ready("others"), ready("then"))
	empty := e.openBatch(driver.NewBatch{})
	e.insertOne(inQueue("sealed"), afterBatch(empty))
	e.seal(empty)
	s.hears("a seal", ready("sealed"))
}
