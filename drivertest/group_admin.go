package drivertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func adminCases() []testCase {
	return []testCase{
		{name: "Filter", pins: "A filter needs ids or a state; a state that is not one of the eight is ErrInvalid; unknown ids affect nothing and an id given twice counts once.", run: adminFilter},
		{name: "FilterFields/plain", pins: "Every field of a filter that is set must match: ids, state, queue, kind, tag and recurring id, byte for byte.", run: adminFilterFields},
		{name: "FilterFields/tag", pins: "A filter's Tag matches jobs that carry exactly this tag.", run: adminFilterTag},
		{name: "Delete/states", pins: "Delete ends live jobs, leaves archived ones untouched, and a second one affects nothing.", run: adminDelete},
		{name: "Delete/actor", pins: "A deletion adds an entry with the reason deleted and the name of who asked.", run: adminDeleteActor},
		{name: "DeleteProcessing", pins: "Delete of a processing job only sets its cancel flag, which counts once.", run: adminDeleteProcessing},
		{name: "DeleteByState", pins: "Delete by state takes all jobs of the state that also match queue, kind and ids.", run: adminDeleteByState},
		{name: "DeleteBulk", pins: "One Delete takes 2500 jobs, by state or by ids.", run: adminDeleteBulk},
		{name: "DeleteConcurrent", pins: "Of deletions of the same jobs at once each job counts in exactly one.", run: adminDeleteConcurrent},
		{name: "DeleteRace", pins: "Delete and Finish of the same jobs at once lose nothing: a job that was flagged or deleted ends deleted and counts once.", run: adminDeleteRace},
		{name: "Requeue/states", pins: "Requeue sends failed, succeeded and deleted jobs back with Attempt 0 and RunAt = now; the output goes, the claim counter stays, totals do not fall.", run: adminRequeue},
		{name: "Requeue/actor", pins: "A requeue adds an entry with the reason requeued and the name of who asked.", run: adminRequeueActor},
		{name: "RequeueSkips/plain", pins: "Requeue skips enqueued and processing jobs, without an entry.", run: adminRequeueSkips},
		{name: "RequeueAttempts", pins: "A scheduled job keeps its Attempt when it is requeued, with MaxAttempts raised to Attempt+1 if lower; the cancel flag goes.", run: adminRequeueAttempts},
		{name: "RequeueByState", pins: "Requeue by state takes all jobs of the state that also match the other fields.", run: adminRequeueByState},
		{name: "RequeueBulk", pins: "One Requeue takes 2500 jobs, by state or by ids.", run: adminRequeueBulk},
		{name: "RequeueConcurrent", pins: "Of requeues of the same jobs at once each job counts in exactly one.", run: adminRequeueConcurrent},
		{name: "Pause", pins: "PauseQueue stores or removes a pause, again and again without harm; an empty name is ErrInvalid.", run: adminPause},
	}
}

func adminFilter(e *env) {
	id := e.insertOne()
	failed := e.bring(driver.Failed, inQueue("failed"))
	counts := e.counts()
	for _, f := range []driver.Filter{
		{}, {Queue: queue1}, {Kind: "work"}, {Tag: "t"}, {RecurringID: "r"}, {BatchID: 1}, {IDs: []int64{}, Queue: queue1},
		{State: "bogus"}, {State: "Failed"}, {State: "failed "}, {State: "bogus", IDs: []int64{id, failed}},
	} {
		n, err := e.s.Delete(e.ctx, f)
		e.wantErr(err, driver.ErrInvalid, "Delete(%+v)", f)
		eq(e, "jobs deleted by a refused filter", n, 0)
		n, err = e.s.Requeue(e.ctx, f)
		e.wantErr(err, driver.ErrInvalid, "Requeue(%+v)", f)
		eq(e, "jobs requeued by a refused filter", n, 0)
	}
	unknown := driver.Filter{IDs: []int64{0, -1, failed + 1, 1 << 60}}
	eq(e, "unknown ids deleted", e.delete(unknown), 0)
	eq(e, "unknown ids requeued", e.requeue(unknown), 0)
	e.countsAre("after all that", counts)
	eq(e, "jobs requeued by an id given three times among unknown ones", e.requeue(driver.Filter{IDs: []int64{failed, 1 << 60, failed, failed}}), 1)
	eq(e, "history entries of one requeue", len(e.inState(failed, driver.Enqueued).History), 1)
	eq(e, "jobs deleted by an id given three times", e.delete(driver.Filter{IDs: []int64{id, id, id}}), 1)
	eq(e, "history entries of one deletion", len(e.inState(id, driver.Deleted).History), 1)
	eq(e, "jobs of a state that has none", e.delete(driver.Filter{State: driver.Awaiting}), 0)
}

