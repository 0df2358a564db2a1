package drivertest

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func uniqueCases() []testCase {
	return []testCase{
		{name: "Held/states", pins: "A unique key is held while its job is scheduled (retry waits too), throttled, enqueued or processing: a duplicate is answered with the holder.", run: uniqueHeld},
		{name: "Bytes", pins: "Unique keys compare byte for byte.", run: uniqueBytes},
		{name: "Released/exits", pins: "A key is released when its job succeeds, fails or is deleted, by an outcome, by an operator or by its deadline.", run: uniqueReleased},
		{name: "Window", pins: "With UniqueFor a key is held for that long whatever becomes of the job, and free at the end of the window.", timing: true, run: uniqueWindow},
		{name: "InCall", pins: "A repeat inside of one call is a plain duplicate of the first one, even with Replace; ids of the inserted ones grow with position.", run: uniqueInCall},
		{name: "Concurrent", pins: "Of callers that insert the same key at once one inserts, and the others get its id.", run: uniqueConcurrent},
		{name: "Requeue", pins: "A requeue skips a job whose key another one holds and leaves it as it was; otherwise the job takes its key back.", run: uniqueRequeue},
		{name: "Replace", pins: "Replace gives the holder args, meta, tags, title, priority and run time of the newcomer, empty values included, and nothing else.", run: uniqueReplace},
		{name: "Replace/refused", pins: "An insert that fails has replaced nothing.", run: uniqueReplaceRefused},
		{name: "ReplaceStates/states", pins: "A holder that is ready keeps its run time unless the new one is in the future; a scheduled one stays until the next promote; one that runs or has ended takes nothing.", run: uniqueReplaceStates},
		{name: "ReplaceLimited", pins: "A holder with a reserved start or a slot of its limit takes the values and keeps run time and state.", run: uniqueReplaceLimited},
		{name: "Debounce", pins: "A debounced job is scheduled for now plus the debounce, and each duplicate replaces it and sets that anew.", run: uniqueDebounce},
		{name: "DebounceStates/states", pins: "A debounce touches a holder only while that is scheduled without a reserved start.", run: uniqueDebounceStates},
	}
}

func withKey(key string) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.UniqueKey = []byte(key) }
}

func keptFor(d time.Duration) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.UniqueFor = d }
}

func replacing(p *driver.InsertParams) { p.UniqueReplace = true }

func debounced(d time.Duration) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.UniqueDebounce = d }
}

// fresh inserts a job that has to be no duplicate and returns its id.
func (e *env) fresh(what string, mods ...func(*driver.InsertParams)) int64 {
	e.Helper()
	r := e.insertAll(job(mods...))[0]
	if r.Duplicate || r.Replaced {
		e.Fatalf("%s: got %+v, want a new job", what, r)
	}
	return r.ID
}

// duplicate inserts a job that has to be a plain duplicate of the holder.
func (e *env) duplicate(what string, holder int64, mods ...func(*driver.InsertParams)) {
	e.Helper()
	e.isDuplicate(what, e.insertAll(job(mods...))[0], holder)
}

func (e *env) isDuplicate(what string, r driver.Inserted, holder int64) {
	e.Helper()
	state := r.State
	r.State = ""
	eq(e, what, r, driver.Inserted{ID: holder, Duplicate: true})
	rec, err := e.s.Job(e.ctx, holder)
	if state != "" && (err != nil || rec.State != state) {
		e.Errorf("%s: the result says that the holder is %s, and Job has %s, %v", what, state, rec.State, err)
	}
}

// replaced inserts a job that has to replace the holder, and expects the state that this has afterwards.
func (e *env) replaced(what string, holder int64, state driver.State, mods ...func(*driver.InsertParams)) driver.Record {
	e.Helper()
	r := e.insertAll(job(append(mods, replacing)...))[0]
	eq(e, what, r, driver.Inserted{ID: holder, State: state, Duplicate: true, Replaced: true})
	return e.inState(holder, state)
}

