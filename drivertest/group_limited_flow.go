package drivertest

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// The cases where unique keys and limits meet dependencies, batches and recurring jobs.

func depsLimitedCases() []testCase {
	return []testCase{
		{name: "Resume/limit", pins: "A released job with a limit is throttled and admitted in the call that releases it.", run: depsResumeLimit},
		{name: "PrunedParent/limit", pins: "One Prune of a failed parent admits the limited jobs that it releases.", run: depsPrunedLimit},
		{name: "Duplicate", pins: "A dependency on a job of the call that turned out to be a duplicate is one on the job that holds the key.", run: depsDuplicate},
		{name: "DuplicateCircle", pins: "A job that would wait for itself, since what it waits for is a repeat of it, is ErrInvalid.", run: depsDuplicateCircle},
	}
}

func batchLimitedCases() []testCase {
	return []testCase{
		{name: "Limited", pins: "A batch counts its members in throttled, scheduled and enqueued as they are admitted.", run: batchLimited},
		{name: "Duplicate", pins: "A duplicate stays out of the batch: it is not counted in Total.", run: batchDuplicate},
	}
}

func uniqueFlowCases() []testCase {
	return []testCase{
		{name: "Held/awaiting", pins: "A unique key is held while its job is awaiting.", run: uniqueHeldAwaiting},
		{name: "Released/doomed", pins: "A key is released when its job is doomed, and a job born doomed does not take it.", run: uniqueReleasedDoomed},
		{name: "ReplaceStates/awaiting", pins: "An awaiting holder takes values and run time, stays awaiting and keeps what it waits for.", run: uniqueReplaceAwaiting},
		{name: "DebounceStates/awaiting", pins: "A debounce does not touch an awaiting holder.", run: uniqueDebounceAwaiting},
	}
}

func coordinateLimitedCases() []testCase {
	return []testCase{
		{name: "Sweep/limits", pins: "Sweep finds nothing to do beside limits and unique keys in any state.", run: sweepLimits},
		{name: "PromoteDeadline/limit", pins: "A deadline that ends a job with a slot admits the next one in the same call, and one that ends a reserved start gives up that.", run: deadlineLimit},
	}
}

func fireLimitedCases() []testCase {
	return []testCase{
		{name: "FireDuplicate", pins: "A Fire whose job is a duplicate moves the schedule on, and LastJobID is the holder.", run: fireDuplicate},
	}
}

func txLimitedFlowCases() []testCase {
	return []testCase{
		{name: "OwnWrites/unique", pins: "A transaction sees the unique keys that it took itself, and jobs may wait for the holder by index.", needs: needsTransactor, run: txOwnUnique},
		{name: "SealLimit", pins: "A seal in a transaction releases limited jobs, which are admitted when InTx returns.", needs: needsTransactor, run: txSealLimit},
	}
}

func depsResumeLimit(e *env) {
	parent := e.running(inQueue("parents"))
	limited := []func(*driver.InsertParams){withMax("key", 1), after(driver.OnSucceeded, parent.ID)}
	ids := e.insert(copies(2, limited...)...)
	urgent := e.insertOne(append(limited, withPriority(1))...)
	later := e.insertOne(append(limited, withDelay(time.Hour))...)
	rated := e.insert(copies(2, withRate("rate", 0, 1, time.Hour, 1), after(driver.OnSucceeded, parent.ID), inQueue("rate"))...)
	e.statesAre("while the parent runs", ids, driver.Awaiting, driver.Awaiting)
	e.end(parent, driver.Succeeded)
	e.released(urgent, enqueued)
	e.statesAre("when the parent has succeeded", ids, throttled, throttled)
	e.released(later, scheduled)
	e.released(rated[0], enqueued)
	e.inState(rated[1], scheduled)
	e.sound("afterwards")
}

