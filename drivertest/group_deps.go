package drivertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func depsCases() []testCase {
	return []testCase{
		{name: "Continuation", pins: "A job that waits for another is awaiting, is listed among that one's Children, and is released when it succeeds.", run: depsContinuation},
		{name: "Masks", pins: "A parent's end that its child's mask has releases the child; success or deletion outside of the mask dooms it with the reason `parent <id> <state>`; a failure outside of the mask lets it wait.", run: depsMasks},
		{name: "MasksJoined", pins: "The masks of one parent that is named several times are joined, and it counts once.", run: depsMasksJoined},
		{name: "FailedParent", pins: "The child of a failed parent stays awaiting, through Sweep too, and is released when the parent is requeued and succeeds.", run: depsFailedParent},
		{name: "FailedChild", pins: "A child that its parent's failure released is not touched by what the parent does later.", run: depsFailedChild},
		{name: "FinalParent", pins: "A parent that has ended already releases or dooms its child at once, or lets it wait if it failed.", run: depsFinalParent},
		{name: "Chain", pins: "A chain given by index runs in its order, one after the other.", run: depsChain},
		{name: "Cascade", pins: "A deletion at the head dooms the whole chain, each with its own parent in the reason, within ten sweeps; who waits for a deletion is released.", run: depsCascade},
		{name: "FanIn", pins: "Children of many parents that end at once, by many callers, are released exactly once.", run: depsFanIn},
		{name: "FanInDoom", pins: "The first doom wins, also over dependencies that are still open.", run: depsFanInDoom},
		{name: "Index", pins: "Parents are named by id and by index together, and may stand behind their children in the call; ids grow with the position.", run: depsIndex},
		{name: "IndexDoomed", pins: "A job whose index parent is born doomed is judged by it like by any deleted parent.", run: depsIndexDoomed},
		{name: "Invalid", pins: "A job that waits for itself, a cycle, an index outside of the call and a negative id are ErrInvalid and store nothing.", run: depsInvalid},
		{name: "MissingParent", pins: "A parent that does not exist is ErrNotFound, and nothing of the call is stored.", run: depsMissingParent},
		{name: "Resume/delay", pins: "A released job still honours its run time: scheduled while that is in the future, enqueued when it has passed; it keeps it either way.", run: depsResume},
		{name: "DeleteParent", pins: "Deleting a parent dooms or releases its children by their masks.", run: depsDeleteParent},
		{name: "DeleteChild", pins: "An awaiting job that is deleted stays deleted whatever its parents do.", run: depsDeleteChild},
		{name: "PrunedParent/jobs", pins: "Pruning a failed parent releases children whose mask has deletion and dooms the others with the reason `parent <id> pruned`, in that call; the dooms count as deleted.", run: depsPrunedParent},
		{name: "PrunedParent/batch", pins: "Pruning a failed member finishes its batch and releases what waited for that, in the same call.", run: depsPrunedMember},
		{name: "Wide", pins: "The dependents of one parent are all released, however many: what one call leaves, sweeps go on with.", run: depsWide},
		{name: "WideOrder", pins: "A parent that comes back and ends in another way before all of its dependents are settled settles each of them once, by the first end that settles it.", run: depsWideOrder},
		{name: "Long", pins: "A chain of any length is doomed to its end by sweeps.", run: depsLong},
	}
}

