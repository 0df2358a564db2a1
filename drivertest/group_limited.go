package drivertest

import (
	"errors"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// The cases of other groups that need limits or unique keys.

func limitedInsertCases() []testCase {
	return []testCase{
		{name: "States/limit", pins: "A job with a limit is scheduled while its run time is in the future, and otherwise throttled, which admission may end at once.", run: limitedStates},
		{name: "LimitState", pins: "With LimitMax 1 the first job ends enqueued, reported so or throttled, and the second throttled.", run: limitState},
		{name: "Fields/limit", pins: "Limit and unique key survive insert, record and claim with every other field.", run: limitedFields},
	}
}

func limitedStates(e *env) {
	res := e.insertAll(job(withMax("free", 1), withDelay(time.Hour)), job(withMax("free", 1), withRunAt(e.now().Add(-time.Hour))), job(withMax("free", 1), withRunAt(e.now().Add(time.Hour))))
	eq(e, "result of a job in the future", res[0].State, scheduled)
	e.statesAre("after the insert", []int64{res[0].ID, res[1].ID, res[2].ID}, scheduled, enqueued, scheduled)
}

func limitState(e *env) {
	res := e.insertAll(copies(2, withMax("key", 1))...)
	if res[0].State != enqueued && res[0].State != throttled {
		e.Errorf("the first job is reported %s, want enqueued or throttled", res[0].State)
	}
	eq(e, "result of the second one", res[1].State, throttled)
	e.statesAre("after the insert", []int64{res[0].ID, res[1].ID}, enqueued, throttled)
}

func limitedFields(e *env) {
	p := everything()
	p.LimitKey, p.LimitMax, p.UniqueKey = "tenant 7", 1, []byte("k")
	second := p
	second.UniqueKey = nil
	ids := e.insert(p, second)
	for i, state := range []driver.State{enqueued, throttled} {
		e.sameParams("record", e.inState(ids[i], state).Job, p)
		page := e.page(driver.JobQuery{State: state})
		e.order("list", recordIDs(page.Records), ids[i:i+1])
		e.sameParams("list", page.Records[0].Job, p)
	}
	for range ids {
		j := e.claimOne(p.Queue)
		e.sameParams("claimed", j, p)
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
		e.sameParams("record of a job that succeeded", e.record(j.ID).Job, p)
	}
}

func limitedClaimCases() []testCase {
	return []testCase{
		{name: "OnlyEnqueued/throttled", pins: "Throttled jobs are never claimed.", run: func(e *env) {
			ids := e.insert(copies(3, withMax("key", 1))...)
			e.order("claimed", jobIDs(e.claim(10)), ids[:1])
			eq(e, "jobs claimed behind it", len(e.claim(10)), 0)
		}},
	}
}

func limitedFinishCases() []testCase {
	return []testCase{
		{name: "RetryNow/limit", pins: "A retry without a delay of a job with a limit is throttled and competes again.", run: func(e *env) {
			urgent := withPriority(1)
			j := e.running(withMax("key", 1))
			ids := []int64{j.ID, e.insertOne(withMax("key", 1)), e.insertOne(withMax("key", 1), urgent)}
			before := e.now()
			e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Reason: "retry"})
			e.statesAre("after the retry", ids, throttled, throttled, enqueued)
			e.between("RunAt", e.record(j.ID).RunAt, before, e.now())
			e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Succeeded})
			next := e.claimOne()
			eq(e, "the one that wins by its id", next.ID, j.ID)
			eq(e, "its attempt", next.Attempt, 2)
			e.given("its RunAt", next.RunAt, e.record(j.ID).RunAt)
		}},
	}
}

func limitedAdminCases() []testCase {
	return []testCase{
		{name: "Delete/throttled", pins: "Throttled jobs are deleted, by id and by state, and leave an entry.", run: func(e *env) {
			ids := e.insert(copies(4, withMax("key", 1))...)
			eq(e, "jobs deleted by id", e.delete(driver.Filter{IDs: ids[1:2]}), 1)
			eq(e, "jobs deleted by state", e.delete(driver.Filter{State: throttled, Queue: queue1, Kind: "work"}), 2)
			e.statesAre("afterwards", ids, enqueued, driver.Deleted, driver.Deleted, driver.Deleted)
			eq(e, "reason", e.lastEntry(e.record(ids[1]), 1).Reason, "deleted")
			eq(e, "jobs deleted by a second call", e.delete(driver.Filter{IDs: ids[1:]}), 0)
		}},
		{name: "Requeue/limit", pins: "A requeued job of a full key is throttled, whatever state it was in.", run: func(e *env) {
			done := e.bring(driver.Succeeded, withMax("key", 1))
			failed := e.bring(driver.Failed, withMax("key", 1))
			later := e.insertOne(withMax("key", 1), withDelay(time.Hour))
			holds := e.insertOne(withMax("key", 1))
			eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: []int64{done, failed, later}}), 3)
			e.statesAre("afterwards", []int64{done, failed, later, holds}, throttled, throttled, throttled, enqueued)
			e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Succeeded})
			e.statesAre("when the slot is free", []int64{done, failed, later}, enqueued, throttled, throttled)
			eq(e, "attempts of the next run", e.claimOne().Attempt, 1)
		}},
		{name: "RequeueSkips/throttled", pins: "A requeue skips throttled jobs without an entry.", run: func(e *env) {
			ids := e.insert(copies(2, withMax("key", 1))...)
			before := e.record(ids[1])
			eq(e, "jobs requeued by id", e.requeue(driver.Filter{IDs: ids}), 0)
			eq(e, "jobs requeued by state", e.requeue(driver.Filter{State: throttled}), 0)
			e.unchanged("a throttled job", before)
		}},
	}
}

