package drivertest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func limitCases() []testCase {
	return []testCase{
		{name: "Admission", pins: "At most LimitMax jobs of a key are enqueued and processing together; one that ends lets the next one in.", run: limitAdmission},
		{name: "Order", pins: "Inside a key jobs are admitted by priority, highest first, then by id, those of one insert together with those already waiting.", run: limitOrder},
		{name: "Release", pins: "Every exit frees the slot and admits the next one in the same call: success, failure, retry, snooze, cancel, delete, deadline.", run: limitRelease},
		{name: "Max", pins: "The latest insert's LimitMax applies to all jobs of the key: a raised one admits at once, a lowered one waits.", run: limitMax},
		{name: "Bytes", pins: "Limit keys compare byte for byte.", run: limitBytes},
		{name: "Promote", pins: "A due job with a limit goes to throttled and is admitted as there is room; Count and Queues say what was moved and what got ready.", run: limitPromote},
		{name: "Requeue", pins: "A requeued job of a limit goes through admission.", run: limitRequeue},
		{name: "Shutdown", pins: "An outcome that goes straight back to the queue competes again, and with equal priority wins by its lower id.", run: limitShutdown},
		{name: "DeleteWaiting", pins: "Deleting jobs that wait frees nothing.", run: limitDeleteWaiting},
		{name: "Pruned", pins: "A rule holds while a live job names its key, whatever was pruned.", run: limitPruned},
		{name: "Archived", pins: "A rule holds while an archived job names its key, for every job that comes back.", run: limitArchived},
		{name: "Rows", pins: "A rule that nothing names is pruned with its last job and counts one.", run: limitRows},
		{name: "Concurrent", pins: "80 jobs with Max 3 and 8 workers: never more than 3 are enqueued and processing, and all are done within 5s.", timing: true, run: limitConcurrent},
		{name: "Reader", pins: "Limits lists every key with its rule and its counts from the first insert on, until it is pruned.", needs: needsLimits, run: limitReader},
		{name: "ReaderPages", pins: "Limits lists keys in byte order after the given one, 100 when the limit is 0.", needs: needsLimits, run: limitReaderPages},
		{name: "ReaderNextStart", pins: "NextStart is the next free start of a rated key, zero unless it is in the future.", needs: needsLimits, run: limitReaderNextStart},
	}
}

func withMax(key string, most int) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.LimitKey, p.LimitMax = key, most }
}

func withRate(key string, most, rate int, per time.Duration, burst int) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) {
		p.LimitKey, p.LimitMax, p.LimitRate, p.LimitPer, p.LimitBurst = key, most, rate, per, burst
	}
}

func needsLimits(e *env) string {
	if _, ok := e.s.(driver.LimitReader); !ok {
		return "the store is no LimitReader"
	}
	return ""
}

func (e *env) limits(after string, limit int) []driver.LimitInfo {
	e.Helper()
	infos, err := e.s.(driver.LimitReader).Limits(e.ctx, after, limit)
	e.must(err, "Limits(%q, %d)", after, limit)
	return infos
}

// statesAre expects jobs to stand in states, in order.
func (e *env) statesAre(what string, ids []int64, want ...driver.State) {
	e.Helper()
	got := make([]driver.State, len(ids))
	for i, id := range ids {
		got[i] = e.record(id).State
	}
	eq(e, what, got, want)
}

// consistent expects Sweep to find nothing.
func (e *env) consistent() {
	e.Helper()
	n, err := e.s.Sweep(e.ctx, 1000)
	e.must(err, "Sweep")
	eq(e, "rows that Sweep changed in a consistent store", n, 0)
}

const (
	throttled = driver.Throttled
	enqueued  = driver.Enqueued
	scheduled = driver.Scheduled
)

