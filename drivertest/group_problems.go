package drivertest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func problemCases() []testCase {
	return readerCases([]testCase{
		{name: "Problems/none", pins: "Problems is empty when there is nothing: what servers work on, what waits for its time and what has ended need nobody.", run: problemsNone},
		{name: "Problems/unserved", pins: "Unserved are queues with ready jobs that no live server works on, the longest waiting first, with how many are ready.", run: problemsUnserved},
		{name: "Problems/unhandled", pins: "Unhandled are kinds with ready jobs that no live server of their queue handles, the longest waiting first; a server without kinds handles all, and queues that nobody serves are left out.", run: problemsUnhandled},
		{name: "Problems/oldest", pins: "Oldest are the queues with ready jobs, the longest waiting first, by the run time of the job that waits longest, whatever its priority; paused queues are left out.", run: problemsOldest},
		{name: "Problems/silent", pins: "Silent are servers whose last heartbeat is older than a minute, the longest silent first; what only they serve is Unserved.", run: problemsSilent},
		{name: "Problems/paused", pins: "Paused are the paused queues, the longest paused first, each with since when and how many jobs wait in it.", run: problemsPaused},
		{name: "Problems/failures", pins: "Failures are the failed jobs by kind, the newest failure first, with their number, the first and the last failure and the error of the newest.", run: problemsFailures},
		{name: "Problems/trend", pins: "LastHour and HourBefore count the failed jobs that failed in the last hour and in the one before it.", run: problemsTrend},
		{name: "Problems/limit", pins: "Each list of Problems has at most limit entries, the worst ones; 0 or less means 20.", run: problemsLimit},
	}, needsProblems)
}

func problemLimitCases() []testCase {
	return readerCases([]testCase{
		{name: "Problems", pins: "Held are limit keys that hold jobs back, the most first, each with its rule and its use and since when the first of them waits.", run: problemsHeld},
	}, needsProblems)
}

func problemRecurringCases() []testCase {
	return readerCases([]testCase{
		{name: "Problems/late", pins: "A recurring job that is not paused is late when its NextRunAt is more than a minute ago; late ones come first, the latest of all first.", run: problemsLate},
		{name: "Problems/failed", pins: "A recurring job whose last job failed is a problem until that job is requeued or deleted, or another one is its last.", run: problemsFailedRun},
	}, needsProblems)
}

// readerCases are cases that need an optional interface.
func readerCases(cases []testCase, needs func(*env) string) []testCase {
	for i := range cases {
		cases[i].needs = needs
	}
	return cases
}

func needsProblems(e *env) string {
	if _, ok := e.s.(driver.ProblemReader); !ok {
		return "the store is no ProblemReader"
	}
	return ""
}

// problems reads what needs a person. Its instants have to be in UTC, and no list longer than the limit.
func (e *env) problems(limit int) driver.Problems {
	e.Helper()
	before := e.now()
	p, err := e.s.(driver.ProblemReader).Problems(e.ctx, limit)
	e.must(err, "Problems(%d)", limit)
	e.between("At of Problems", p.At, before, e.now())
	if limit <= 0 {
		limit = 20
	}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice {
			continue
		}
		name := v.Type().Field(i).Name
		if list.Len() > limit {
			e.Errorf("Problems(%d) has %d entries in %s", limit, list.Len(), name)
		}
		for k := range list.Len() {
			for f := range list.Index(k).NumField() {
				if at, ok := list.Index(k).Field(f).Interface().(time.Time); ok {
					e.utc(fmt.Sprintf("%s of entry %d of %s", list.Index(k).Type().Field(f).Name, k, name), at)
				}
			}
		}
	}
	return p
}

// exactly expects a list to have n entries and stops the case when it has not.
func exactly[T any](e *env, what string, n int, list []T) []T {
	e.Helper()
	if len(list) != n {
		e.Fatalf("%s: %d entries, want %d: %s", what, len(list), n, show(list))
	}
	return list
}

// serve lets a server beat that works on queues and handles kinds, all when none is given.
func (e *env) serve(id string, queues []string, kinds ...string) {
	e.Helper()
	e.beat(driver.ServerInfo{ID: id, Queues: queues, Kinds: kinds, Workers: 1})
}