// filterJobs are jobs that differ in one field each from the first.
func filterJobs() []driver.InsertParams {
	base := func(change func(p *driver.InsertParams)) driver.InsertParams {
		return job(inQueue("q"), ofKind("k"), withTags("t", "other"), withDelay(time.Hour), func(p *driver.InsertParams) { p.RecurringID = "r" }, change)
	}
	return []driver.InsertParams{
		base(func(*driver.InsertParams) {}),
		base(inQueue("Q")), base(inQueue("q ")),
		base(ofKind("K")), base(ofKind("k ")),
		base(withTags("T")), base(withTags("t ", "tt")), base(withTags()),
		base(func(p *driver.InsertParams) { p.RecurringID = "R" }), base(func(p *driver.InsertParams) { p.RecurringID = "" }),
		base(withDelay(0)),
	}
}

func adminFilterFields(e *env) {
	inserted := e.insert(filterJobs()...)
	full := driver.Filter{IDs: inserted, State: driver.Scheduled, Queue: "q", Kind: "k", Tag: "t", RecurringID: "r"}
	eq(e, "scheduled jobs requeued by the full filter with other ids", e.requeue(driver.Filter{
		IDs: inserted[1:], State: driver.Scheduled, Queue: "q", Kind: "k", Tag: "t", RecurringID: "r",
	}), 0)
	eq(e, "jobs requeued by the full filter", e.requeue(full), 1)
	e.inState(inserted[0], driver.Enqueued)
	eq(e, "jobs requeued by the full filter again", e.requeue(full), 0)

	// Each field alone, beside the state: what it does not match stays.
	for _, c := range []struct {
		what  string
		f     driver.Filter
		other []int // positions that do not match
	}{
		{"Queue", driver.Filter{Queue: "q"}, []int{1, 2}},
		{"Kind", driver.Filter{Kind: "k"}, []int{3, 4}},
		{"Tag", driver.Filter{Tag: "t"}, []int{5, 6, 7}},
		{"RecurringID", driver.Filter{RecurringID: "r"}, []int{8, 9}},
		{"State", driver.Filter{}, []int{10}},
	} {
		ids := e.insert(filterJobs()...)
		c.f.State = driver.Scheduled
		c.f.IDs = ids
		want := 0
		n := e.delete(c.f)
		for i, id := range ids {
			if slices.Contains(c.other, i) || i == 10 {
				if s := e.record(id).State; s == driver.Deleted {
					e.Errorf("Delete by %s deleted a job that differs in it: %+v", c.what, filterJobs()[i])
				}
				continue
			}
			e.inState(id, driver.Deleted)
			want++
		}
		eq(e, "jobs deleted by "+c.what, n, want)
	}
}

func adminFilterTag(e *env) {
	tags := []string{"tag", "Tag", "tag ", " tag", "tág", "ta", "tagg", "t%", "t_g", `"tag"`, "tag,other", `ta\g`, "日本", "tag\ttag"}
	byTag := map[string]int64{}
	for _, tag := range tags {
		byTag[tag] = e.insertOne(withTags("first", tag, "last"))
	}
	plain := e.insertOne()
	for _, tag := range tags {
		eq(e, fmt.Sprintf("jobs deleted with tag %q", tag), e.delete(driver.Filter{State: driver.Enqueued, Tag: tag}), 1)
		e.inState(byTag[tag], driver.Deleted)
	}
	e.inState(plain, driver.Enqueued)
	eq(e, "jobs requeued by a tag that all of them have", e.requeue(driver.Filter{State: driver.Deleted, Tag: "last"}), len(tags))
	eq(e, "jobs deleted by ids and a tag that one of them has", e.delete(driver.Filter{IDs: []int64{byTag["tag"], byTag["Tag"], plain}, Tag: "Tag"}), 1)
	e.inState(byTag["Tag"], driver.Deleted)
	twice := e.insertOne(withTags("twin", "twin"))
	eq(e, "jobs deleted with a tag that the job has twice", e.delete(driver.Filter{State: driver.Enqueued, Tag: "twin"}), 1)
	eq(e, "history entries of it", len(e.inState(twice, driver.Deleted).History), 1)
}