func depsPrunedLimit(e *env) {
	parent := e.bring(driver.Failed, inQueue("parents"))
	b := e.openBatch(driver.NewBatch{})
	ids := e.insert(copies(3, withMax("key", 2), after(driver.OnDeleted, parent))...)
	doomed := e.insertOne(withMax("key", 2), after(driver.OnSucceeded, parent), inBatch(b))
	then := e.insertOne(withMax("then", 1), afterBatch(b), inQueue("then"))
	e.seal(b)
	eq(e, "rows pruned", e.prune(driver.PruneParams{Retention: keepAllBut(driver.Failed, 0)}), 1)
	e.statesAre("released", ids, enqueued, enqueued, throttled)
	e.inState(doomed, driver.Deleted)
	e.released(then, enqueued)
	eq(e, "statistics", e.totals(), driver.Point{Failed: 1, Deleted: 1})
	e.sound("afterwards")
}

func depsDuplicate(e *env) {
	holder := e.running(withKey("held"), inQueue("held"))
	res := e.insertAll(
		job(withKey("new")), job(withKey("held")), job(withKey("new")),
		job(needs(driver.OnSucceeded, 1, 2)), job(needs(driver.OnFinished, 2)),
	)
	e.isDuplicate("the job whose key is held", res[1], holder.ID)
	e.isDuplicate("the repeat", res[2], res[0].ID)
	r := e.inState(res[3].ID, driver.Awaiting)
	eq(e, "parents", r.PendingDeps, 2)
	eq(e, "parents of the other", e.record(res[4].ID).Parents, []int64{res[0].ID})
	e.end(holder, driver.Succeeded)
	e.awaits(res[3].ID, 1)
	e.runNext(queue1, res[0].ID, driver.Succeeded)
	e.released(res[3].ID, enqueued)
	e.released(res[4].ID, enqueued)
	// A job that stands before the one that it waits for, which is a repeat.
	res = e.insertAll(job(needs(driver.OnSucceeded, 2), inQueue("back")), job(withKey("x"), inQueue("back")), job(withKey("x")))
	e.awaits(res[0].ID, 1)
	e.runNext("back", res[1].ID, driver.Succeeded)
	e.released(res[0].ID, enqueued)
	// What a duplicate would have waited for is nobody's.
	parent := e.insertOne(inQueue("parents"))
	e.insertOne(withKey("free"), inQueue("free"))
	e.duplicate("a duplicate with a parent", e.claimOne("free").ID, withKey("free"), after(driver.OnSucceeded, parent))
	eq(e, "children of its parent", len(e.record(parent).Children), 0)
	e.sound("afterwards")
}

func depsDuplicateCircle(e *env) {
	e.refused("a job that waits for its repeat", job(withKey("k"), needs(driver.OnSucceeded, 1)), job(withKey("k")))
	e.refused("a circle through a repeat", job(withKey("k"), needs(driver.OnSucceeded, 1)), job(needs(driver.OnSucceeded, 2)), job(withKey("k")))
	e.fresh("the key afterwards", withKey("k"))
}

func batchLimited(e *env) {
	b := e.openBatch(driver.NewBatch{})
	e.insert(copies(4, withMax("max", 1), inBatch(b))...)
	e.insert(copies(3, withRate("rate", 0, 1, time.Hour, 1), inBatch(b), inQueue("rate"))...)
	e.insertOne(withMax("max", 1), inBatch(b), withDelay(10*time.Millisecond))
	want := map[driver.State]int64{enqueued: 2, throttled: 3, scheduled: 3}
	eq(e, "counts after the inserts", e.batch(b).Counts, want)
	e.pass(20 * time.Millisecond)
	e.promote(10)
	want = map[driver.State]int64{enqueued: 2, throttled: 4, scheduled: 2}
	eq(e, "counts after a promote", e.batch(b).Counts, want)
	e.end(e.claimOne(), driver.Succeeded)
	want = map[driver.State]int64{enqueued: 2, throttled: 3, scheduled: 2, driver.Succeeded: 1}
	eq(e, "counts when a slot was freed", e.batch(b).Counts, want)
	e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Enqueued, Refund: true})
	eq(e, "counts after a member came back", e.batch(b).Counts, want)
	e.seal(b)
	for range 4 {
		e.end(e.claimOne(), driver.Succeeded)
	}
	e.end(e.claimOne("rate"), driver.Succeeded)
	eq(e, "jobs deleted", e.delete(driver.Filter{State: scheduled}), 2)
	e.finished("afterwards", b)
	e.sound("afterwards")
}