func depsContinuation(e *env) {
	parent := e.running(inQueue("parents"))
	res := e.insertAll(job(after(driver.OnSucceeded, parent.ID)), job(after(driver.OnSucceeded, parent.ID)), job())
	eq(e, "state in the result", res[0].State, driver.Awaiting)
	first, second := res[0].ID, res[1].ID
	e.awaits(first, 1)
	e.awaits(second, 1)
	eq(e, "Parents", e.record(first).Parents, []int64{parent.ID})
	eq(e, "Children", e.record(parent.ID).Children, []int64{first, second})
	e.order("jobs that can be claimed before the parent has ended", jobIDs(e.claim(10)), []int64{res[2].ID})
	e.sound("while the parent runs")
	e.apply(driver.Outcome{Ref: parent.Ref, State: driver.Scheduled, Delay: time.Hour, Reason: "retry"})
	e.awaits(first, 1)
	e.requeue(driver.Filter{IDs: []int64{parent.ID}})
	e.awaits(first, 1)
	e.runNext("parents", parent.ID, driver.Succeeded)
	e.released(first, driver.Enqueued)
	e.released(second, driver.Enqueued)
	claimed := e.claimExactly(2)
	e.order("released jobs", jobIDs(claimed), []int64{first, second})
	eq(e, "Parents of a claimed job", claimed[0].Parents, []int64{parent.ID})
	eq(e, "Children afterwards", e.record(parent.ID).Children, []int64{first, second})
	e.sound("afterwards")
}

func depsMasks(e *env) {
	for on := driver.OnSucceeded; on <= driver.OnFinished; on++ {
		for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
			queue := fmt.Sprintf("mask %d, %s", on, state)
			parent := e.running(inQueue(queue))
			child := e.insertOne(inQueue(queue), after(on, parent.ID))
			e.awaits(child, 1)
			before := e.now()
			e.end(parent, state)
			switch {
			case on.Has(state):
				e.released(child, driver.Enqueued)
			case state == driver.Failed:
				e.awaits(child, 1)
			default:
				r := e.doomed(child, parent.ID, string(state))
				e.between("FinalizedAt of a doomed job", r.FinalizedAt, before, e.now())
			}
		}
	}
	e.sound("afterwards")
}

func depsMasksJoined(e *env) {
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
		queue := string(state)
		parent := e.running(inQueue(queue))
		both := after(driver.OnSucceeded, parent.ID)
		child := e.insertOne(inQueue(queue), both, after(driver.OnFailed, parent.ID), both)
		e.awaits(child, 1)
		eq(e, "Parents", e.record(child).Parents, []int64{parent.ID})
		eq(e, "Children", e.record(parent.ID).Children, []int64{child})
		e.end(parent, state)
		if state == driver.Deleted {
			e.doomed(child, parent.ID, "deleted")
		} else {
			e.released(child, driver.Enqueued)
		}
	}
}

func depsFailedParent(e *env) {
	parent := e.running(inQueue("parents"))
	child := e.insertOne(after(driver.OnSucceeded|driver.OnDeleted, parent.ID))
	for range 2 {
		e.apply(driver.Outcome{Ref: parent.Ref, State: driver.Failed, Reason: "permanent"})
		e.sound("beside a failed parent")
		e.awaits(child, 1)
		e.requeue(driver.Filter{IDs: []int64{parent.ID}})
		e.awaits(child, 1)
		parent = e.claimOne("parents")
	}
	e.end(parent, driver.Succeeded)
	e.released(child, driver.Enqueued)
}

func depsFailedChild(e *env) {
	parent := e.running(inQueue("parents"))
	other := e.running(inQueue("others"))
	child := e.insertOne(after(driver.OnFailed, parent.ID))
	half := e.insertOne(after(driver.OnFailed, parent.ID), after(driver.OnSucceeded, other.ID))
	e.end(parent, driver.Failed)
	e.released(child, driver.Enqueued)
	e.awaits(half, 1)
	e.requeue(driver.Filter{IDs: []int64{parent.ID}})
	e.awaits(half, 1)
	e.runNext("parents", parent.ID, driver.Succeeded)
	e.released(child, driver.Enqueued)
	e.awaits(half, 1)
	e.end(other, driver.Succeeded)
	e.released(half, driver.Enqueued)
	e.sound("afterwards")
}

