package drivertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func explainCases() []testCase {
	return readerCases([]testCase{
		{name: "Explain/ended", pins: "An unknown job is ErrNotFound; an archived or failed one has its State and nothing more.", run: explainEnded},
		{name: "Explain/parents", pins: "An awaiting job has its open parents, by id, with state, kind, title and mask; those that satisfied it are left out.", run: explainParents},
		{name: "Explain/manyParents", pins: "At most 20 open parents are named, the lowest ids; OpenParents counts all.", run: explainManyParents},
		{name: "Explain/batch", pins: "An awaiting job has the unfinished batch that it waits for, with what in it is live: jobs, failed ones too, and unfinished nested batches.", run: explainBatch},
		{name: "Explain/scheduled", pins: "A scheduled job is expected at its run time.", run: explainScheduled},
		{name: "Explain/enqueued", pins: "An enqueued job has the number of jobs of its queue, of any kind, that are claimed before it, by priority, then by id.", run: explainEnqueued},
		{name: "Explain/aheadCap", pins: "Ahead stops at AheadCap.", run: explainAheadCap},
		{name: "Explain/paused", pins: "A job that waits, in any state, has its queue's pause, since when, and nothing of other queues.", run: explainPaused},
		{name: "Explain/served", pins: "A job that waits, in any state, has whether a live server works on its queue and whether one of those handles its kind.", run: explainServed},
		{name: "Explain/silent", pins: "A server whose last heartbeat is older than a minute serves nothing.", run: explainSilent},
		{name: "Explain/processing", pins: "A processing job has the last heartbeat of the server that runs it, zero when that has no row.", run: explainProcessing},
	}, needsExplain)
}

func explainLimitCases() []testCase {
	return readerCases([]testCase{
		{name: "Explain/full", pins: "A throttled job has the rule and the use of its key and the number of jobs of the key that are admitted before it.", run: explainFull},
		{name: "Explain/states", pins: "A job that waits or is processing has its limit's rule and use, one without a key none.", run: explainLimitStates},
	}, needsExplain)
}

func explainRateCases() []testCase {
	return readerCases([]testCase{
		{name: "Explain", pins: "A throttled job whose rate leaves it no start before those ahead of it is expected at the earliest that it leaves.", run: explainRate},
	}, needsExplain)
}

func needsExplain(e *env) string {
	if _, ok := e.s.(driver.Explainer); !ok {
		return "the store is no Explainer"
	}
	return ""
}

// explain says why a job is where it is, which has to be in the given state.
func (e *env) explain(id int64, state driver.State) driver.Explanation {
	e.Helper()
	before := e.now()
	x, err := e.s.(driver.Explainer).Explain(e.ctx, id)
	e.must(err, "Explain(%d)", id)
	e.between(fmt.Sprintf("At of the explanation of job %d", id), x.At, before, e.now())
	eq(e, fmt.Sprintf("State in the explanation of job %d", id), x.State, state)
	for what, at := range map[string]time.Time{"ExpectedAt": x.ExpectedAt, "PausedAt": x.PausedAt, "HeartbeatAt": x.HeartbeatAt} {
		e.utc(what, at)
	}
	return x
}

// explains expects an explanation, its time and its state apart.
func (e *env) explains(what string, id int64, state driver.State, want driver.Explanation) {
	e.Helper()
	got := e.explain(id, state)
	got.At, want.State = time.Time{}, state
	if (got.Limit == nil) != (want.Limit == nil) {
		e.Errorf("%s: Limit is %v, want %v", what, got.Limit, want.Limit)
		return
	}
	if got.Limit != nil {
		eq(e, what+": Limit", *got.Limit, *want.Limit)
		got.Limit, want.Limit = nil, nil
	}
	eq(e, what, got, want)
}

