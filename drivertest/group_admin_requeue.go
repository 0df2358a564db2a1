package drivertest

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func adminRequeue(e *env) {
	for _, state := range []driver.State{driver.Failed, driver.Succeeded, driver.Deleted} {
		p := everything()
		p.Queue, p.RunAt = string(state), e.now().Add(-time.Hour)
		id := e.insert(p)[0]
		for range 2 {
			e.apply(driver.Outcome{Ref: e.claimOne(p.Queue).Ref, State: driver.Scheduled, Reason: "retry"})
		}
		e.apply(driver.Outcome{Ref: e.claimOne(p.Queue).Ref, State: state, Reason: "end", Output: []byte(`1`)})
		was, totals := e.inState(id, state), e.totals()
		counts := e.counts()

		before := e.now()
		eq(e, fmt.Sprintf("%s jobs requeued", state), e.requeue(driver.Filter{IDs: []int64{id}}), 1)
		after := e.now()
		r := e.inState(id, driver.Enqueued)
		what := fmt.Sprintf("job that was %s: ", state)
		eq(e, what+"Attempt", r.Attempt, 0)
		eq(e, what+"MaxAttempts", r.MaxAttempts, p.MaxAttempts)
		eq(e, what+"Claim", r.Claim, 3)
		eq(e, what+"Output", string(r.Output), "")
		eq(e, what+"CreatedAt", r.CreatedAt, was.CreatedAt)
		eq(e, what+"Server, the one that claimed it last", r.Server, server1)
		e.between(what+"RunAt", r.RunAt, before, after)
		p.RunAt = time.Time{}
		e.sameParams(what+"values", r.Job, p)
		e.entryIs(what+"entry", e.lastEntry(r, 4), driver.Entry{State: driver.Enqueued, Attempt: 3, Reason: "requeued"}, before, after)
		counts.Enqueued++
		if state == driver.Failed {
			counts.Failed--
		}
		e.countsAre(what+"totals do not fall", counts)
		eq(e, what+"statistics", e.totals(), totals)
		eq(e, what+"a second Requeue", e.requeue(driver.Filter{IDs: []int64{id}}), 0)
		j := e.claimOne(p.Queue)
		eq(e, what+"Attempt of the next claim", j.Attempt, 1)
		eq(e, what+"Claim of the next claim", j.Claim, 4)
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
		counts = e.counts()
		if counts.Succeeded < 1 {
			e.Errorf("%sCounts are %+v after it succeeded", what, counts)
		}
	}
	e.countsAre("at the end: the second end of each counts too", driver.Counts{Succeeded: 4, Deleted: 1})
}

func adminRequeueActor(e *env) {
	for _, actor := range []string{"", "ann@example.com", "Zoë 日本"} {
		id := e.bring(driver.Failed)
		n, err := e.s.Requeue(driver.WithActor(e.ctx, actor), driver.Filter{State: driver.Failed})
		e.must(err, "Requeue")
		eq(e, "jobs requeued", n, 1)
		entry := e.lastEntry(e.inState(id, driver.Enqueued), 1)
		eq(e, "Actor of the entry", entry.Actor, actor)
		eq(e, "Reason of the entry", entry.Reason, "requeued")
		eq(e, "Server of the entry", entry.Server, "")
		e.delete(driver.Filter{IDs: []int64{id}})
	}
}

func adminRequeueSkips(e *env) {
	enqueued := e.insertOne(inQueue("waits"))
	j := e.running()
	flagged := e.running(inQueue("flagged"))
	e.delete(driver.Filter{IDs: []int64{flagged.ID}})
	records := []driver.Record{e.record(enqueued), e.record(j.ID), e.record(flagged.ID)}
	counts := e.counts()
	eq(e, "jobs requeued by ids", e.requeue(driver.Filter{IDs: []int64{enqueued, j.ID, flagged.ID}}), 0)
	for _, state := range []driver.State{driver.Enqueued, driver.Processing, driver.Awaiting, driver.Throttled} {
		eq(e, fmt.Sprintf("%s jobs requeued by state", state), e.requeue(driver.Filter{State: state}), 0)
	}
	for _, r := range records {
		e.unchanged(fmt.Sprintf("a job that is %s and was skipped", r.State), r)
	}
	e.countsAre("afterwards", counts)
	failed := e.bring(driver.Failed, inQueue("failed"))
	eq(e, "jobs requeued of a mixed list", e.requeue(driver.Filter{IDs: []int64{enqueued, failed, j.ID}}), 1)
}