func depsFinalParent(e *env) {
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
		parent := e.bring(state, inQueue(string(state)))
		for on := driver.OnSucceeded; on <= driver.OnFinished; on++ {
			res := e.insertAll(job(inQueue("children"), after(on, parent)))[0]
			what := fmt.Sprintf("state in the result of a job with mask %d and a parent that is %s", on, state)
			switch {
			case on.Has(state):
				eq(e, what, res.State, driver.Enqueued)
				e.released(res.ID, driver.Enqueued)
			case state == driver.Failed:
				eq(e, what, res.State, driver.Awaiting)
				e.awaits(res.ID, 1)
			default:
				eq(e, what, res.State, driver.Deleted)
				e.doomed(res.ID, parent, string(state))
			}
			if !slices.Contains(e.record(parent).Children, res.ID) {
				e.Errorf("job %d is not among the Children of its parent, which had ended: %v", res.ID, e.record(parent).Children)
			}
		}
	}
	e.sound("afterwards")
}

func depsChain(e *env) {
	ids := e.insert(job(), job(needs(driver.OnSucceeded, 0)), job(needs(driver.OnSucceeded, 1)))
	for i, id := range ids {
		for _, later := range ids[i+1:] {
			e.awaits(later, 1)
		}
		e.runNext(queue1, id, driver.Succeeded)
	}
	e.countsAre("at the end", driver.Counts{Succeeded: 3})
	eq(e, "Parents of the last", e.record(ids[2]).Parents, []int64{ids[1]})
	eq(e, "Children of the first", e.record(ids[0]).Children, []int64{ids[1]})
}

func depsCascade(e *env) {
	ids := e.insert(
		job(), job(needs(driver.OnSucceeded, 0)), job(needs(driver.OnSucceeded, 1)), job(needs(driver.OnSucceeded, 2)),
		job(needs(driver.OnSucceeded, 3)), job(inQueue("side"), needs(driver.OnDeleted, 2)), job(inQueue("side"), needs(driver.OnFinished, 4)),
	)
	e.runNext(queue1, ids[0], driver.Deleted)
	e.doomed(ids[1], ids[0], "deleted") // the direct child at once
	e.sweepUp(10)
	for i := 1; i < 5; i++ {
		e.doomed(ids[i], ids[i-1], "deleted")
	}
	e.released(ids[5], driver.Enqueued)
	e.released(ids[6], driver.Enqueued)
	e.countsAre("afterwards: dooms count as deleted", driver.Counts{Deleted: 5, Enqueued: 2})
	eq(e, "statistics afterwards", e.totals(), driver.Point{Deleted: 5})
}

func depsFanIn(e *env) {
	const children, parents = 4, 16
	started := time.Now()
	running := e.runningAll(parents, "parents")
	all := make([]driver.InsertParams, children)
	for i := range all {
		all[i] = job(inQueue("children"), after(driver.OnSucceeded, jobIDs(running)...))
	}
	ids := e.insert(all...)
	for _, id := range ids {
		e.awaits(id, parents)
	}
	e.together(parents, func(i int) error {
		return e.finishUntilSettled([]driver.Outcome{{Ref: running[i].Ref, State: driver.Succeeded}}, func(driver.Outcome) {})
	})
	for _, id := range ids {
		e.released(id, driver.Enqueued)
	}
	e.order("released jobs", jobIDs(e.claim(children+1, "children")), ids)
	e.budget(started, 15*time.Second)
	e.sound("afterwards")
}