func problemsNone(e *env) {
	p := e.problems(0)
	p.At = time.Time{}
	eq(e, "problems of an empty store", p, driver.Problems{})
	e.serve(server1, []string{queue1, "busy"}, "work")
	e.bring(driver.Succeeded)
	e.bring(driver.Deleted)
	e.bring(driver.Processing, inQueue("busy"))
	e.insertOne(withDelay(time.Hour), inQueue("later"), ofKind("rare"))
	e.insertOne(after(driver.OnSucceeded, e.insertOne(withDelay(time.Hour))), inQueue("awaiting"))
	e.insertOne(withMax("free", 2), withDelay(time.Hour))
	e.put(everyDay("future", e.now().Add(time.Hour)))
	e.put(everyDay("never", time.Time{}))
	failed := e.bring(driver.Failed)
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: []int64{failed}}), 1)
	e.end(e.claimOne(), driver.Succeeded)
	e.pause("paused", true)
	e.pause("paused", false)
	p = e.problems(0)
	p.At = time.Time{}
	eq(e, "problems when nothing needs anybody", p, driver.Problems{})
}

// readyQueue expects an entry of a queue whose job that waits longest is the given one.
func (e *env) readyQueue(what string, got driver.ReadyQueue, queue string, job int64, ready int64) {
	e.Helper()
	want := driver.ReadyQueue{Queue: queue, Since: e.record(job).RunAt, Job: job, Ready: ready}
	eq(e, what, got, want)
}

func problemsUnserved(e *env) {
	e.serve(server1, []string{"served"}, "work")
	e.insert(copies(3, inQueue("served"))...)
	long := e.insert(job(inQueue("nobody"), withRunAt(e.now().Add(-time.Minute))), job(inQueue("nobody"), withRunAt(e.now().Add(-time.Hour))))
	short := e.insert(copies(3, inQueue("Served"))...)
	list := exactly(e, "unserved queues", 2, e.problems(0).Unserved)
	e.readyQueue("the longest waiting", list[0], "nobody", long[1], 2)
	e.readyQueue("the other one", list[1], "Served", short[0], 3)
	// A server that says so serves it, whether it handles the kinds or not.
	e.serve(server2, []string{"nobody", "Served"}, "another")
	eq(e, "unserved queues with a server", len(e.problems(0).Unserved), 0)
	e.must(e.s.Unregister(e.ctx, server2), "Unregister")
	eq(e, "unserved queues when it has left", len(e.problems(0).Unserved), 2)
	e.end(e.claimOne("nobody"), driver.Succeeded)
	e.end(e.claimOne("nobody"), driver.Succeeded)
	list = e.problems(0).Unserved
	if len(list) != 1 || list[0].Queue != "Served" {
		e.Errorf("unserved queues when one is empty: %+v", list)
	}
}

func problemsUnhandled(e *env) {
	past := func(minutes int) func(*driver.InsertParams) {
		return withRunAt(e.now().Add(-time.Duration(minutes) * time.Minute))
	}
	e.serve("1", []string{"mail", "web"}, "send")
	e.serve("2", []string{"web"}, "work", "Send")
	e.serve("3", []string{"any"})
	ids := e.insert(
		job(inQueue("mail"), ofKind("send"), past(9)), job(inQueue("mail"), ofKind("work"), past(5)), job(inQueue("mail"), ofKind("work"), past(7), withPriority(-3)),
		job(inQueue("web"), ofKind("send"), past(9)), job(inQueue("web"), ofKind("work"), past(9)), job(inQueue("web"), ofKind("send "), past(8)),
		job(inQueue("any"), ofKind("whatever"), past(9)), job(inQueue("nobody"), ofKind("send"), past(9)),
	)
	want := []driver.ReadyKind{
		{Queue: "web", Kind: "send ", Since: e.record(ids[5]).RunAt, Job: ids[5], Ready: 1},
		{Queue: "mail", Kind: "work", Since: e.record(ids[2]).RunAt, Job: ids[2], Ready: 2},
	}
	eq(e, "unhandled kinds", e.problems(0).Unhandled, want)
	e.serve("4", []string{"mail"}, "work")
	eq(e, "unhandled kinds when another server handles one", e.problems(0).Unhandled, want[:1])
}