func limitAdmission(e *env) {
	ids := e.insert(copies(5, withMax("key", 2))...)
	e.statesAre("after the insert", ids, enqueued, enqueued, throttled, throttled, throttled)
	others := e.insert(copies(3, withMax("another", 3), inQueue("others"))...)
	e.statesAre("jobs of another key", others, enqueued, enqueued, enqueued)
	e.consistent()
	running := e.claim(10)
	eq(e, "jobs claimed", len(running), 2)
	for i := 2; i < 5; i++ {
		eq(e, "limit key of a claimed job", running[0].LimitKey, "key")
		e.apply(driver.Outcome{Ref: running[0].Ref, State: driver.Succeeded})
		e.inState(ids[i], enqueued)
		next := e.claim(10)
		e.order(fmt.Sprintf("claimed when %d have ended", i-1), jobIDs(next), ids[i:i+1])
		running = append(running[1:], next...)
	}
	e.countsAre("when three have ended", driver.Counts{Processing: 2, Enqueued: 3, Succeeded: 3})
	e.consistent()
}

func limitOrder(e *env) {
	one := withMax("key", 1)
	first := e.insertOne(one)
	low := e.insert(job(one, withPriority(-1)), job(one), job(one), job(one, withPriority(5)))
	high := e.insert(job(one, withPriority(5)), job(one, withPriority(9)), job(one, withPriority(-5)))
	var got []int64
	for {
		jobs := e.claim(10)
		if len(jobs) == 0 {
			break
		}
		eq(e, "jobs claimed at once", len(jobs), 1)
		got = append(got, jobs[0].ID)
		e.apply(driver.Outcome{Ref: jobs[0].Ref, State: driver.Succeeded})
	}
	e.order("admitted", got, []int64{first, high[1], low[3], high[0], low[1], low[2], low[0], high[2]})
	// Those of one call compete together.
	ids := e.insert(job(one), job(one, withPriority(1)))
	e.statesAre("an insert whose second job is more urgent", ids, throttled, enqueued)
}

func limitRelease(e *env) {
	exits := e.endings()
	again := func(out driver.Outcome) func(mods ...func(*driver.InsertParams)) int64 {
		return func(mods ...func(*driver.InsertParams)) int64 {
			j := e.running(mods...)
			out.Ref = j.Ref
			e.apply(out)
			return j.ID
		}
	}
	exits["retried"] = again(driver.Outcome{State: driver.Scheduled, Delay: time.Hour, Reason: "retry"})
	exits["snoozed"] = again(driver.Outcome{State: driver.Scheduled, Delay: time.Hour, Reason: "snoozed", Refund: true})
	exits["sent back behind a more urgent one"] = func(mods ...func(*driver.InsertParams)) int64 {
		j := e.running(append(mods, withPriority(-1))...)
		urgent := e.insertOne(append(mods, withPriority(1))...)
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Enqueued, Refund: true})
		e.inState(j.ID, throttled)
		e.inState(urgent, enqueued)
		e.apply(driver.Outcome{Ref: e.claimOne(j.Queue).Ref, State: driver.Succeeded})
		e.apply(driver.Outcome{Ref: e.claimOne(j.Queue).Ref, State: driver.Succeeded})
		return j.ID
	}
	for name, exit := range exits {
		id := exit(withMax(name, 1), inQueue(name))
		next := e.insert(copies(2, withMax(name, 1), inQueue(name))...)
		e.statesAre("the next ones after a job was "+name, next, enqueued, throttled)
		if r := e.record(id); r.State == enqueued || r.State == driver.Processing {
			e.Errorf("the job that was %s is %s", name, r.State)
		}
	}
	// The next one is let in by the call that frees the slot, and many slots by one call.
	ids := e.insert(copies(60, withMax("many", 20), inQueue("many"))...)
	for range 3 {
		var outs []driver.Outcome
		for _, j := range e.claimExactly(20, "many") {
			outs = append(outs, driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
		}
		e.apply(outs...)
	}
	for _, id := range ids {
		e.inState(id, driver.Succeeded)
	}
	e.consistent()
}