func adminRequeueAttempts(e *env) {
	for _, c := range []struct{ max, attempts, wantMax int }{{5, 0, 5}, {5, 2, 5}, {3, 2, 3}, {2, 2, 3}, {1, 3, 4}} {
		what := fmt.Sprintf("attempt %d of %d: ", c.attempts, c.max)
		id := e.insertOne(withAttempts(c.max), withDelay(0))
		for n := range c.attempts {
			out := driver.Outcome{Ref: e.claimOne().Ref, State: driver.Scheduled, Reason: "retry"}
			if n == c.attempts-1 {
				out.Delay = time.Hour
			}
			e.apply(out)
		}
		if c.attempts == 0 {
			e.delete(driver.Filter{IDs: []int64{id}})
			id = e.insertOne(withAttempts(c.max), withDelay(time.Hour))
		}
		was := e.inState(id, driver.Scheduled)
		before := e.now()
		eq(e, what+"scheduled jobs requeued", e.requeue(driver.Filter{IDs: []int64{id}}), 1)
		after := e.now()
		r := e.inState(id, driver.Enqueued)
		eq(e, what+"Attempt stays", r.Attempt, c.attempts)
		eq(e, what+"MaxAttempts", r.MaxAttempts, c.wantMax)
		e.between(what+"RunAt", r.RunAt, before, after)
		e.entryIs(what+"entry", e.lastEntry(r, len(was.History)+1), driver.Entry{
			State: driver.Enqueued, Attempt: c.attempts, Reason: "requeued",
		}, before, after)
		j := e.claimOne()
		eq(e, what+"Attempt of the next claim", j.Attempt, c.attempts+1)
		eq(e, what+"MaxAttempts of the next claim", j.MaxAttempts, c.wantMax)
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	}
	if p := e.promote(10); p.Count != 0 || p.Next != 0 {
		e.Errorf("Promote after all scheduled jobs were requeued: %+v, want nothing", p)
	}
	// An ended job keeps its MaxAttempts, and starts over.
	id := e.bring(driver.Failed, withAttempts(1))
	e.requeue(driver.Filter{IDs: []int64{id}})
	eq(e, "MaxAttempts of a requeued failure", e.record(id).MaxAttempts, 1)
	e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Succeeded})
	// The cancel flag of a job that succeeded all the same goes with the requeue.
	j := e.running()
	e.delete(driver.Filter{IDs: []int64{j.ID}})
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: []int64{j.ID}}), 1)
	eq(e, "CancelRequested after the requeue", e.inState(j.ID, driver.Enqueued).CancelRequested, false)
	again := e.claimOne()
	eq(e, "CancelRequested after the next claim", e.record(j.ID).CancelRequested, false)
	for _, l := range e.beat(driver.ServerInfo{ID: server1}).Leases {
		eq(e, "Cancel of the lease", l.Cancel, false)
	}
	e.apply(driver.Outcome{Ref: again.Ref, State: driver.Failed})
	e.inState(j.ID, driver.Failed)
}