func uniqueHeld(e *env) {
	holders := map[string]int64{
		"scheduled":  e.bring(driver.Scheduled, withKey("scheduled")),
		"processing": e.bring(driver.Processing, withKey("processing")),
	}
	retried := e.running(withKey("retried"))
	e.apply(driver.Outcome{Ref: retried.Ref, State: driver.Scheduled, Delay: time.Hour, Reason: "retry"})
	holders["retried"] = retried.ID
	holders["enqueued"] = e.bring(driver.Enqueued, withKey("enqueued"))
	limited := e.insert(job(withMax("held", 1)), job(withMax("held", 1), withKey("throttled")))
	holders["throttled"] = limited[1]
	e.inState(holders["throttled"], driver.Throttled)
	before := e.counts()
	for key, id := range holders {
		e.duplicate("duplicate of a job that is "+key, id, withKey(key))
		e.duplicate("duplicate of another kind and queue", id, withKey(key), ofKind("other"), inQueue("other"))
		e.duplicate("duplicate with a window", id, withKey(key), keptFor(time.Hour))
	}
	e.countsAre("after the duplicates", before)
	for key, id := range holders {
		eq(e, "history entries of the holder", len(e.record(id).History), map[bool]int{true: 1}[key == "retried"])
	}
	e.fresh("another key", withKey("another"))
	e.fresh("no key")
}

func uniqueBytes(e *env) {
	seen := map[int64]bool{}
	for _, key := range []string{"k", "K", "k ", " k", "k\t", "ķ", "é", "e\u0301", "ß", "ss", "\x00", "\x00\x00", "\xff\xfe", "ı", "i", "Ａ", "A"} {
		id := e.fresh(fmt.Sprintf("key %q", key), withKey(key))
		if seen[id] {
			e.Errorf("key %q has the id of another key: %d", key, id)
		}
		seen[id] = true
		e.duplicate(fmt.Sprintf("key %q again", key), id, withKey(key))
	}
}

// endings are the ways in which a job leaves its key and its slot for good, by name.
func (e *env) endings() map[string]func(mods ...func(*driver.InsertParams)) int64 {
	outcome := func(state driver.State) func(mods ...func(*driver.InsertParams)) int64 {
		return func(mods ...func(*driver.InsertParams)) int64 {
			j := e.running(mods...)
			e.apply(driver.Outcome{Ref: j.Ref, State: state, Reason: "why"})
			return j.ID
		}
	}
	return map[string]func(mods ...func(*driver.InsertParams)) int64{
		"succeeded": outcome(driver.Succeeded),
		"failed":    outcome(driver.Failed),
		"deleted":   outcome(driver.Deleted),
		"succeeded without a reason": func(mods ...func(*driver.InsertParams)) int64 {
			j := e.running(mods...)
			e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
			return j.ID
		},
		"canceled": func(mods ...func(*driver.InsertParams)) int64 {
			j := e.running(mods...)
			eq(e, "running jobs deleted", e.delete(driver.Filter{IDs: []int64{j.ID}}), 1)
			e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: time.Hour})
			return j.ID
		},
		"deleted by an operator": func(mods ...func(*driver.InsertParams)) int64 {
			id := e.insertOne(mods...)
			eq(e, "waiting jobs deleted", e.delete(driver.Filter{IDs: []int64{id}}), 1)
			return id
		},
		"late": func(mods ...func(*driver.InsertParams)) int64 {
			id := e.insertOne(append(mods, withDeadline(e.now().Add(-time.Second)))...)
			e.promote(10)
			e.inState(id, driver.Deleted)
			return id
		},
	}
}