func limitMax(e *env) {
	ids := e.insert(copies(4, withMax("key", 1))...)
	e.statesAre("with Max 1", ids, enqueued, throttled, throttled, throttled)
	ids = append(ids, e.insertOne(withMax("key", 3)))
	e.statesAre("raised to 3", ids, enqueued, enqueued, enqueued, throttled, throttled)
	ids = append(ids, e.insertOne(withMax("key", 4), withDelay(time.Hour)))
	e.statesAre("raised to 4 by a job that waits for its time", ids, enqueued, enqueued, enqueued, enqueued, throttled, scheduled)
	ids = append(ids, e.insertOne(withMax("key", 1)))
	jobs := e.claimExactly(4)
	for i := range 3 {
		e.apply(driver.Outcome{Ref: jobs[i].Ref, State: driver.Succeeded})
		e.inState(ids[4], throttled)
	}
	e.apply(driver.Outcome{Ref: jobs[3].Ref, State: driver.Succeeded})
	e.inState(ids[4], enqueued)
	e.inState(ids[6], throttled)
	// The last rule of a call counts.
	call := e.insert(job(withMax("call", 1)), job(withMax("call", 2)), job(withMax("call", 2)))
	e.statesAre("rules of one call", call, enqueued, enqueued, throttled)
	// A job that is not inserted says nothing.
	e.duplicate("a duplicate with another rule", e.insertOne(withMax("dup", 1), withKey("dup")), withMax("dup", 9), withKey("dup"))
	e.statesAre("a job behind it", e.insert(job(withMax("dup", 1))), throttled)
}