func problemsOldest(e *env) {
	e.serve(server1, []string{"b"}, "work")
	past := func(minutes int) func(*driver.InsertParams) {
		return withRunAt(e.now().Add(-time.Duration(minutes) * time.Minute))
	}
	together := withRunAt(e.now().Add(-4 * time.Minute))
	ids := e.insert(
		job(inQueue("a"), past(1), withPriority(9)), job(inQueue("a"), past(3), withPriority(-9)), job(inQueue("a"), past(2), ofKind("other")),
		job(inQueue("b"), past(5)), job(inQueue("b")), job(inQueue("c"), together, ofKind("y")), job(inQueue("c"), together, ofKind("x")),
		job(inQueue("paused"), past(9)), job(inQueue("later"), withDelay(time.Hour)),
	)
	e.pause("paused", true)
	check := func(what string, queues ...string) {
		e.Helper()
		list := e.problems(0).Oldest
		var names []string
		for _, q := range list {
			names = append(names, q.Queue)
		}
		if !slices.Equal(names, queues) {
			e.Fatalf("%s: queues are %q, want %q", what, names, queues)
		}
		e.readyQueue("queue a", list[len(list)-1], "a", ids[1], 3)
	}
	check("with one paused", "b", "c", "a")
	eq(e, "of two that have been due equally long", exactly(e, "queues with ready jobs", 3, e.problems(0).Oldest)[1].Job, ids[5])
	e.pause("paused", false)
	check("with none paused", "paused", "b", "c", "a")
	eq(e, "the first of two", len(e.problems(1).Oldest), 1)
}

func problemsSilent(e *env) {
	full := driver.ServerInfo{ID: "b", Host: "h", PID: 7, Version: "v", Queues: []string{queue1}, Kinds: []string{"work", "z"}, Workers: 3, Running: 2}
	e.beat(full)
	e.insertOne()
	eq(e, "silent servers", len(e.problems(0).Silent), 0)
	if !e.jump(driver.SilentAfter - time.Second) {
		return
	}
	e.beat(driver.ServerInfo{ID: "a"})
	p := e.problems(0)
	eq(e, "silent servers, just not long enough", len(p.Silent), 0)
	eq(e, "queues that nobody serves, just not long enough", len(p.Unserved), 0)
	e.jump(2 * time.Second)
	p = e.problems(0)
	servers := e.servers()
	eq(e, "silent servers after more than a minute", p.Silent, servers[1:])
	eq(e, "queues that nobody serves when their server is silent", len(p.Unserved), 1)
	e.jump(driver.SilentAfter)
	eq(e, "silent servers, the longest silent first", e.problems(0).Silent, []driver.ServerInfo{servers[1], servers[0]})
	e.beat(full)
	p = e.problems(0)
	eq(e, "silent servers when one is back", p.Silent, servers[:1])
	eq(e, "queues that nobody serves when it is back", len(p.Unserved), 0)
}

func problemsPaused(e *env) {
	e.pause("second", true)
	e.pass(5 * time.Millisecond)
	before := e.now()
	e.pause("first", true)
	after := e.now()
	e.pause("gone", true)
	e.pause("gone", false)
	e.insert(copies(3, inQueue("first"))...)
	e.insertOne(inQueue("first"), withDelay(time.Hour))
	e.pass(5 * time.Millisecond)
	e.pause("first", true)
	list := exactly(e, "paused queues", 2, e.problems(0).Paused)
	eq(e, "the longest paused", list[0].Queue, "second")
	eq(e, "its ready jobs", list[0].Ready, 0)
	eq(e, "the other one", list[1].Queue, "first")
	eq(e, "its ready jobs", list[1].Ready, 3)
	e.between("Since", list[1].Since, before, after)
	for _, q := range e.queues() {
		if q.Name == "first" {
			eq(e, "PausedAt of the queue", q.PausedAt, list[1].Since)
		}
	}
}

// fail ends running jobs as failed in one call, with an error.
func (e *env) fail(text string, jobs ...driver.Job) {
	e.Helper()
	var outs []driver.Outcome
	for _, j := range jobs {
		outs = append(outs, driver.Outcome{Ref: j.Ref, State: driver.Failed, Reason: "permanent", Error: text})
	}
	e.apply(outs...)
}

func problemsFailures(e *env) {
	first := e.running(ofKind("a"))
	e.apply(driver.Outcome{Ref: first.Ref, State: driver.Scheduled, Reason: "retry", Error: "an older attempt"})
	e.fail("the first", e.claimOne())
	e.pass(2 * time.Millisecond)
	others := e.runningAll(2, "others", ofKind("b"))
	e.fail("of b", others...)
	e.pass(2 * time.Millisecond)
	long := strings.Repeat("é", 600)
	newest := e.runningAll(2, "newest", ofKind("a"))
	e.fail(long, newest...)
	list := exactly(e, "kinds with failures", 2, e.problems(0).Failures)
	if text := list[0].Error; !strings.HasPrefix(long, text) || len(text) < 400 {
		e.Errorf("the error is %d bytes, %s, want the beginning of what the job failed with", len(text), show(text))
	}
	list[0].Error = "" // a store may cut it
	at := func(id int64) time.Time { return e.inState(id, driver.Failed).FinalizedAt }
	eq(e, "failures by kind", list, []driver.KindFailures{
		{Kind: "a", Failed: 3, LastHour: 3, First: at(first.ID), Last: at(newest[1].ID), Newest: newest[1].ID},
		{Kind: "b", Failed: 2, LastHour: 2, First: at(others[0].ID), Last: at(others[1].ID), Newest: others[1].ID, Error: "of b"},
	})
	eq(e, "jobs deleted", e.delete(driver.Filter{IDs: jobIDs(newest)}), 2)
	list = exactly(e, "kinds with failures when some are deleted", 2, e.problems(0).Failures)
	eq(e, "the order when the newest ones are deleted", []string{list[0].Kind, list[1].Kind}, []string{"b", "a"})
	eq(e, "the error of what is left", list[1].Error, "the first")
	eq(e, "how many are left", list[1].Failed, 1)
}