func depsFanInDoom(e *env) {
	running := e.runningAll(4, "parents")
	child := e.insertOne(after(driver.OnSucceeded, jobIDs(running)...))
	e.end(running[1], driver.Succeeded)
	e.awaits(child, 3)
	e.end(running[2], driver.Deleted)
	e.doomed(child, running[2].ID, "deleted")
	e.end(running[3], driver.Deleted)
	e.end(running[0], driver.Succeeded)
	e.doomed(child, running[2].ID, "deleted")
	eq(e, "deleted jobs counted", e.totals().Deleted, 3)
	// All in one call: one of the two dooms it, once.
	running = e.runningAll(4, "parents")
	child = e.insertOne(after(driver.OnSucceeded, jobIDs(running)...))
	e.apply(
		driver.Outcome{Ref: running[0].Ref, State: driver.Succeeded}, driver.Outcome{Ref: running[1].Ref, State: driver.Deleted},
		driver.Outcome{Ref: running[2].Ref, State: driver.Deleted}, driver.Outcome{Ref: running[3].Ref, State: driver.Failed},
	)
	eq(e, "history entries of a job that two parents doom", len(e.inState(child, driver.Deleted).History), 1)
	eq(e, "deleted jobs counted", e.totals().Deleted, 6)
}

func depsIndex(e *env) {
	outside := e.running(inQueue("outside"))
	ids := e.insert(
		job(needs(driver.OnSucceeded, 2), after(driver.OnFinished, outside.ID)),
		job(needs(driver.OnSucceeded, 0, 3)),
		job(needs(driver.OnFailed, 3)),
		job(),
	)
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			e.Errorf("ids are %v: they grow with the position, also where an earlier job waits for a later one", ids)
		}
	}
	for i, pending := range []int{2, 2, 1} {
		e.awaits(ids[i], pending)
	}
	eq(e, "Parents of a job with both kinds", e.record(ids[0]).Parents, []int64{ids[2], outside.ID})
	eq(e, "Children of the last of the call", e.record(ids[3]).Children, []int64{ids[1], ids[2]})
	e.runNext(queue1, ids[3], driver.Failed)
	e.awaits(ids[1], 2)
	e.runNext(queue1, ids[2], driver.Succeeded)
	e.awaits(ids[0], 1)
	e.end(outside, driver.Failed)
	e.runNext(queue1, ids[0], driver.Succeeded)
	e.awaits(ids[1], 1)
	e.requeue(driver.Filter{IDs: []int64{ids[3]}})
	e.runNext(queue1, ids[3], driver.Succeeded)
	e.runNext(queue1, ids[1], driver.Succeeded)
	e.sound("at the end")
}

func depsIndexDoomed(e *env) {
	gone := e.bring(driver.Deleted, inQueue("gone"))
	res := e.insertAll(
		job(needs(driver.OnSucceeded, 2)), job(needs(driver.OnDeleted, 2)), job(after(driver.OnSucceeded, gone)), job(needs(driver.OnSucceeded, 0)),
	)
	e.doomed(res[2].ID, gone, "deleted")
	e.sweepUp(10)
	e.doomed(res[0].ID, res[2].ID, "deleted")
	e.released(res[1].ID, driver.Enqueued)
	e.doomed(res[3].ID, res[0].ID, "deleted")
}

func depsMissingParent(e *env) {
	parent := e.running(inQueue("parents"))
	counts := e.counts()
	for _, jobs := range [][]driver.InsertParams{
		{job(after(driver.OnSucceeded, parent.ID+1000))},
		{job(), job(after(driver.OnSucceeded, parent.ID, parent.ID+1000)), job()},
		{job(needs(driver.OnSucceeded, 1)), job(after(driver.OnFinished, parent.ID+1000))},
		{job(withDelay(time.Hour), after(driver.OnSucceeded, parent.ID)), job(after(driver.OnFailed, parent.ID+1000))},
	} {
		_, err := e.s.Insert(e.ctx, jobs)
		e.wantErr(err, driver.ErrNotFound, "Insert of %d jobs with a parent that does not exist", len(jobs))
	}
	e.countsAre("after all refused calls", counts)
	eq(e, "Children of the parent that exists", len(e.record(parent.ID).Children), 0)
}