func batchDuplicate(e *env) {
	b := e.openBatch(driver.NewBatch{})
	outside := e.insertOne(withKey("held"), withDelay(time.Hour))
	e.duplicate("a duplicate that would join", outside, withKey("held"), inBatch(b))
	eq(e, "Total with a duplicate", e.batch(b).Total, 0)
	member := e.fresh("a member", withKey("own"), inBatch(b), withDelay(time.Hour))
	e.replaced("a member that is replaced from outside", member, scheduled, withKey("own"))
	eq(e, "BatchID of the replaced member", e.record(member).BatchID, b)
	eq(e, "Total", e.batch(b).Total, 1)
	eq(e, "Counts", e.batch(b).Counts, map[driver.State]int64{scheduled: 1})
	e.seal(b)
	e.promote(10)
	e.end(e.claimOne(), driver.Succeeded)
	e.finished("when its member has ended", b)
}

func uniqueHeldAwaiting(e *env) {
	parent := e.running()
	id := e.insertOne(withKey("k"), after(driver.OnSucceeded, parent.ID))
	e.duplicate("a duplicate of an awaiting job", id, withKey("k"))
	b := e.openBatch(driver.NewBatch{})
	id = e.insertOne(withKey("b"), afterBatch(b))
	e.duplicate("a duplicate of a job that waits for a batch", id, withKey("b"))
}

func uniqueReleasedDoomed(e *env) {
	parent := e.running()
	id := e.insertOne(withKey("k"), after(driver.OnSucceeded, parent.ID))
	window := e.insertOne(withKey("window"), keptFor(time.Hour), after(driver.OnSucceeded, parent.ID))
	e.end(parent, driver.Deleted)
	e.doomed(id, parent.ID, "deleted")
	e.fresh("the key of a job that was doomed", withKey("k"))
	e.duplicate("the key of a doomed job inside of its window", window, withKey("window"))

	for _, mods := range [][]func(*driver.InsertParams){{withKey("born")}, {withKey("born window"), keptFor(time.Hour)}} {
		born := e.fresh("a job born doomed", append(mods, after(driver.OnSucceeded, parent.ID))...)
		e.inState(born, driver.Deleted)
		e.fresh("the key of a job born doomed", mods...)
	}
	// Requeued, a doomed job takes its key back if that is free.
	eq(e, "doomed jobs requeued while their keys are held", e.requeue(driver.Filter{IDs: []int64{id}}), 0)
}

func uniqueReplaceAwaiting(e *env) {
	parent := e.running(inQueue("parents"))
	id := e.insertOne(withKey("k"), after(driver.OnSucceeded, parent.ID), withArgs("1"))
	at := e.now().Add(time.Hour)
	r := e.replaced("an awaiting holder", id, driver.Awaiting, withKey("k"), withArgs("2"), withPriority(3), withTags("new"), withRunAt(at))
	eq(e, "its args", string(r.Args), "2")
	eq(e, "its parents", r.Parents, []int64{parent.ID})
	eq(e, "PendingDeps", r.PendingDeps, 1)
	e.given("its run time", r.RunAt, at)
	e.replaced("an awaiting holder, to run now", id, driver.Awaiting, withKey("k"), withArgs("3"), withPriority(1))
	behind := e.insertOne()
	e.end(parent, driver.Succeeded)
	e.released(id, enqueued)
	e.order("claimed by its new priority", jobIDs(e.claim(2)), []int64{id, behind})
}

func uniqueDebounceAwaiting(e *env) {
	parent := e.running(inQueue("parents"))
	id := e.insertOne(withKey("k"), after(driver.OnSucceeded, parent.ID), debounced(time.Minute))
	before := e.inState(id, driver.Awaiting)
	e.duplicate("an awaiting holder", id, withKey("k"), debounced(time.Hour), withArgs("2"))
	e.sameJob("an awaiting holder", e.record(id).Job, before.Job)
}

