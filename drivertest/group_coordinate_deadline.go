package drivertest

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func coordinateDeadline(e *env) {
	zone := time.FixedZone("far", -11*3600)
	now := e.now()
	past, future := now.Add(-time.Second).In(zone), now.Add(time.Hour).In(zone)
	e.pause("paused", true)
	enqueued := e.insertOne(withDeadline(past))
	paused := e.insertOne(inQueue("paused"), withDeadline(past))
	scheduled := e.insertOne(withDelay(time.Hour), withDeadline(past))
	due := e.insertOne(withDelay(10*time.Millisecond), withDeadline(now.Add(20*time.Millisecond)))
	open := e.insertOne(withDeadline(future))
	waiting := e.insertOne(withDelay(time.Minute), withDeadline(future))
	none := e.insertOne()
	e.inState(enqueued, driver.Enqueued)
	e.pass(50 * time.Millisecond)

	before := e.now()
	p := e.promote(100)
	after := e.now()
	eq(e, "Count: jobs ended by their deadline are not in it", p.Count, 0)
	eq(e, "number of Queues: none got a job", len(p.Queues), 0)
	for what, id := range map[string]int64{"enqueued": enqueued, "paused": paused, "scheduled": scheduled, "due": due} {
		r := e.inState(id, driver.Deleted)
		e.between(what+": FinalizedAt", r.FinalizedAt, before, after)
		entry := e.lastEntry(r, 1)
		e.between(what+": At of the entry", entry.At, before, after)
		eq(e, what+": State of the entry", entry.State, driver.Deleted)
		eq(e, what+": Reason of the entry", entry.Reason, "deadline")
		eq(e, what+": Server of the entry", entry.Server, "")
		eq(e, what+": Actor of the entry", entry.Actor, "")
	}
	e.inState(open, driver.Enqueued)
	e.inState(waiting, driver.Scheduled)
	e.inState(none, driver.Enqueued)
	e.countsAre("afterwards", driver.Counts{Enqueued: 2, Scheduled: 1, Deleted: 4})
	eq(e, "statistics", e.totals(), driver.Point{Deleted: 4})
	e.order("jobs that can be claimed", jobIDs(e.claim(10, queue1, "paused")), []int64{open, none})
	e.promote(100)
	e.countsAre("after another call", driver.Counts{Processing: 2, Scheduled: 1, Deleted: 4})
	if e.jump(2 * time.Hour) {
		e.promote(100)
		e.inState(waiting, driver.Deleted)
		e.inState(open, driver.Processing)
	}
}

func coordinateDeadlineStates(e *env) {
	const soon = 60 * time.Millisecond
	at := withDeadline(e.now().Add(soon))
	jobs := e.claimAll(copies(6, at)...)
	e.apply(
		driver.Outcome{Ref: jobs[0].Ref, State: driver.Succeeded},
		driver.Outcome{Ref: jobs[1].Ref, State: driver.Failed},
		driver.Outcome{Ref: jobs[2].Ref, State: driver.Deleted},
	)
	e.pass(soon + 20*time.Millisecond)
	e.promote(100)
	for i, want := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted, driver.Processing, driver.Processing, driver.Processing} {
		r := e.inState(jobs[i].ID, want)
		eq(e, fmt.Sprintf("history entries of a job that is %s", want), len(r.History), 0)
	}
	e.apply(
		driver.Outcome{Ref: jobs[3].Ref, State: driver.Succeeded},
		driver.Outcome{Ref: jobs[4].Ref, State: driver.Scheduled, Delay: time.Hour, Reason: "retry"},
		driver.Outcome{Ref: jobs[5].Ref, State: driver.Enqueued, Refund: true},
	)
	e.inState(jobs[3].ID, driver.Succeeded)
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: []int64{jobs[1].ID}}), 1)
	eq(e, "Count", e.promote(100).Count, 0)
	for i, lines := range map[int]int{1: 2, 4: 2, 5: 1} {
		eq(e, "reason of a job that came back after its deadline", e.lastEntry(e.inState(jobs[i].ID, driver.Deleted), lines).Reason, "deadline")
	}
	e.countsAre("at the end", driver.Counts{Succeeded: 2, Deleted: 4})
}

func coordinateDeadlineLimit(e *env) {
	past := withDeadline(e.now().Add(-time.Second))
	e.insert(append(copies(4, past), copies(3, past, withDelay(time.Hour))...)...)
	e.insert(copies(2, withDelay(10*time.Millisecond))...)
	e.pass(30 * time.Millisecond)
	ended := int64(0)
	moved := 0
	for _, limit := range []int{2, 0, -1, 2, 100} {
		p := e.promote(limit)
		moved += p.Count
		want := min(int64(max(limit, 1)), 7-ended)
		ended += want
		got := e.counts().Deleted
		eq(e, fmt.Sprintf("jobs ended in all after Promote(%d)", limit), got, ended)
		if got < 7 && (p.Next <= 0 || p.Next > 10*time.Millisecond) {
			e.Errorf("Next is %s while %d jobs past their deadline remain, want it above 0 and at most 10ms", p.Next, 7-got)
		}
	}
	eq(e, "due jobs moved meanwhile", moved, 2)
	e.countsAre("at the end", driver.Counts{Enqueued: 2, Deleted: 7})
	eq(e, "Next at the end", e.promote(10).Next, 0)
}

func coordinateDeadlineNext(e *env) {
	next := func(what string, due time.Time) {
		e.Helper()
		before := e.now()
		p := e.promote(10)
		e.nextIs(what, p.Next, due, before, e.now())
	}
	now := e.now()
	a := e.insertOne(withDeadline(now.Add(3 * time.Hour)))
	next("an enqueued job with a deadline", now.Add(3*time.Hour))
	b := e.insertOne(withDelay(2 * time.Hour))
	next("a run time before the deadline", e.record(b).RunAt)
	c := e.insertOne(withDelay(5*time.Hour), withDeadline(now.Add(time.Hour)))
	next("a deadline before the run time", now.Add(time.Hour))
	e.delete(driver.Filter{IDs: []int64{c}})
	next("after the job with the earliest deadline was deleted", e.record(b).RunAt)
	e.delete(driver.Filter{IDs: []int64{b}})
	next("the first deadline again", now.Add(3*time.Hour))
	j := e.claimOne()
	eq(e, "the job claimed", j.ID, a)
	eq(e, "Next while the only job with a deadline is processing", e.promote(10).Next, 0)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Enqueued})
	next("after the job came back", now.Add(3*time.Hour))
}