func depsResume(e *env) {
	parents := e.runningAll(3, "parents")
	at := e.now().Add(time.Hour)
	past := e.now().Add(-time.Hour)
	delayed := e.insertOne(after(driver.OnSucceeded, parents[0].ID), withRunAt(at))
	late := e.insertOne(after(driver.OnSucceeded, parents[0].ID), withRunAt(past))
	short := e.insertOne(after(driver.OnSucceeded, parents[1].ID), withDelay(20*time.Millisecond))
	due := e.record(short).RunAt
	e.end(parents[0], driver.Succeeded)
	e.given("RunAt of a released job that is delayed", e.released(delayed, driver.Scheduled).RunAt, at)
	e.given("RunAt of a released job that is overdue", e.released(late, driver.Enqueued).RunAt, past)
	e.pass(40 * time.Millisecond)
	e.end(parents[1], driver.Succeeded)
	e.given("RunAt of a job whose delay passed while it waited", e.released(short, driver.Enqueued).RunAt, due)
	e.countsAre("afterwards", driver.Counts{Scheduled: 1, Enqueued: 2, Processing: 1, Succeeded: 2})
}

func depsDeleteParent(e *env) {
	parents := e.insert(copies(2, inQueue("parents"))...)
	on := func(mask driver.Mask) int64 { return e.insertOne(after(mask, parents[0])) }
	succeeded, failed, deleted, finished := on(driver.OnSucceeded), on(driver.OnFailed), on(driver.OnDeleted), on(driver.OnFinished)
	eq(e, "jobs deleted: dependents that it dooms are not counted", e.delete(driver.Filter{IDs: parents[:1]}), 1)
	e.doomed(succeeded, parents[0], "deleted")
	e.doomed(failed, parents[0], "deleted")
	e.released(deleted, driver.Enqueued)
	e.released(finished, driver.Enqueued)
	eq(e, "statistics", e.totals(), driver.Point{Deleted: 3})
	// A failed parent that an operator deletes.
	failedParent := e.bring(driver.Failed, inQueue("failed"))
	waits := e.insertOne(after(driver.OnSucceeded, failedParent))
	also := e.insertOne(after(driver.OnDeleted, failedParent))
	e.delete(driver.Filter{State: driver.Failed})
	e.doomed(waits, failedParent, "deleted")
	e.released(also, driver.Enqueued)
}

func depsDeleteChild(e *env) {
	parent := e.running(inQueue("parents"))
	child := e.insertOne(after(driver.OnSucceeded, parent.ID))
	eq(e, "awaiting jobs deleted", e.delete(driver.Filter{IDs: []int64{child}}), 1)
	deleted := e.inState(child, driver.Deleted)
	eq(e, "reason", e.lastEntry(deleted, 1).Reason, "deleted")
	e.end(parent, driver.Succeeded)
	e.sound("afterwards")
	e.unchanged("the deleted child of a parent that succeeded", deleted)
	// Requeued, it starts over and does not wait.
	e.requeue(driver.Filter{IDs: []int64{child}})
	e.inState(child, driver.Enqueued)
}

func depsPrunedParent(e *env) {
	parent := e.bring(driver.Failed, inQueue("parents"))
	other := e.running(inQueue("others"))
	waits := func(on driver.Mask, mods ...func(*driver.InsertParams)) int64 {
		return e.insertOne(append(mods, after(on, parent))...)
	}
	succeeded, deleted := waits(driver.OnSucceeded), waits(driver.OnDeleted|driver.OnSucceeded)
	half := waits(driver.OnDeleted, after(driver.OnSucceeded, other.ID))
	grandchild := e.insertOne(after(driver.OnSucceeded, succeeded))
	eq(e, "rows pruned", e.prune(driver.PruneParams{Retention: keepAllBut(driver.Failed, 0)}), 1)
	e.gone("the pruned parent", parent)
	e.doomed(succeeded, parent, "pruned")
	e.released(deleted, driver.Enqueued)
	e.awaits(half, 1)
	e.sweepUp(3)
	e.doomed(grandchild, succeeded, "deleted")
	eq(e, "statistics", e.totals(), driver.Point{Failed: 1, Deleted: 2})
	e.end(other, driver.Succeeded)
	e.released(half, driver.Enqueued)
}