func problemsTrend(e *env) {
	fail := func(n int) {
		e.Helper()
		e.fail("x", e.runningAll(n, "q")...)
	}
	fail(5)
	trend := func(what string, lastHour, hourBefore int64) {
		e.Helper()
		f := exactly(e, what+": kinds with failures", 1, e.problems(0).Failures)[0]
		eq(e, what+": the last hour and the one before", []int64{f.LastHour, f.HourBefore}, []int64{lastHour, hourBefore})
	}
	trend("at once", 5, 0)
	for _, c := range []struct {
		passes               time.Duration
		fails                int
		lastHour, hourBefore int64
	}{{59 * time.Minute, 3, 8, 0}, {2 * time.Minute, 1, 4, 5}, {59 * time.Minute, 2, 3, 3}, {2 * time.Minute, 0, 2, 4}, {5 * time.Hour, 0, 0, 0}} {
		if !e.jump(c.passes) {
			return
		}
		if c.fails > 0 {
			fail(c.fails)
		}
		trend(fmt.Sprintf("%s later, with %d more", c.passes, c.fails), c.lastHour, c.hourBefore)
	}
	eq(e, "all of them", exactly(e, "kinds with failures", 1, e.problems(0).Failures)[0].Failed, 11)
}

func problemsLimit(e *env) {
	const n = 23
	for i := range n {
		name := fmt.Sprintf("%02d", i)
		e.fail("x", e.running(inQueue("fail"), ofKind(name)))
		e.put(everyDay(name, e.now().Add(-time.Hour-time.Duration(i)*time.Second)))
		e.insert(copies(1+i, withMax(name, 1), inQueue("held"+name), withRunAt(e.now().Add(-time.Duration(i)*time.Second)))...)
		e.pause("paused"+name, true)
		e.insertOne(inQueue("one"), ofKind(name), withRunAt(e.now().Add(-time.Duration(i)*time.Second)))
		e.serve("server"+name, []string{"one"}, "nothing")
	}
	lengths := func(p driver.Problems) []int {
		return []int{len(p.Unserved), len(p.Unhandled), len(p.Oldest), len(p.Held), len(p.Recurring), len(p.Failures), len(p.Paused)}
	}
	for limit, want := range map[int]int{0: 20, -1: 20, 3: 3, 22: 22} {
		eq(e, fmt.Sprintf("entries with the limit %d", limit), lengths(e.problems(limit)), []int{want, want, want, want, want, want, want})
	}
	p := e.problems(1)
	if e.Failed() {
		return
	}
	last := fmt.Sprintf("%02d", n-1)
	eq(e, "the worst of each", []string{p.Unserved[0].Queue, p.Unhandled[0].Kind, p.Held[0].Key, p.Recurring[0].ID, p.Failures[0].Kind, p.Paused[0].Queue},
		[]string{"held" + last, last, last, last, last, "paused00"})
	if e.jump(time.Hour) {
		eq(e, "silent servers", len(e.problems(4).Silent), 4)
		eq(e, "silent servers without a limit", len(e.problems(0).Silent), 20)
	}
}