func explainEnded(e *env) {
	id := e.insertOne()
	for _, unknown := range []int64{0, -1, id + 1, 1 << 62} {
		x, err := e.s.(driver.Explainer).Explain(e.ctx, unknown)
		e.wantErr(err, driver.ErrNotFound, "Explain(%d)", unknown)
		eq(e, "the explanation of an unknown job", x, driver.Explanation{})
	}
	e.pause("ended", true)
	e.pause("ended", false)
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
		b := e.openBatch(driver.NewBatch{})
		j := e.running(inQueue("ended"), withMax("key", 1), inBatch(b))
		e.end(j, state)
		e.pause("ended", true)
		e.serve(server1, []string{"ended"}, "work")
		e.explains("an ended job", j.ID, state, driver.Explanation{})
		e.pause("ended", false)
	}
}

func explainParents(e *env) {
	titled := func(p *driver.InsertParams) { p.Title = "Nightly é" }
	running := e.running(ofKind("runs"), inQueue("runs"), titled)
	failed := e.bring(driver.Failed, inQueue("fails"), ofKind("fails"))
	done := e.bring(driver.Succeeded, inQueue("done"))
	waiting := e.insertOne(withDelay(time.Hour), ofKind("later"))
	awaiting := e.insertOne(after(driver.OnDeleted, waiting), inQueue("x"))
	throttled := e.insert(copies(2, withMax("key", 1), inQueue("limited"))...)
	id := e.insertOne(after(driver.OnSucceeded|driver.OnDeleted, failed), after(driver.OnFinished, waiting, running.ID), after(driver.OnSucceeded, done, awaiting, throttled[1], throttled[0]))
	want := []driver.OpenParent{
		{ID: running.ID, State: driver.Processing, Kind: "runs", Title: "Nightly é", On: driver.OnFinished},
		{ID: failed, State: driver.Failed, Kind: "fails", On: driver.OnSucceeded | driver.OnDeleted},
		{ID: waiting, State: driver.Scheduled, Kind: "later", On: driver.OnFinished},
		{ID: awaiting, State: driver.Awaiting, Kind: "work", On: driver.OnSucceeded},
		{ID: throttled[0], State: driver.Enqueued, Kind: "work", On: driver.OnSucceeded},
		{ID: throttled[1], State: driver.Throttled, Kind: "work", On: driver.OnSucceeded},
	}
	e.explains("a job with open parents", id, driver.Awaiting, driver.Explanation{Parents: want, OpenParents: 6})
	e.end(running, driver.Deleted)
	e.end(e.claimOne("limited"), driver.Succeeded)
	want = slices.Concat(want[1:4], want[5:])
	want[3].State = driver.Enqueued
	e.explains("when two have ended", id, driver.Awaiting, driver.Explanation{Parents: want, OpenParents: 4})
	e.awaits(id, 4)
}

func explainManyParents(e *env) {
	parents := e.insert(copies(25, withDelay(time.Hour))...)
	given := slices.Clone(parents)
	slices.Reverse(given)
	id := e.insertOne(after(driver.OnFinished, given...))
	check := func(what string, open []int64) {
		e.Helper()
		x := e.explain(id, driver.Awaiting)
		var ids []int64
		for _, p := range x.Parents {
			ids = append(ids, p.ID)
		}
		e.order(what+": parents", ids, open[:20])
		eq(e, what+": OpenParents", x.OpenParents, len(open))
	}
	check("all open", parents)
	e.delete(driver.Filter{IDs: parents[3:5]})
	check("when two are deleted", slices.Concat(parents[:3], parents[5:]))
}