func limitedInspectCases() []testCase {
	return []testCase{
		{name: "JobsOrder/throttled", pins: "Throttled jobs are listed by priority, highest first, then by id.", run: func(e *env) {
			e.insertOne(withMax("a", 1))
			e.insertOne(withMax("b", 1), inQueue("b"))
			want := e.insert(job(withMax("a", 1), withPriority(3)), job(withMax("b", 1), inQueue("b"), withPriority(3)), job(withMax("a", 1)), job(withMax("a", 1), withPriority(-3)))
			var got []int64
			for q := (driver.JobQuery{State: throttled, Limit: 3}); ; {
				page := e.page(q)
				got = append(got, recordIDs(page.Records)...)
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			e.order("throttled jobs", got, want)
			e.order("of one queue", recordIDs(e.page(driver.JobQuery{State: throttled, Queue: "b"}).Records), want[1:2])
		}},
		{name: "Counts/throttled", pins: "Counts knows how many jobs are throttled.", run: func(e *env) {
			e.insert(copies(5, withMax("key", 2))...)
			e.countsAre("after the insert", driver.Counts{Throttled: 3, Enqueued: 2})
		}},
		{name: "Queues/throttled", pins: "A queue's throttled jobs are counted, and list it.", run: func(e *env) {
			e.insertOne(withMax("key", 1), inQueue("a"))
			e.insert(copies(3, withMax("key", 1), inQueue("b"))...)
			infos := e.queues()
			if len(infos) != 2 || infos[1].Name != "b" || infos[1].Throttled != 3 || infos[1].Enqueued != 0 || infos[0].Throttled != 0 {
				e.Errorf("queues are %+v, want b with 3 throttled jobs behind a", infos)
			}
		}},
	}
}

func limitedNotifyCases() []testCase {
	return []testCase{
		{name: "Finish/limit", pins: "A finish publishes JobsReady for the queue of the waiting job that it let in.", needs: needsNotifier, run: func(e *env) {
			e.insert(job(withMax("key", 1)), job(withMax("key", 1), inQueue("waits")))
			j := e.claimOne()
			s := e.subscribe()
			e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
			s.hears("an end that freed a slot", ready("waits"))
		}},
	}
}

func limitedTxCases() []testCase {
	return []testCase{
		{name: "Rollback/unique", pins: "A transaction that is rolled back leaves no unique key taken, and what it replaced is as it was.", needs: needsTransactor, run: txRollbackUnique},
		{name: "Unique", pins: "Inside of a transaction its own unique keys are held; outside they are once it is committed.", needs: needsTransactor, run: txUnique},
		{name: "Limit", pins: "The limited jobs of a transaction are admitted at latest by Sweep.", needs: needsTransactor, run: txLimit},
	}
}

func txRollbackUnique(e *env) {
	holder := e.insertOne(withKey("held"), withDelay(time.Hour), withArgs("1"))
	before := e.record(holder)
	broken := errors.New("no")
	err := e.inTx(func(w driver.Writer) error {
		res, err := w.Insert(e.ctx, []driver.InsertParams{job(withKey("k")), job(withKey("for"), keptFor(time.Hour)), job(withKey("held"), replacing, withArgs("2"))})
		if err != nil {
			return err
		}
		eq(e, "results in the transaction", []bool{res[0].Duplicate, res[1].Duplicate, res[2].Replaced}, []bool{false, false, true})
		return broken
	})
	if !errors.Is(err, broken) {
		e.Fatalf("InTx returned %v, want the error of fn", err)
	}
	e.unchanged("the job that was replaced and is not", before)
	e.fresh("the key of a job that was rolled back", withKey("k"))
	e.fresh("its key with a window", withKey("for"))
}

func txUnique(e *env) {
	holder := e.insertOne(withKey("outside"), withDelay(time.Hour))
	var first, again []driver.Inserted
	e.must(e.inTx(func(w driver.Writer) (err error) {
		if first, err = w.Insert(e.ctx, []driver.InsertParams{job(withKey("inside")), job(withKey("outside"))}); err != nil {
			return err
		}
		again, err = w.Insert(e.ctx, []driver.InsertParams{job(withKey("inside")), job(withKey("inside"), replacing, withArgs("2"))})
		return err
	}), "InTx")
	eq(e, "the job that the transaction inserted is a duplicate", first[0].Duplicate, false)
	e.isDuplicate("a key that is held outside", first[1], holder)
	e.isDuplicate("a key that the transaction took", again[0], first[0].ID)
	e.duplicate("after the commit", first[0].ID, withKey("inside"))
	e.countsAre("after the commit", driver.Counts{Enqueued: 1, Scheduled: 1})
}

func txLimit(e *env) {
	var res []driver.Inserted
	waiting := e.insert(copies(2, withMax("raised", 1))...)
	e.must(e.inTx(func(w driver.Writer) (err error) {
		res, err = w.Insert(e.ctx, []driver.InsertParams{job(withMax("key", 2)), job(withMax("key", 2)), job(withMax("key", 2)), job(withMax("raised", 2), withDelay(time.Hour))})
		return err
	}), "InTx")
	for range 3 {
		_, err := e.s.Sweep(e.ctx, 1000)
		e.must(err, "Sweep")
	}
	e.statesAre("jobs of the transaction", []int64{res[0].ID, res[1].ID, res[2].ID}, enqueued, enqueued, throttled)
	e.statesAre("jobs of a key whose rule the transaction raised", waiting, enqueued, enqueued)
	e.consistent()
}