func limitBytes(e *env) {
	keys := []string{"k", "K", "k ", " k", "k\t", "é", "e\u0301", "ß", "ss", "ı", "i", "Ａ", "A", `"`, `\`, "<k>", "日本"}
	var jobs []driver.InsertParams
	for _, key := range keys {
		jobs = append(jobs, job(withMax(key, 1)), job(withMax(key, 1)))
	}
	ids := e.insert(jobs...)
	for i, key := range keys {
		e.statesAre(fmt.Sprintf("jobs of key %q", key), ids[2*i:2*i+2], enqueued, throttled)
	}
	for _, j := range e.claimExactly(len(keys)) {
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	}
	for i, key := range keys {
		eq(e, "key of the job", e.inState(ids[2*i+1], enqueued).LimitKey, key)
	}
}

func limitPromote(e *env) {
	const d = 20 * time.Millisecond
	ids := e.insert(job(withMax("key", 1), withDelay(d), inQueue("b")), job(withMax("key", 1), withDelay(d), inQueue("a")), job(withDelay(d), inQueue("c")))
	e.statesAre("before their time", ids, scheduled, scheduled, scheduled)
	e.pass(d + 5*time.Millisecond)
	p := e.promote(10)
	eq(e, "jobs promoted", p.Count, 3)
	eq(e, "queues that got ready jobs", p.Queues, []string{"b", "c"})
	e.statesAre("after their time", ids, enqueued, throttled, enqueued)
	eq(e, "jobs promoted by a second call", e.promote(10).Count, 0)
	e.apply(driver.Outcome{Ref: e.claimOne("b").Ref, State: driver.Succeeded})
	e.inState(ids[1], enqueued)
	// A key that is full when its job is due.
	ids = e.insert(job(withMax("full", 1)), job(withMax("full", 1), withDelay(d), inQueue("full")))
	e.pass(d + 5*time.Millisecond)
	p = e.promote(10)
	eq(e, "jobs promoted to a full key", p.Count, 1)
	eq(e, "queues that got ready jobs of a full key", len(p.Queues), 0)
	e.statesAre("jobs of the full key", ids, enqueued, throttled)
	e.consistent()
}

func limitRequeue(e *env) {
	ids := e.insert(copies(2, withMax("key", 1))...)
	for _, state := range []driver.State{driver.Failed, driver.Succeeded} {
		e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: state})
	}
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: ids}), 2)
	e.statesAre("requeued together", ids, enqueued, throttled)
	entry := e.lastEntry(e.record(ids[1]), 1)
	eq(e, "state in the entry of the one that waits", entry.State, throttled)
	later := e.insertOne(withMax("key", 1), withDelay(time.Hour))
	before := e.now()
	eq(e, "scheduled jobs requeued", e.requeue(driver.Filter{IDs: []int64{later}}), 1)
	r := e.inState(later, throttled)
	e.between("its run time", r.RunAt, before, e.now())
	for _, want := range []int64{ids[0], ids[1], later} {
		j := e.claimOne()
		eq(e, "the next one", j.ID, want)
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	}
}

func limitShutdown(e *env) {
	ids := e.insert(copies(3, withMax("key", 1))...)
	for i, reason := range []string{"shutdown", "lost", "retry", "orphaned"} {
		j := e.claimOne()
		eq(e, "the job that runs before "+reason, j.ID, ids[0])
		out := driver.Outcome{Ref: j.Ref, State: driver.Enqueued, Reason: reason, Refund: i < 2}
		if reason == "retry" {
			out.State = driver.Scheduled
		}
		e.apply(out)
		e.statesAre("after "+reason, ids, enqueued, throttled, throttled)
		r := e.record(ids[0])
		eq(e, "state in the entry", e.lastEntry(r, i+1).State, throttled)
	}
	eq(e, "its attempts", e.record(ids[0]).Attempt, 2)
	e.consistent()
}

func limitDeleteWaiting(e *env) {
	ids := e.insert(copies(5, withMax("key", 1))...)
	eq(e, "waiting jobs deleted", e.delete(driver.Filter{IDs: ids[1:3]}), 2)
	e.statesAre("afterwards", ids, enqueued, driver.Deleted, driver.Deleted, throttled, throttled)
	eq(e, "waiting jobs deleted by state", e.delete(driver.Filter{State: throttled}), 2)
	last := e.insertOne(withMax("key", 1))
	e.inState(last, throttled)
	e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Succeeded})
	e.inState(last, enqueued)
	// The one that holds the slot does free it.
	next := e.insertOne(withMax("key", 1))
	eq(e, "enqueued jobs deleted", e.delete(driver.Filter{IDs: []int64{last}}), 1)
	e.inState(next, enqueued)
	e.consistent()
}

func limitPruned(e *env) {
	ids := e.insert(copies(4, withMax("key", 1))...)
	e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Succeeded})
	eq(e, "rows pruned: the job that has ended", e.prune(driver.PruneParams{}), 1)
	for i := 1; i < 3; i++ {
		e.statesAre("the rest", ids[i:i+2], enqueued, throttled)
		e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Deleted})
		eq(e, "rows pruned: one more", e.prune(driver.PruneParams{}), 1)
	}
	e.statesAre("the last one", ids[3:], enqueued)
}

func limitArchived(e *env) {
	ids := e.insert(copies(3, withMax("key", 1))...)
	for _, state := range []driver.State{driver.Succeeded, driver.Deleted, driver.Failed} {
		e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: state})
	}
	eq(e, "rows pruned that are kept", e.prune(driver.PruneParams{Retention: keepAll}), 0)
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: ids}), 3)
	e.statesAre("requeued", ids, enqueued, throttled, throttled)
}

func limitRows(e *env) {
	j := e.running(withMax("key", 1))
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	waits := e.insertOne(withMax("kept", 1), withDelay(time.Hour))
	total := 0
	for range 3 {
		total += e.prune(driver.PruneParams{})
	}
	eq(e, "rows pruned in three calls: the job and its key", total, 2)
	if _, ok := e.s.(driver.LimitReader); ok {
		infos := e.limits("", 0)
		if len(infos) != 1 || infos[0].Key != "kept" {
			e.Errorf("limits afterwards: %+v, want that of job %d", infos, waits)
		}
	}
	// A key that comes back is a new one.
	e.statesAre("new jobs of the key", e.insert(copies(2, withMax("key", 1))...), enqueued, throttled)
}

func limitConcurrent(e *env) {
	const jobs, most, workers = 80, 3, 8
	started := time.Now()
	e.insert(copies(jobs, withMax("key", most))...)
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	var done atomic.Int64
	e.together(workers+1, func(i int) error {
		if i == workers {
			return e.watchMax(ctx, most)
		}
		for done.Load() < jobs && ctx.Err() == nil {
			claimed, err := e.s.Claim(e.ctx, driver.ClaimQuery{Queues: []string{queue1}, Limit: 2, Server: server1})
			if err != nil {
				return err
			}
			for _, j := range claimed {
				if _, err := e.s.Finish(e.ctx, server1, []driver.Outcome{{Ref: j.Ref, State: driver.Succeeded}}); err != nil {
					return err
				}
				if done.Add(1) == jobs {
					cancel()
				}
			}
		}
		return nil
	})
	e.budget(started, 5*time.Second)
	e.countsAre("afterwards", driver.Counts{Succeeded: jobs})
}

// watchMax reads Counts until the context ends and expects no more than most jobs to be enqueued and processing.
func (e *env) watchMax(ctx context.Context, most int64) error {
	for ctx.Err() == nil {
		c, err := e.s.Counts(e.ctx)
		if err != nil {
			return err
		}
		if n := c.Enqueued + c.Processing; n > most {
			return fmt.Errorf("%d jobs are enqueued and processing at once, want at most %d", n, most)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func limitReader(e *env) {
	eq(e, "limits of an empty store", len(e.limits("", 0)), 0)
	e.insert(append(copies(5, withMax("max", 2)), job(withRate("rate", 3, 2, time.Hour, 1), inQueue("rate")), job(withRate("rate", 3, 2, time.Hour, 1), inQueue("rate")))...)
	e.insertOne(withMax("later", 7), withDelay(time.Hour))
	e.claimExactly(1)
	next := e.now().Add(time.Hour)
	infos := e.limits("", 0)
	for i := range infos {
		if infos[i].Key == "rate" && (infos[i].NextStart.IsZero() || infos[i].NextStart.After(next)) {
			e.Errorf("NextStart is %s, want a time up to %s", clockText(infos[i].NextStart), clockText(next))
		}
		infos[i].NextStart = time.Time{}
	}
	eq(e, "limits", infos, []driver.LimitInfo{
		{Key: "later", Max: 7},
		{Key: "max", Max: 2, Active: 2, Throttled: 3},
		{Key: "rate", Max: 3, Rate: 2, Burst: 1, Per: time.Hour, Active: 1, Reserved: 1},
	})
	e.insertOne(withMax("later", 8), withDelay(time.Hour))
	eq(e, "rule of the latest insert", e.limits("", 1)[0].Max, 8)
	reserved := e.page(driver.JobQuery{State: scheduled, Queue: "rate"}).Records
	eq(e, "reserved jobs deleted", e.delete(driver.Filter{IDs: recordIDs(reserved)}), 1)
	eq(e, "reserved starts after the delete", e.limits("max", 1)[0].Reserved, 0)
}

func limitReaderPages(e *env) {
	var jobs []driver.InsertParams
	for i := range 120 {
		jobs = append(jobs, job(withMax(fmt.Sprintf("key %03d", i), 1)))
	}
	jobs = append(jobs, job(withMax("Key", 1)), job(withMax("é", 1)), job(withMax("z", 1)))
	e.insert(jobs...)
	first := e.limits("", 0)
	eq(e, "keys of a page without a limit", len(first), 100)
	eq(e, "the first key", first[0].Key, "Key")
	seen := 0
	for after := ""; ; {
		page := e.limits(after, 50)
		for _, info := range page {
			if info.Key <= after {
				e.Fatalf("key %q comes after %q", info.Key, after)
			}
			after = info.Key
			seen++
		}
		if len(page) < 50 {
			eq(e, "the last key", after, "é")
			break
		}
	}
	eq(e, "keys in all pages", seen, 123)
	eq(e, "keys after the last one", len(e.limits("é", 10)), 0)
}

func limitReaderNextStart(e *env) {
	rated := withRate("rate", 0, 1, time.Hour, 2)
	before := e.now()
	e.insert(job(rated))
	eq(e, "NextStart with a start left in the burst", e.limits("", 1)[0].NextStart, time.Time{})
	ids := e.insert(job(rated), job(rated))
	after := e.now()
	r := e.inState(ids[1], scheduled)
	e.between("the reserved start", r.RunAt, before.Add(time.Hour), after.Add(time.Hour))
	next := e.limits("", 1)[0].NextStart
	e.utc("NextStart", next)
	if d := next.Sub(r.RunAt); d < time.Hour-time.Millisecond || d > time.Hour+time.Millisecond {
		e.Errorf("NextStart is %s after the start that was given last, want an hour", d)
	}
	if e.jump(3 * time.Hour) {
		eq(e, "NextStart when the line is over", e.limits("", 1)[0].NextStart, time.Time{})
	}
}