func adminDelete(e *env) {
	states := []driver.State{driver.Scheduled, driver.Enqueued, driver.Failed, driver.Succeeded, driver.Deleted}
	for _, state := range states {
		id := e.bring(state, inQueue(string(state)))
		was, counts := e.inState(id, state), e.counts()
		before := e.now()
		n := e.delete(driver.Filter{IDs: []int64{id}})
		after := e.now()
		if state.Archived() {
			eq(e, fmt.Sprintf("archived (%s) jobs deleted", state), n, 0)
			e.unchanged(fmt.Sprintf("the job that is %s", state), was)
			e.countsAre("afterwards", counts)
			continue
		}
		eq(e, fmt.Sprintf("%s jobs deleted", state), n, 1)
		r := e.inState(id, driver.Deleted)
		e.between("FinalizedAt", r.FinalizedAt, before, after)
		e.sameJob("the rest of the job", r.Job, was.Job)
		e.entryIs(fmt.Sprintf("entry of the deleted job that was %s", state), e.lastEntry(r, 1), driver.Entry{
			State: driver.Deleted, Attempt: was.Attempt, Reason: "deleted",
		}, before, after)
		eq(e, "a second Delete", e.delete(driver.Filter{IDs: []int64{id}}), 0)
		e.unchanged("the job after a second Delete", r)
		eq(e, "jobs claimed afterwards", len(e.claim(10, string(state))), 0)
	}
	e.countsAre("at the end", driver.Counts{Succeeded: 1, Deleted: 4})
	eq(e, "statistics: a failure that is deleted counts as both", e.totals(), driver.Point{Succeeded: 1, Failed: 1, Deleted: 4})
	// A job that waits for its retry.
	j := e.running()
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: 20 * time.Millisecond, Reason: "retry"})
	eq(e, "retries deleted", e.delete(driver.Filter{IDs: []int64{j.ID}}), 1)
	e.pass(40 * time.Millisecond)
	if p := e.promote(10); p.Count != 0 || p.Next != 0 {
		e.Errorf("Promote after the only scheduled job was deleted: %+v, want nothing", p)
	}
	e.inState(j.ID, driver.Deleted)
}

func adminDeleteActor(e *env) {
	for _, actor := range []string{"", "ann@example.com", "Zoë 'the \"boss\"' 日本"} {
		id := e.insertOne()
		n, err := e.s.Delete(driver.WithActor(e.ctx, actor), driver.Filter{IDs: []int64{id}})
		e.must(err, "Delete")
		eq(e, "jobs deleted", n, 1)
		entry := e.lastEntry(e.inState(id, driver.Deleted), 1)
		eq(e, "Actor of the entry", entry.Actor, actor)
		eq(e, "Reason of the entry", entry.Reason, "deleted")
		eq(e, "Server of the entry", entry.Server, "")
	}
	id := e.insertOne()
	_, err := e.s.Delete(driver.WithActor(e.ctx, "a\x00b\xff"), driver.Filter{IDs: []int64{id}})
	e.must(err, "Delete by an actor whose name no database can store")
	eq(e, "Actor of the entry, cleaned", e.lastEntry(e.inState(id, driver.Deleted), 1).Actor, "a\ufffdb\ufffd")
}

func adminDeleteProcessing(e *env) {
	j := e.running()
	was := e.record(j.ID)
	eq(e, "CancelRequested before", was.CancelRequested, false)
	eq(e, "processing jobs flagged", e.delete(driver.Filter{IDs: []int64{j.ID}}), 1)
	r := e.inState(j.ID, driver.Processing)
	eq(e, "CancelRequested", r.CancelRequested, true)
	e.sameJob("the rest of the job", r.Job, was.Job)
	eq(e, "Server", r.Server, was.Server)
	eq(e, "processing jobs flagged a second time", e.delete(driver.Filter{IDs: []int64{j.ID}}), 0)
	eq(e, "processing jobs flagged a second time, by state", e.delete(driver.Filter{State: driver.Processing}), 0)
	e.countsAre("while it runs", driver.Counts{Processing: 1})
	eq(e, "statistics while it runs", e.totals(), driver.Point{})
	leases := e.beat(driver.ServerInfo{ID: server1}).Leases
	if len(leases) != 1 || !leases[0].Cancel {
		e.Errorf("leases are %+v, want the job's with Cancel", leases)
	}
	list := e.page(driver.JobQuery{State: driver.Processing}).Records
	if len(list) != 1 || !list[0].CancelRequested {
		e.Errorf("the list of processing jobs is %+v, want the job with CancelRequested", list)
	}
	e.must(e.s.SetMeta(e.ctx, j.Ref, map[string]string{"a": "1"}), "SetMeta of a flagged job")
	other := e.running(inQueue("other"))
	eq(e, "flagged by state beside one that is flagged", e.delete(driver.Filter{State: driver.Processing}), 1)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Deleted, Reason: "canceled"}, driver.Outcome{Ref: other.Ref, State: driver.Succeeded})
	e.countsAre("at the end", driver.Counts{Deleted: 1, Succeeded: 1})
	eq(e, "statistics at the end: one deletion", e.totals(), driver.Point{Deleted: 1, Succeeded: 1})
}