func adminRequeueByState(e *env) {
	bring := func(state driver.State, queue, kind, tag string) int64 {
		e.Helper()
		return e.bring(state, inQueue(queue), ofKind(kind), withTags(tag))
	}
	a := bring(driver.Failed, "a", "x", "t")
	b := bring(driver.Failed, "b", "x", "t")
	c := bring(driver.Failed, "b", "y", "u")
	done := bring(driver.Succeeded, "b", "x", "t")
	waits := bring(driver.Scheduled, "c", "x", "t")
	eq(e, "failed jobs of a queue and a kind", e.requeue(driver.Filter{State: driver.Failed, Queue: "b", Kind: "x"}), 1)
	e.inState(b, driver.Enqueued)
	eq(e, "failed jobs of a tag", e.requeue(driver.Filter{State: driver.Failed, Tag: "u"}), 1)
	e.inState(c, driver.Enqueued)
	eq(e, "failed jobs among ids of others", e.requeue(driver.Filter{State: driver.Failed, IDs: []int64{a, done, waits}}), 1)
	e.inState(a, driver.Enqueued)
	eq(e, "failed jobs, none left", e.requeue(driver.Filter{State: driver.Failed}), 0)
	eq(e, "succeeded jobs", e.requeue(driver.Filter{State: driver.Succeeded}), 1)
	eq(e, "scheduled jobs", e.requeue(driver.Filter{State: driver.Scheduled}), 1)
	e.inState(done, driver.Enqueued)
	e.inState(waits, driver.Enqueued)
	e.countsAre("at the end", driver.Counts{Enqueued: 5, Succeeded: 1})
}

func adminRequeueBulk(e *env) {
	const n = 2500
	all := e.endAll(n, driver.Failed)
	eq(e, "jobs requeued by state", e.requeue(driver.Filter{State: driver.Failed}), n)
	jobs := e.claimExactly(n)
	outs := make([]driver.Outcome, n)
	for i, j := range jobs {
		outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Deleted}
	}
	e.apply(outs...)
	eq(e, "jobs requeued by ids", e.requeue(driver.Filter{IDs: all}), n)
	e.countsAre("at the end", driver.Counts{Enqueued: n, Deleted: n})
	e.order("all of them in one claim", jobIDs(e.claim(n)), all)
}

func adminRequeueConcurrent(e *env) {
	const n, callers = 40, 4
	all := e.endAll(n, driver.Failed)
	got := make([]int, callers)
	e.together(callers, func(i int) error {
		f := driver.Filter{State: driver.Failed}
		if i%2 == 1 {
			f = driver.Filter{IDs: all}
		}
		k, err := e.s.Requeue(e.ctx, f)
		got[i] = k
		return err
	})
	sum := 0
	for _, k := range got {
		sum += k
	}
	eq(e, "sum of what all callers counted", sum, n)
	e.countsAre("at the end", driver.Counts{Enqueued: n})
	for _, id := range all {
		eq(e, "history entries of a job", len(e.record(id).History), 1)
	}
}

func adminPause(e *env) {
	for _, paused := range []bool{true, false} {
		e.wantErr(e.s.PauseQueue(e.ctx, "", paused), driver.ErrInvalid, "PauseQueue(\"\", %v)", paused)
	}
	info := func(name string) driver.QueueInfo {
		e.Helper()
		for _, q := range e.queues() {
			if q.Name == name {
				return q
			}
		}
		return driver.QueueInfo{}
	}
	before := e.now()
	e.pause("q", true)
	after := e.now()
	first := info("q")
	eq(e, "Paused", first.Paused, true)
	e.between("PausedAt", first.PausedAt, before, after)
	e.pass(10 * time.Millisecond)
	e.pause("q", true)
	eq(e, "PausedAt of a pause that was asked for again: when it began", info("q").PausedAt, first.PausedAt)
	e.pause("q", false)
	eq(e, "a queue without jobs after its pause", info("q"), driver.QueueInfo{})
	e.pause("q", false)
	e.insertOne(inQueue("q"))
	open := info("q")
	eq(e, "Paused of an open queue", open.Paused, false)
	eq(e, "PausedAt of an open queue", open.PausedAt, time.Time{})
	e.pass(10 * time.Millisecond)
	e.pause("q", true)
	if again := info("q"); !again.PausedAt.After(first.PausedAt) {
		e.Errorf("PausedAt of a second pause is %s, not after that of the first, %s", clockText(again.PausedAt), clockText(first.PausedAt))
	}
}