func explainBatch(e *env) {
	b := e.openBatch(driver.NewBatch{})
	id := e.insertOne(afterBatch(b), inQueue("then"))
	e.explains("an empty batch", id, driver.Awaiting, driver.Explanation{AfterBatch: b})
	inner := e.openBatch(driver.NewBatch{Parent: b})
	jobs := e.runningAll(3, "members", inBatch(b))
	e.insert(job(inBatch(b), inQueue("more")), job(inBatch(b), withDelay(time.Hour)), job(inBatch(inner), inQueue("more")))
	e.explains("three that run, two that wait and a nested one", id, driver.Awaiting, driver.Explanation{AfterBatch: b, BatchLive: 6})
	e.end(jobs[0], driver.Succeeded)
	e.end(jobs[1], driver.Failed)
	e.seal(b, inner)
	e.explains("one succeeded, one failed", id, driver.Awaiting, driver.Explanation{AfterBatch: b, BatchLive: 5, BatchSealed: true})
	e.endAllAs(e.claimExactly(2, "more"), driver.Succeeded)
	e.explains("the nested one has finished", id, driver.Awaiting, driver.Explanation{AfterBatch: b, BatchLive: 3, BatchSealed: true})
	parent := e.insertOne(withDelay(time.Hour))
	both := e.insertOne(afterBatch(b), after(driver.OnSucceeded, parent), inQueue("then"))
	open := []driver.OpenParent{{ID: parent, State: driver.Scheduled, Kind: "work", On: driver.OnSucceeded}}
	e.explains("a job that waits for both", both, driver.Awaiting, driver.Explanation{Parents: open, OpenParents: 1, AfterBatch: b, BatchLive: 3, BatchSealed: true})
	e.end(jobs[2], driver.Succeeded)
	e.delete(driver.Filter{State: driver.Failed})
	e.delete(driver.Filter{State: driver.Scheduled, BatchID: b})
	e.finished("with all members done", b)
	e.explains("when the batch has finished", id, driver.Enqueued, driver.Explanation{})
	e.explains("the one that waits for a parent too", both, driver.Awaiting, driver.Explanation{Parents: open, OpenParents: 1})
}

func explainScheduled(e *env) {
	id := e.insertOne(withDelay(time.Hour))
	e.explains("a delayed job", id, scheduled, driver.Explanation{ExpectedAt: e.record(id).RunAt})
	j := e.running()
	e.apply(driver.Outcome{Ref: j.Ref, State: scheduled, Delay: time.Minute, Reason: "retry"})
	e.explains("a retry", j.ID, scheduled, driver.Explanation{ExpectedAt: e.record(j.ID).RunAt})
	e.requeue(driver.Filter{IDs: []int64{id}})
	e.explains("when it is requeued", id, enqueued, driver.Explanation{})
}

func explainEnqueued(e *env) {
	e.insert(copies(4, inQueue("another"), withPriority(9))...)
	ids := e.insert(job(), job(ofKind("a")), job(withPriority(-2)), job(withPriority(3), ofKind("z")), job(ofKind("b")), job(withPriority(-2), ofKind("a")), job(withPriority(3), ofKind("b")))
	for i, want := range []int{2, 3, 5, 0, 4, 6, 1} {
		e.explains(fmt.Sprintf("job %d of seven", i), ids[i], enqueued, driver.Explanation{Ahead: want})
	}
	e.claimExactly(3)
	for i, want := range map[int]int{1: 0, 4: 1, 2: 2, 5: 3} {
		e.explains(fmt.Sprintf("job %d when three are claimed", i), ids[i], enqueued, driver.Explanation{Ahead: want})
	}
}

func explainAheadCap(e *env) {
	ids := e.insert(copies(driver.AheadCap+2, inQueue("long"))...)
	for _, i := range []int{0, 1, driver.AheadCap - 1, driver.AheadCap, driver.AheadCap + 1} {
		eq(e, fmt.Sprintf("jobs ahead of the one at %d", i), e.explain(ids[i], enqueued).Ahead, min(i, driver.AheadCap))
	}
	ids = e.insert(copies(driver.AheadCap+3, withMax("key", 1))...)
	for _, i := range []int{1, 2, driver.AheadCap, driver.AheadCap + 1, driver.AheadCap + 2} {
		eq(e, fmt.Sprintf("waiting jobs ahead of the one at %d", i), e.explain(ids[i], throttled).Ahead, min(i-1, driver.AheadCap))
	}
}