func uniqueReleased(e *env) {
	for name, end := range e.endings() {
		id := end(withKey(name), inQueue(name))
		next := e.fresh("the next job after one that was "+name, withKey(name), withDelay(time.Hour))
		if next == id {
			e.Errorf("the job after one that was %s has its id, %d", name, id)
		}
		e.duplicate("a duplicate of the next one", next, withKey(name))
	}
	// Many at once.
	jobs := copies(20, inQueue("many"))
	for i := range jobs {
		jobs[i].UniqueKey = []byte(fmt.Sprint("many ", i))
	}
	e.insert(jobs...)
	var outs []driver.Outcome
	for _, j := range e.claimExactly(20, "many") {
		outs = append(outs, driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	}
	e.apply(outs...)
	for i, r := range e.insertAll(jobs...) {
		if r.Duplicate {
			e.Errorf("key %d of 20 jobs that succeeded together is still held by job %d", i, r.ID)
		}
	}
}

func uniqueWindow(e *env) {
	const window = 80 * time.Millisecond
	holders := map[string]int64{}
	for name, end := range e.endings() {
		holders[name] = end(withKey(name), inQueue(name), keptFor(time.Hour))
	}
	for name, id := range holders {
		e.duplicate("inside of the window after the job was "+name, id, withKey(name))
		e.duplicate("inside of the window, with Replace", id, withKey(name), replacing)
	}
	e.prune(driver.PruneParams{})
	for name, id := range holders {
		e.duplicate("inside of the window after the job was pruned", id, withKey(name))
	}

	id := e.insertOne(withKey("short"), keptFor(window), inQueue("short"))
	j := e.claimOne("short")
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	if e.clock != nil {
		e.pass(window - 5*time.Millisecond)
		e.duplicate("5 ms before the end of the window", id, withKey("short"))
		e.pass(5 * time.Millisecond)
	} else {
		e.pass(window)
	}
	next := e.fresh("at the end of the window", withKey("short"), inQueue("short"))
	e.duplicate("a duplicate of the next one, which holds the key while it is live", next, withKey("short"))

	// The key goes on to the next job although the first one is still live, and then belongs to that alone.
	first := e.insertOne(withKey("live"), keptFor(window), inQueue("live"))
	e.pass(window)
	second := e.fresh("behind the window of a live job", withKey("live"), inQueue("live"), withDelay(time.Hour))
	j = e.claimOne("live")
	eq(e, "the job that runs", j.ID, first)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	e.duplicate("after the first one has ended", second, withKey("live"))
	// Keys that nobody needs any more are pruned, and count.
	e.insertOne(withKey("old"), keptFor(window), withDelay(time.Hour))
	e.prune(driver.PruneParams{Retention: keepAll})
	e.pass(window)
	eq(e, "rows pruned: a key whose window has ended", e.prune(driver.PruneParams{Retention: keepAll}), 1)
}

func uniqueInCall(e *env) {
	res := e.insertAll(
		job(withKey("a")), job(withKey("a"), replacing, withArgs("2")), job(withKey("b")), job(withKey("a"), debounced(time.Hour)),
		job(), job(withKey("b")),
	)
	e.isDuplicate("the second job with the key", res[1], res[0].ID)
	e.isDuplicate("the third one", res[3], res[0].ID)
	e.isDuplicate("the second one of another key", res[5], res[2].ID)
	if res[0].Duplicate || res[2].Duplicate || res[4].Duplicate || res[0].ID >= res[2].ID || res[2].ID >= res[4].ID {
		e.Errorf("the new jobs are %+v, %+v and %+v, want no duplicates, with growing ids", res[0], res[2], res[4])
	}
	r := e.inState(res[0].ID, driver.Enqueued)
	eq(e, "args of the first one", string(r.Args), "{}")
	e.countsAre("after the call", driver.Counts{Enqueued: 3})

	res = e.insertAll(job(withKey("a"), replacing, withArgs("3")), job(withKey("a"), replacing, withArgs("4")))
	eq(e, "first duplicate of the call", res[0], driver.Inserted{ID: r.ID, State: driver.Enqueued, Duplicate: true, Replaced: true})
	e.isDuplicate("its repeat", res[1], r.ID)
	eq(e, "args of the holder", string(e.record(r.ID).Args), "3")
}

func uniqueConcurrent(e *env) {
	const callers, rounds = 16, 10
	for round := range rounds {
		ids := make([]driver.Inserted, callers)
		e.together(callers, func(i int) error {
			res, err := e.s.Insert(e.ctx, []driver.InsertParams{job(withKey(fmt.Sprint("key ", round)))})
			if err == nil {
				ids[i] = res[0]
			}
			return err
		})
		fresh := 0
		for _, r := range ids {
			if !r.Duplicate {
				fresh++
			}
			if r.ID != ids[0].ID {
				e.Errorf("round %d: callers got jobs %d and %d", round, ids[0].ID, r.ID)
			}
		}
		eq(e, "callers that inserted", fresh, 1)
	}
	e.countsAre("afterwards", driver.Counts{Enqueued: rounds})
}

func uniqueRequeue(e *env) {
	for _, state := range []driver.State{driver.Failed, driver.Succeeded, driver.Deleted} {
		key := withKey(string(state))
		first := e.bring(state, key, inQueue(string(state)))
		second := e.fresh("the next job with the key", key, inQueue(string(state)))
		before := e.record(first)
		eq(e, "jobs requeued while another one holds the key", e.requeue(driver.Filter{IDs: []int64{first}}), 0)
		after := e.inState(first, state)
		eq(e, "history entries afterwards", len(after.History), len(before.History))
		e.given("FinalizedAt afterwards", after.FinalizedAt, before.FinalizedAt)
		e.duplicate("the holder still holds it", second, key)

		j := e.claimOne(string(state))
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
		eq(e, "jobs requeued when the key is free", e.requeue(driver.Filter{IDs: []int64{first}}), 1)
		e.inState(first, driver.Enqueued)
		e.duplicate("the requeued job holds the key again", first, key)
		// Of two jobs with one key a call requeues the first.
		eq(e, "jobs requeued of the other", e.requeue(driver.Filter{IDs: []int64{second}}), 0)
		eq(e, "jobs deleted", e.delete(driver.Filter{IDs: []int64{first}}), 1)
		eq(e, "jobs requeued of both", e.requeue(driver.Filter{IDs: []int64{first, second}}), 1)
	}
	// A scheduled job has its key, and one that held its key for a window asks for none.
	id := e.insertOne(withKey("scheduled"), withDelay(time.Hour))
	eq(e, "scheduled jobs requeued", e.requeue(driver.Filter{IDs: []int64{id}}), 1)
	e.duplicate("it holds the key as before", id, withKey("scheduled"))
	windowed := e.bring(driver.Failed, withKey("window"), keptFor(time.Hour), inQueue("window"))
	eq(e, "jobs requeued inside of their window", e.requeue(driver.Filter{IDs: []int64{windowed}}), 1)
	e.duplicate("the window holds the key", windowed, withKey("window"))
}

func uniqueReplace(e *env) {
	full := everything()
	full.UniqueKey, full.Delay, full.RunAt = []byte("k"), time.Hour, time.Time{}
	id := e.insert(full)[0]
	before := e.inState(id, driver.Scheduled)
	newcomer := driver.InsertParams{
		Kind: "other", Queue: "other", Args: []byte(`{"new": true}`), MaxAttempts: 99, Timeout: time.Minute, RecurringID: "other",
		Meta: map[string]string{"new": "yes"}, Tags: []string{"fresh"}, Title: "new title", Priority: 17,
		RunAt: e.now().Add(30 * time.Minute), UniqueKey: []byte("k"), UniqueReplace: true, UniqueFor: time.Minute,
	}
	res := e.insertAll(newcomer)[0]
	eq(e, "result", res, driver.Inserted{ID: id, State: driver.Scheduled, Duplicate: true, Replaced: true})
	want := full
	want.Args, want.Meta, want.Tags, want.Title, want.Priority, want.RunAt = newcomer.Args, newcomer.Meta, newcomer.Tags, newcomer.Title, newcomer.Priority, newcomer.RunAt
	got := e.inState(id, driver.Scheduled)
	e.sameParams("holder", got.Job, want)
	e.given("CreatedAt", got.CreatedAt, before.CreatedAt)
	page := e.page(driver.JobQuery{State: driver.Scheduled, Tag: "fresh"})
	e.order("scheduled jobs with the new tag", recordIDs(page.Records), []int64{id})

	empty := job(withKey("k"), replacing)
	start := e.now()
	eq(e, "result with empty values", e.insertAll(empty)[0].Replaced, true)
	want.Args, want.Meta, want.Tags, want.Title, want.Priority, want.RunAt = empty.Args, nil, nil, "", 0, time.Time{}
	got = e.inState(id, driver.Scheduled)
	e.sameParams("holder after empty values", got.Job, want)
	e.between("RunAt without one", got.RunAt, start, e.now())
	e.promote(10)
	j := e.claimOne(full.Queue)
	e.sameParams("claimed", j, want)
	e.countsAre("afterwards", driver.Counts{Processing: 1})
}

func uniqueReplaceRefused(e *env) {
	id := e.insertOne(withKey("k"), withArgs("1"), withDelay(time.Hour))
	before := e.record(id)
	e.refused("a broken job behind a replacing one", job(withKey("k"), replacing, withArgs("2")), job(withArgs("{")))
	got := e.inState(id, driver.Scheduled)
	e.sameJob("holder after a refused call", got.Job, before.Job)
}

func uniqueReplaceStates(e *env) {
	// Scheduled: due now it stays for the next promote.
	id := e.insertOne(withKey("scheduled"), withDelay(time.Hour), withArgs("1"))
	e.replaced("a scheduled holder", id, driver.Scheduled, withKey("scheduled"), withArgs("2"))
	eq(e, "jobs promoted", e.promote(10).Count, 1)
	eq(e, "args of the promoted job", string(e.claimOne().Args), "2")

	// A retry that waits keeps its attempts, and what SetMeta wrote goes with the old meta.
	j := e.running(withKey("retry"), inQueue("retry"))
	e.must(e.s.SetMeta(e.ctx, j.Ref, map[string]string{"old": "1"}), "SetMeta")
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: time.Hour})
	r := e.replaced("a retry that waits", j.ID, driver.Scheduled, withKey("retry"), withDelay(time.Minute), inQueue("retry"))
	eq(e, "its attempt", r.Attempt, 1)
	eq(e, "its meta", len(r.Meta), 0)

	// Enqueued.
	id = e.insertOne(withKey("enqueued"), inQueue("enqueued"))
	behind := e.insertOne(inQueue("enqueued"), withPriority(1))
	before := e.record(id)
	r = e.replaced("an enqueued holder", id, driver.Enqueued, withKey("enqueued"), withArgs("2"), withPriority(2))
	e.given("its run time", r.RunAt, before.RunAt)
	r = e.replaced("an enqueued holder, with a run time in the past", id, driver.Enqueued, withKey("enqueued"), withRunAt(e.now().Add(-time.Hour)), withPriority(2))
	e.given("its run time", r.RunAt, before.RunAt)
	e.order("claimed by the new priority", jobIDs(e.claim(1, "enqueued")), []int64{id})
	eq(e, "the other one", e.claimOne("enqueued").ID, behind)

	id = e.insertOne(withKey("later"), inQueue("later"))
	at := e.now().Add(time.Hour)
	r = e.replaced("an enqueued holder, with a run time in the future", id, driver.Scheduled, withKey("later"), withRunAt(at))
	e.given("its run time", r.RunAt, at)
	eq(e, "jobs claimed of it", len(e.claim(10, "later")), 0)

	// Processing, and ended inside of a window.
	j = e.running(withKey("processing"), inQueue("processing"), withArgs("1"))
	e.duplicate("a processing holder", j.ID, withKey("processing"), replacing, withArgs("2"), withDelay(time.Hour))
	eq(e, "its args", string(e.inState(j.ID, driver.Processing).Args), "1")
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
		key := withKey("window " + string(state))
		id = e.bring(state, key, keptFor(time.Hour), withArgs("1"), inQueue("window "+string(state)))
		e.duplicate("a holder that has ended", id, key, replacing, withArgs("2"))
		eq(e, "its args", string(e.inState(id, state).Args), "1")
	}
}