func problemsHeld(e *env) {
	e.insert(copies(3, withMax("full", 2))...)
	e.insert(copies(2, withMax("free", 2))...)
	e.insertOne(withRate("rate", 0, 1, time.Hour, 1))
	before := e.now()
	many := e.insert(copies(5, withMax("many", 1), withPriority(1))...)
	after := e.now()
	e.insertOne(withRate("rate", 0, 1, time.Hour, 1)) // has a reserved start
	list := exactly(e, "keys that hold jobs back", 2, e.problems(0).Held)
	e.between("Since", list[0].Since, before, after)
	eq(e, "Since", list[0].Since, e.record(many[1]).RunAt)
	list[0].Since, list[1].Since = time.Time{}, time.Time{}
	eq(e, "keys that hold jobs back", list, []driver.HeldKey{
		{LimitInfo: driver.LimitInfo{Key: "many", Max: 1, Active: 1, Throttled: 4}}, {LimitInfo: driver.LimitInfo{Key: "full", Max: 2, Active: 2, Throttled: 1}},
	})
	// Starts that have come and meet a full key are held back too.
	e.insert(copies(2, withRate("both", 1, 1000, time.Second, 1))...)
	e.pass(10 * time.Millisecond)
	e.promote(10)
	list = e.problems(0).Held
	if len(list) != 3 || list[1].Key != "both" && list[2].Key != "both" {
		e.Errorf("keys with one whose starts have come are %+v, want both too", list)
	}
}

func problemsLate(e *env) {
	now := e.now()
	paused := everyDay("paused", now.Add(-time.Hour))
	paused.Paused = true
	for _, r := range []driver.Recurring{
		everyDay("a", now.Add(-2*time.Hour)), everyDay("b", now.Add(-3*time.Hour)), everyDay("just", now.Add(-driver.SilentAfter+5*time.Second)), paused,
		everyDay("future", now.Add(time.Hour)), everyDay("never", time.Time{}),
	} {
		e.put(r)
	}
	want := []driver.RecurringProblem{
		{ID: "b", Late: true, NextRunAt: e.definition("b").NextRunAt}, {ID: "a", Late: true, NextRunAt: e.definition("a").NextRunAt},
	}
	eq(e, "late ones", e.problems(0).Recurring, want)
	eq(e, "the latest one", e.problems(1).Recurring, want[:1])
	next := now.Add(time.Hour)
	e.fires(driver.Fire{ID: "b", Version: 1, NextRunAt: next, LastRunAt: now})
	eq(e, "late ones when one has fired", e.problems(0).Recurring, want[1:])
	if e.jump(10 * time.Second) {
		eq(e, "late ones some seconds later", len(e.problems(0).Recurring), 2)
	}
}

// fires takes a step of a schedule, which has to succeed.
func (e *env) fires(f driver.Fire) []driver.Inserted {
	e.Helper()
	res, err := e.s.Fire(e.ctx, f)
	e.must(err, "Fire of %q at version %d", f.ID, f.Version)
	return res
}

func problemsFailedRun(e *env) {
	next := e.now().Add(24 * time.Hour)
	// run lets a recurring job fire and its job end.
	run := func(id string, state driver.State) driver.Inserted {
		e.Helper()
		d := e.definition(id)
		job := d.Template
		job.RecurringID = id
		res := e.fires(driver.Fire{ID: id, Version: d.Version, NextRunAt: d.NextRunAt, LastRunAt: e.now(), Jobs: []driver.InsertParams{job}})
		e.end(e.claimOne(), state)
		e.pass(2 * time.Millisecond)
		return res[0]
	}
	for _, id := range []string{"good", "bad", "worse", "late", "mended"} {
		e.put(everyDay(id, next))
	}
	run("good", driver.Succeeded)
	bad := run("bad", driver.Failed)
	run("mended", driver.Failed)
	run("mended", driver.Succeeded)
	worse := run("worse", driver.Failed)
	late := run("late", driver.Failed)
	d := e.definition("late")
	d.NextRunAt = e.now().Add(-time.Hour)
	e.put(d)
	entry := func(id string, job driver.Inserted) driver.RecurringProblem {
		d := e.definition(id)
		return driver.RecurringProblem{ID: id, Late: id == "late", NextRunAt: d.NextRunAt, LastJobID: job.ID, FailedAt: e.inState(job.ID, driver.Failed).FinalizedAt}
	}
	eq(e, "late and failed ones", e.problems(0).Recurring, []driver.RecurringProblem{entry("late", late), entry("worse", worse), entry("bad", bad)})
	eq(e, "two of them", e.problems(2).Recurring, []driver.RecurringProblem{entry("late", late), entry("worse", worse)})
	paused := e.definition("worse")
	paused.Paused = true
	e.put(paused)
	eq(e, "failed ones when one is paused", len(e.problems(0).Recurring), 3)
	e.delete(driver.Filter{IDs: []int64{worse.ID}})
	e.requeue(driver.Filter{IDs: []int64{bad.ID, late.ID}})
	list := e.problems(0).Recurring
	if len(list) != 1 || list[0].ID != "late" || !list[0].FailedAt.IsZero() {
		e.Errorf("problems when no last job is failed any more: %+v, want the late one alone", list)
	}
}