// waitingOnes brings a job of a kind in a queue into each state in which jobs wait.
func (e *env) waitingOnes(queue, kind string) map[driver.State]int64 {
	e.Helper()
	parent := e.insertOne(withDelay(time.Hour), inQueue("parents"))
	mods := func(more ...func(*driver.InsertParams)) driver.InsertParams {
		return job(append(more, inQueue(queue), ofKind(kind))...)
	}
	ids := e.insert(mods(after(driver.OnSucceeded, parent)), mods(withDelay(time.Hour)), mods(withMax("key of "+queue, 1)), mods(withMax("key of "+queue, 1)))
	return map[driver.State]int64{driver.Awaiting: ids[0], scheduled: ids[1], enqueued: ids[2], throttled: ids[3]}
}

func explainPaused(e *env) {
	ids := e.waitingOnes("q", "work")
	before := e.now()
	e.pause("q", true)
	after := e.now()
	e.pause("another", true)
	other := e.insertOne(inQueue("Q"))
	for state, id := range ids {
		x := e.explain(id, state)
		eq(e, fmt.Sprintf("Paused of a job that is %s", state), x.Paused, true)
		e.between("PausedAt", x.PausedAt, before, after)
	}
	e.explains("a job of another queue", other, enqueued, driver.Explanation{})
	e.pause("q", false)
	for state, id := range ids {
		x := e.explain(id, state)
		if x.Paused || !x.PausedAt.IsZero() {
			e.Errorf("a job that is %s in a resumed queue: Paused %v since %s", state, x.Paused, clockText(x.PausedAt))
		}
	}
}

func explainServed(e *env) {
	ids := e.waitingOnes("q", "work")
	check := func(what string, queue, kind bool) {
		e.Helper()
		for state, id := range ids {
			x := e.explain(id, state)
			if x.QueueServed != queue || x.KindServed != kind {
				e.Errorf("%s: a job that is %s has its queue served %v and its kind %v, want %v and %v", what, state, x.QueueServed, x.KindServed, queue, kind)
			}
		}
	}
	check("without a server", false, false)
	e.serve("1", []string{"Q", "q "}, "work")
	check("with a server of other queues", false, false)
	e.serve("2", []string{"q"}, "Work", "other")
	check("with a server of other kinds", true, false)
	e.serve("3", []string{"x", "q"}, "other", "work")
	check("with a server that handles it", true, true)
	e.must(e.s.Unregister(e.ctx, "3"), "Unregister")
	check("when that has left", true, false)
	e.serve("4", []string{"q"})
	check("with a server that names no kinds", true, true)
}

func explainSilent(e *env) {
	id := e.insertOne()
	e.serve(server1, []string{queue1}, "work")
	if !e.jump(driver.SilentAfter - time.Second) {
		return
	}
	e.explains("just not long enough", id, enqueued, driver.Explanation{QueueServed: true, KindServed: true})
	e.jump(2 * time.Second)
	e.explains("after more than a minute", id, enqueued, driver.Explanation{})
}

func explainProcessing(e *env) {
	j := e.running()
	e.pause(queue1, true)
	e.beat(driver.ServerInfo{ID: server2, Queues: []string{queue1}})
	e.explains("a job whose server has no row", j.ID, driver.Processing, driver.Explanation{})
	before := e.now()
	e.serve(server1, []string{queue1}, "work")
	after := e.now()
	x := e.explain(j.ID, driver.Processing)
	e.between("HeartbeatAt", x.HeartbeatAt, before, after)
	e.explains("a job whose server beats", j.ID, driver.Processing, driver.Explanation{HeartbeatAt: x.HeartbeatAt})
}