func uniqueReplaceLimited(e *env) {
	ids := e.insert(job(withMax("max", 1), withKey("a"), withArgs("1")), job(withMax("max", 1), withKey("b")), job(withMax("max", 1), withKey("c")))
	before := e.record(ids[0])
	r := e.replaced("a holder with a slot", ids[0], driver.Enqueued, withKey("a"), withArgs("2"), withDelay(time.Hour))
	eq(e, "its args", string(r.Args), "2")
	eq(e, "its limit", r.LimitKey, "max")
	e.given("its run time", r.RunAt, before.RunAt)
	r = e.replaced("a throttled holder, due", ids[1], driver.Throttled, withKey("b"), withArgs("2"))
	e.given("its run time", r.RunAt, e.record(ids[1]).CreatedAt)
	e.replaced("a throttled holder, with a run time in the future", ids[1], driver.Scheduled, withKey("b"), withArgs("3"), withDelay(time.Hour))
	e.inState(ids[2], driver.Throttled)
	e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Succeeded})
	e.inState(ids[2], driver.Enqueued)

	// Reserved starts.
	rated := func(key string) driver.InsertParams {
		return job(withRate("rate", 1, 1, time.Hour, 1), withKey(key), inQueue("rate"))
	}
	ids = e.insert(rated("x"), rated("y"))
	before = e.inState(ids[1], driver.Scheduled)
	r = e.replaced("a holder with a reserved start", ids[1], driver.Scheduled, withKey("y"), withArgs("2"), withDelay(time.Minute))
	e.given("its start", r.RunAt, before.RunAt)
	if e.jump(2 * time.Hour) {
		e.promote(10)
		e.inState(ids[1], driver.Throttled)
		r = e.replaced("a holder whose reserved start has come", ids[1], driver.Throttled, withKey("y"), withArgs("3"), withDelay(time.Hour))
		e.given("its start", r.RunAt, before.RunAt)
	}
	e.consistent()
}