func depsPrunedMember(e *env) {
	outer := e.openBatch(driver.NewBatch{})
	inner := e.openBatch(driver.NewBatch{Parent: outer})
	j := e.running(inQueue("members"), inBatch(inner))
	then := e.insertOne(afterBatch(inner))
	last := e.insertOne(afterBatch(outer))
	e.seal(inner, outer)
	e.end(j, driver.Failed)
	e.unfinished("with a failed member", inner, outer)
	before := e.now()
	e.prune(driver.PruneParams{Retention: keepAllBut(driver.Failed, 0)})
	e.gone("the pruned member", j.ID)
	e.released(then, driver.Enqueued)
	e.released(last, driver.Enqueued)
	e.finished("without the pruned member", inner, outer)
	e.between("FinishedAt", e.batch(outer).FinishedAt, before, e.now())
	eq(e, "Total", e.batch(inner).Total, 1)
	eq(e, "Counts", len(e.batch(inner).Counts), 0)
	e.sound("afterwards")
}

// wide is more than what a store settles in one call.
const wide = 12_000

func depsWide(e *env) {
	for _, end := range []struct{ state, want driver.State }{{driver.Succeeded, driver.Enqueued}, {driver.Deleted, driver.Deleted}} {
		parent := e.running(inQueue("parents"))
		e.insert(copies(wide, inQueue("children"), after(driver.OnSucceeded, parent.ID))...)
		e.end(parent, end.state)
		late := e.insertAll(job(inQueue("late"), after(driver.OnSucceeded, parent.ID)))[0]
		eq(e, "state of a child that comes after the end", late.State, end.want)
		e.sweepUp(wide / 500)
		if n := e.counts().Awaiting; n != 0 {
			e.Errorf("%d of %d dependents of a job that is %s still wait", n, wide, end.state)
		}
		if end.want == driver.Enqueued {
			e.endAllAs(e.claimExactly(wide, "children"), driver.Succeeded)
		}
	}
	e.countsAre("afterwards", driver.Counts{Enqueued: 1, Succeeded: wide + 1, Deleted: wide + 1})
	e.sound("afterwards")
}

func depsWideOrder(e *env) {
	parent := e.running(inQueue("parents"))
	onFailed := e.insert(copies(wide, inQueue("failed"), after(driver.OnFailed, parent.ID))...)
	onSucceeded := e.insert(copies(10, inQueue("succeeded"), after(driver.OnSucceeded, parent.ID))...)
	e.end(parent, driver.Failed)
	e.requeue(driver.Filter{IDs: []int64{parent.ID}})
	late := e.insertOne(inQueue("late"), after(driver.OnFailed, parent.ID))
	e.awaits(late, 1)
	e.runNext("parents", parent.ID, driver.Succeeded)
	e.sweepUp(wide / 500)
	e.order("jobs released by the failure", jobIDs(e.claim(wide+1, "failed")), onFailed)
	e.order("jobs released by the success", jobIDs(e.claim(11, "succeeded")), onSucceeded)
	e.doomed(late, parent.ID, "succeeded")
	e.sound("afterwards")
}

func depsLong(e *env) {
	const long = 3000
	jobs := copies(long, inQueue("chain"))
	for i := range jobs[1:] {
		needs(driver.OnSucceeded, i)(&jobs[i+1])
	}
	ids := e.insert(jobs...)
	e.runNext("chain", ids[0], driver.Deleted)
	e.sweepUp(long / 100)
	e.countsAre("afterwards", driver.Counts{Deleted: long})
	for _, i := range []int{1, 2, long / 2, long - 1} {
		e.doomed(ids[i], ids[i-1], "deleted")
	}
}