func explainFull(e *env) {
	ids := e.insert(append(copies(4, withMax("key", 2)), job(withMax("key", 2), withPriority(3)), job(withMax("key", 2), withPriority(-3)), job(withMax("key", 2), inQueue("another"), ofKind("b")))...)
	e.insert(copies(5, withMax("another", 1), withPriority(9), inQueue("other key"))...)
	info := driver.LimitInfo{Key: "key", Max: 2, Active: 2, Throttled: 5}
	// The most urgent one has got in with the first.
	for i, want := range map[int]int{1: 0, 2: 1, 3: 2, 6: 3, 5: 4} {
		e.explains(fmt.Sprintf("job %d of seven", i), ids[i], throttled, driver.Explanation{Ahead: want, Limit: &info})
	}
	e.end(e.claimExactly(2)[0], driver.Succeeded)
	info.Throttled = 4
	for i, want := range map[int]int{2: 0, 3: 1, 6: 2, 5: 3} {
		e.explains(fmt.Sprintf("job %d when one has ended", i), ids[i], throttled, driver.Explanation{Ahead: want, Limit: &info})
	}
}

func explainLimitStates(e *env) {
	ids := e.waitingOnes("q", "work")
	info := driver.LimitInfo{Key: "key of q", Max: 1, Active: 1, Throttled: 1}
	for _, state := range []driver.State{enqueued, throttled} {
		e.explains("a job that is "+string(state), ids[state], state, driver.Explanation{Limit: &info})
	}
	eq(e, "limit of a job without a key", e.explain(ids[scheduled], scheduled).Limit, nil)
	later := e.insertOne(withMax("key of q", 1), withDelay(time.Hour))
	e.explains("a job that is scheduled", later, scheduled, driver.Explanation{Limit: &info, ExpectedAt: e.record(later).RunAt})
	awaiting := e.insertOne(withMax("key of q", 1), after(driver.OnSucceeded, ids[scheduled]))
	open := []driver.OpenParent{{ID: ids[scheduled], State: scheduled, Kind: "work", On: driver.OnSucceeded}}
	e.explains("a job that awaits another", awaiting, driver.Awaiting, driver.Explanation{Parents: open, OpenParents: 1, Limit: &info})
	j := e.claimOne("q")
	e.explains("a job that runs", j.ID, driver.Processing, driver.Explanation{Limit: &info})
}

func explainRate(e *env) {
	rate := withRate("key", 1, 1, time.Hour, 1)
	ids := e.insert(copies(3, rate)...)
	e.statesAre("one that starts and two with reserved starts", ids, enqueued, scheduled, scheduled)
	x := e.explain(ids[2], scheduled)
	eq(e, "when one with a reserved start is expected", x.ExpectedAt, e.record(ids[2]).RunAt)
	if x.Limit == nil || x.Limit.Reserved != 2 || x.Limit.Rate != 1 || x.Limit.NextStart.IsZero() {
		e.Errorf("its limit is %+v, want one with two reserved starts, the rate, and the next start", x.Limit)
	}
	if !e.jump(time.Hour + time.Second) {
		return
	}
	e.promote(10)
	e.statesAre("when a start has come and Max is full", ids, enqueued, throttled, scheduled)
	x = e.explain(ids[1], throttled)
	eq(e, "jobs ahead of it", x.Ahead, 0)
	eq(e, "when it is expected, which the end of the other decides", x.ExpectedAt, time.Time{})
	// Behind a job that waits with its own start another one waits for the rate.
	fourth := e.insertOne(rate)
	x = e.explain(fourth, throttled)
	eq(e, "jobs ahead of the fourth", x.Ahead, 1)
	reserved := e.record(ids[2]).RunAt
	if d := x.ExpectedAt.Sub(reserved.Add(time.Hour)); d < -time.Second || d > time.Second {
		e.Errorf("the fourth is expected at %s, want an hour after the start that was given last, %s", clockText(x.ExpectedAt), clockText(reserved))
	}
	fifth := e.insertOne(rate)
	if d := e.explain(fifth, throttled).ExpectedAt.Sub(x.ExpectedAt); d != time.Hour {
		e.Errorf("the fifth is expected %s after the fourth, want an hour", d)
	}
}