func uniqueDebounce(e *env) {
	const d = 100 * time.Millisecond
	p := job(withKey("k"), debounced(d), withArgs("1"), withDelay(time.Hour))
	before := e.now()
	res := e.insertAll(p)[0]
	after := e.now()
	eq(e, "state of the first one", res.State, driver.Scheduled)
	r := e.inState(res.ID, driver.Scheduled)
	e.between("its run time", r.RunAt, before.Add(d), after.Add(d))
	for i := range 3 {
		e.pass(d / 4)
		before = e.now()
		p.Args = []byte(fmt.Sprint(i + 2))
		p.RunAt = before.Add(-time.Hour)
		got := e.insertAll(p)[0]
		after = e.now()
		eq(e, "result of a duplicate", got, driver.Inserted{ID: res.ID, State: driver.Scheduled, Duplicate: true, Replaced: true})
		r = e.inState(res.ID, driver.Scheduled)
		e.between("run time after it", r.RunAt, before.Add(d), after.Add(d))
		eq(e, "args after it", string(r.Args), fmt.Sprint(i+2))
	}
	e.pass(d)
	eq(e, "jobs promoted", e.promote(10).Count, 1)
	eq(e, "args of the run", string(e.claimOne().Args), "4")
}

func uniqueDebounceStates(e *env) {
	const d = time.Hour
	untouched := func(what, key string, id int64) {
		e.Helper()
		before := e.record(id)
		e.duplicate(what, id, withKey(key), debounced(d), withArgs(`"new"`))
		e.sameJob(what, e.record(id).Job, before.Job)
	}
	untouched("an enqueued holder", "enqueued", e.bring(driver.Enqueued, withKey("enqueued"), inQueue("enqueued")))
	untouched("a processing holder", "processing", e.bring(driver.Processing, withKey("processing")))
	ids := e.insert(job(withMax("max", 1), inQueue("max")), job(withMax("max", 1), withKey("throttled"), inQueue("max")))
	untouched("a throttled holder", "throttled", ids[1])
	rated := withRate("rate", 0, 1, time.Hour, 1)
	ids = e.insert(job(rated, inQueue("rate")), job(rated, withKey("reserved"), inQueue("rate")))
	e.inState(ids[1], driver.Scheduled)
	untouched("a holder with a reserved start", "reserved", ids[1])

	j := e.running(withKey("retry"), inQueue("retry"))
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: time.Minute})
	got := e.insertAll(job(withKey("retry"), debounced(d), withArgs(`"new"`)))[0]
	eq(e, "result for a retry that waits", got, driver.Inserted{ID: j.ID, State: driver.Scheduled, Duplicate: true, Replaced: true})
}