func adminDeleteByState(e *env) {
	a := e.insert(copies(3, inQueue("a"), ofKind("x"))...)
	b := e.insert(copies(3, inQueue("b"), ofKind("x"))...)
	c := e.insert(copies(3, inQueue("b"), ofKind("y"))...)
	timed := e.insert(copies(2, inQueue("b"), ofKind("x"), withDelay(time.Hour))...)
	eq(e, "enqueued jobs of a queue and a kind", e.delete(driver.Filter{State: driver.Enqueued, Queue: "b", Kind: "x"}), 3)
	eq(e, "enqueued jobs of some ids", e.delete(driver.Filter{State: driver.Enqueued, IDs: []int64{a[0], b[0], c[0], timed[0]}}), 2)
	eq(e, "enqueued jobs of some ids and a queue", e.delete(driver.Filter{State: driver.Enqueued, Queue: "a", IDs: []int64{a[1], c[1]}}), 1)
	eq(e, "succeeded jobs", e.delete(driver.Filter{State: driver.Succeeded}), 0)
	eq(e, "deleted jobs", e.delete(driver.Filter{State: driver.Deleted}), 0)
	e.countsAre("afterwards", driver.Counts{Enqueued: 3, Scheduled: 2, Deleted: 6})
	eq(e, "all enqueued jobs", e.delete(driver.Filter{State: driver.Enqueued}), 3)
	eq(e, "all scheduled jobs", e.delete(driver.Filter{State: driver.Scheduled}), 2)
	failed := e.bring(driver.Failed)
	eq(e, "all failed jobs", e.delete(driver.Filter{State: driver.Failed}), 1)
	e.inState(failed, driver.Deleted)
	e.countsAre("at the end", driver.Counts{Deleted: 12})
}

func adminDeleteBulk(e *env) {
	const n = 2500
	e.insert(copies(n)...)
	keep := e.insertOne(inQueue("keep"))
	eq(e, "jobs deleted by state", e.delete(driver.Filter{State: driver.Enqueued, Queue: queue1}), n)
	inserted := e.insert(copies(n, withDelay(time.Hour))...)
	eq(e, "jobs deleted by ids", e.delete(driver.Filter{IDs: inserted}), n)
	jobs := e.claimAll(copies(n)...)
	eq(e, "processing jobs flagged by ids", e.delete(driver.Filter{IDs: jobIDs(jobs)}), n)
	eq(e, "jobs flagged a second time", e.delete(driver.Filter{State: driver.Processing}), 0)
	e.inState(keep, driver.Enqueued)
	e.countsAre("at the end", driver.Counts{Enqueued: 1, Processing: n, Deleted: 2 * n})
}

func adminDeleteConcurrent(e *env) {
	const n, callers = 60, 6
	inserted := e.insert(copies(n)...)
	got := make([]int, callers)
	e.together(callers, func(i int) error {
		for start := range 6 {
			part := slices.Clone(inserted[start*10 : start*10+10])
			if i%2 == 1 {
				slices.Reverse(part)
			}
			k, err := e.s.Delete(e.ctx, driver.Filter{IDs: part})
			if err != nil {
				return err
			}
			got[i] += k
		}
		return nil
	})
	sum := 0
	for _, k := range got {
		sum += k
	}
	eq(e, "sum of what all callers counted", sum, n)
	e.countsAre("at the end", driver.Counts{Deleted: n})
	for _, id := range inserted {
		eq(e, "history entries of a job", len(e.record(id).History), 1)
	}
}

func adminDeleteRace(e *env) {
	const rounds, n = 6, 20
	for round := range rounds {
		jobs := e.claimAll(copies(n)...)
		all := jobIDs(jobs)
		deleted := 0
		e.together(2, func(i int) error {
			if i == 0 {
				k, err := e.s.Delete(e.ctx, driver.Filter{IDs: all})
				deleted = k
				return err
			}
			outs := make([]driver.Outcome, n)
			for k, j := range jobs {
				outs[k] = driver.Outcome{Ref: j.Ref, State: []driver.State{driver.Failed, driver.Scheduled, driver.Enqueued}[k%3], Delay: time.Hour}
			}
			return e.finishUntilSettled(outs, func(driver.Outcome) {})
		})
		eq(e, "jobs that Delete counted", deleted, n)
		for _, id := range all {
			e.inState(id, driver.Deleted)
		}
		e.countsAre("after the race", driver.Counts{Deleted: int64(round+1) * n})
	}
	eq(e, "deletions in the statistics", e.totals().Deleted, rounds*n)
}