func sweepLimits(e *env) {
	e.insert(copies(3, withMax("max", 1))...)
	e.insert(copies(3, withRate("rate", 2, 1, time.Hour, 1), withKey(""))...)
	e.bring(driver.Processing, withMax("running", 1), withKey("running"), inQueue("running"))
	e.bring(driver.Failed, withMax("failed", 1), withKey("failed"), inQueue("failed"))
	e.bring(driver.Scheduled, withMax("later", 1), withKey("later"), keptFor(time.Hour))
	counts := e.counts()
	e.sound("beside limits and unique keys")
	e.countsAre("after sweeps", counts)
}

func deadlineLimit(e *env) {
	late := withDeadline(e.now().Add(-time.Second))
	ids := e.insert(job(withMax("max", 1), late), job(withMax("max", 1), late), job(withMax("max", 1), inQueue("next")))
	e.statesAre("after the insert", ids, enqueued, throttled, throttled)
	p := e.promote(10)
	e.statesAre("after a promote", ids, driver.Deleted, driver.Deleted, enqueued)
	eq(e, "queues that got ready jobs", p.Queues, []string{"next"})
	eq(e, "Count", p.Count, 0)
	rated := e.insert(job(withRate("rate", 0, 1, time.Hour, 1)), job(withRate("rate", 0, 1, time.Hour, 1), late))
	e.inState(rated[1], scheduled)
	e.promote(10)
	e.inState(rated[1], driver.Deleted)
	if needsLimits(e) == "" {
		eq(e, "reserved starts", e.limits("max", 1)[0].Reserved, 0)
	}
	e.sound("afterwards")
}

func fireDuplicate(e *env) {
	now := e.now()
	e.put(everyDay("daily", now))
	keyed := occurrence("daily", now)
	keyed.UniqueKey = []byte("daily")
	first := e.fire(driver.Fire{ID: "daily", Version: 1, NextRunAt: now.Add(time.Hour), LastRunAt: now, Jobs: []driver.InsertParams{keyed}})
	next := now.Add(2 * time.Hour)
	second := e.fire(driver.Fire{ID: "daily", Version: 2, NextRunAt: next, LastRunAt: now.Add(time.Hour), Jobs: []driver.InsertParams{keyed}})
	e.isDuplicate("the second fire", second[0], first[0].ID)
	got := e.definition("daily")
	eq(e, "version", got.Version, 3)
	eq(e, "last job", got.LastJobID, first[0].ID)
	e.given("next run", got.NextRunAt, next)
	e.countsAre("afterwards", driver.Counts{Enqueued: 1})
}

func txOwnUnique(e *env) {
	var first, second []driver.Inserted
	e.must(e.inTx(func(w driver.Writer) (err error) {
		if first, err = w.Insert(e.ctx, []driver.InsertParams{job(withKey("k"), inQueue("first"))}); err != nil {
			return err
		}
		second, err = w.Insert(e.ctx, []driver.InsertParams{job(withKey("k")), job(needs(driver.OnSucceeded, 0))})
		return err
	}), "InTx")
	e.isDuplicate("the key that the transaction took", second[0], first[0].ID)
	e.awaits(second[1].ID, 1)
	eq(e, "its parent", e.record(second[1].ID).Parents, []int64{first[0].ID})
	e.runNext("first", first[0].ID, driver.Succeeded)
	e.released(second[1].ID, enqueued)
}

func txSealLimit(e *env) {
	b := e.openBatch(driver.NewBatch{})
	member := e.insertOne(inBatch(b), inQueue("members"))
	ids := e.insert(copies(3, withMax("key", 2), afterBatch(b))...)
	e.runNext("members", member, driver.Succeeded)
	e.must(e.inTx(func(w driver.Writer) error { return w.SealBatch(e.ctx, b) }), "InTx")
	e.statesAre("when InTx has returned", ids, enqueued, enqueued, throttled)
	e.sound("afterwards")
}
