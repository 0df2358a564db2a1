package drivertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func batchCases() []testCase {
	return []testCase{
		{name: "Open", pins: "OpenBatch returns an id above 0, each time another; the batch comes back as it was given, not sealed and not finished.", run: batchOpen},
		{name: "SealAfter", pins: "A batch whose members are all done finishes when it is sealed, not before, and then releases what waits for it.", run: batchSealAfter},
		{name: "SealBefore", pins: "A sealed batch finishes with its last member, succeeded or deleted, however that ends; sealing again keeps the finish time.", run: batchSealBefore},
		{name: "SealEmpty", pins: "Sealing an empty batch finishes it at once; a job that waits for a finished batch does not wait.", run: batchSealEmpty},
		{name: "FailedMember", pins: "A failed member keeps its batch open, through Sweep too, until it is requeued and succeeds, or is deleted.", run: batchFailedMember},
		{name: "Doomed", pins: "A member that a parent dooms, or that is born doomed, counts as deleted and keeps no batch open.", run: batchDoomed},
		{name: "Attach", pins: "Jobs may join until the batch has finished, also after it was sealed; then it is ErrClosed and nothing is stored.", run: batchAttach},
		{name: "Counts", pins: "Counts has the members by state, archived ones too, whatever they go through, and only states with members; Total counts all that ever joined.", run: batchCounts},
		{name: "CountsBulk", pins: "Counts stays right when many members of several batches move in one call.", run: batchCountsBulk},
		{name: "NotFound", pins: "An unknown batch is ErrNotFound, as a member's, as one waited for, for a job with parents and for one with a key alike, and the whole call is refused.", run: batchNotFound},
		{name: "List", pins: "Batches are listed newest first, in pages of 20 for a Limit of 0 or less and at most 500; a broken cursor is ErrInvalid.", run: batchList},
		{name: "Twice", pins: "A batch finishes once: a member that is requeued afterwards does not open it again, and nobody waits for it.", run: batchTwice},
		{name: "Last", pins: "Members that end at once, by many callers, finish their batch exactly once, without a sweep.", run: batchLast},
		{name: "Wide", pins: "Jobs that wait for one batch are all released, however many: what one call leaves, sweeps go on with.", run: batchWide},
		{name: "Nested", pins: "A batch finishes when its own jobs are done and every batch nested in it has finished; Total and Counts are of its own jobs.", run: batchNested},
		{name: "NestedChain", pins: "Three levels of batches finish together, bottom up, in the call that ends the last job.", run: batchNestedChain},
		{name: "NestedOpen", pins: "A parent that is missing is ErrNotFound and one that has finished ErrClosed; a sealed one that has not takes nested batches.", run: batchNestedOpen},
		{name: "NestedFailed", pins: "A failed member of a nested batch keeps it and the one around it open; deleting it finishes both.", run: batchNestedFailed},
		{name: "NestedEmpty", pins: "Empty nested batches finish when they are sealed, and the one around them with the last.", run: batchNestedEmpty},
		{name: "NestedList", pins: "A query with a Parent lists the batches nested directly in it; the counters tell how many there are and how many have finished.", run: batchNestedList},
		{name: "NestedConcurrent", pins: "16 nested batches finished at once by different servers finish the one around them, without a sweep.", run: batchNestedConcurrent},
		{name: "NestedPrune", pins: "A batch is never pruned before one that is nested in it.", run: batchNestedPrune},
	}
}

func batchOpen(e *env) {
	seen := map[int64]bool{}
	for i, given := range []driver.NewBatch{
		{}, {Description: "nightly import ✓ 'quoted' \"too\""}, {Description: "with meta", Meta: map[string]string{"a": "", "kiln.b": "{}", "日": "本"}}, {Meta: map[string]string{}},
	} {
		before := e.now()
		id := e.openBatch(given)
		if seen[id] {
			e.Errorf("batch %d got id %d, which is that of another", i, id)
		}
		seen[id] = true
		b := e.batch(id)
		e.between("CreatedAt", b.CreatedAt, before, e.now())
		eq(e, "Description", b.Description, given.Description)
		if !maps.Equal(b.Meta, given.Meta) {
			e.Errorf("Meta is %v, want %v", b.Meta, given.Meta)
		}
		if b.Total != 0 || b.Sealed || len(b.Counts) != 0 || !b.FinishedAt.IsZero() || b.Parent != 0 || b.Nested != 0 || b.NestedFinished != 0 {
			e.Errorf("a new batch is %+v", b)
		}
	}
	for what, b := range map[string]driver.NewBatch{
		"a description that is not UTF-8": {Description: "a\xff"}, "a NUL byte in the description": {Description: "a\x00"},
		"an empty meta key": {Meta: map[string]string{"": "v"}}, "a NUL byte in a meta value": {Meta: map[string]string{"k": "\x00"}},
		"a negative parent": {Parent: -1},
	} {
		_, err := e.s.OpenBatch(e.ctx, b)
		e.wantErr(err, driver.ErrInvalid, "OpenBatch with %s", what)
	}
	page, err := e.s.Batches(e.ctx, driver.BatchQuery{})
	e.must(err, "Batches")
	eq(e, "batches after all refused calls", len(page.Batches), 4)
	e.sound("with open batches")
}

func batchSealAfter(e *env) {
	b := e.openBatch(driver.NewBatch{})
	then := e.insertAll(job(inQueue("then"), afterBatch(b)))[0]
	eq(e, "state in the result of a job that waits for a batch", then.State, driver.Awaiting)
	e.awaits(then.ID, 1)
	eq(e, "AfterBatch", e.record(then.ID).AfterBatch, b)
	e.endAllAs(e.runningAll(3, "members", inBatch(b)), driver.Succeeded)
	e.unfinished("with all members done, not sealed", b)
	e.sound("with all members done, not sealed")
	e.unfinished("after the sweeps", b)
	e.awaits(then.ID, 1)
	before := e.now()
	e.seal(b)
	e.finished("after the seal", b)
	got := e.batch(b)
	e.between("FinishedAt", got.FinishedAt, before, e.now())
	eq(e, "Sealed", got.Sealed, true)
	e.released(then.ID, driver.Enqueued)
	e.order("jobs that can be claimed", jobIDs(e.claim(10, "then")), []int64{then.ID})
}

func batchSealBefore(e *env) {
	b := e.openBatch(driver.NewBatch{})
	j := e.runningAll(3, "members", inBatch(b))
	then := e.insertOne(afterBatch(b), withDelay(time.Hour))
	e.seal(b, b)
	e.end(j[1], driver.Succeeded)
	e.apply(driver.Outcome{Ref: j[2].Ref, State: driver.Scheduled, Delay: time.Hour})
	e.end(j[0], driver.Deleted)
	e.unfinished("with one member left", b)
	e.awaits(then, 1)
	before := e.now()
	eq(e, "members deleted", e.delete(driver.Filter{IDs: []int64{j[2].ID}}), 1)
	e.finished("after its last member was deleted", b)
	first := e.batch(b).FinishedAt
	e.between("FinishedAt", first, before, e.now())
	e.released(then, driver.Scheduled)
	e.pass(5 * time.Millisecond)
	e.seal(b)
	eq(e, "FinishedAt after another seal", e.batch(b).FinishedAt, first)
	e.sound("afterwards")
}

func batchSealEmpty(e *env) {
	b := e.openBatch(driver.NewBatch{})
	then := e.insertOne(afterBatch(b))
	both := e.insertOne(inQueue("both"), afterBatch(b), withPriority(1))
	e.sound("with an empty batch that is not sealed")
	e.unfinished("with an empty batch that is not sealed", b)
	e.seal(b)
	e.finished("an empty batch that was sealed", b)
	e.released(then, driver.Enqueued)
	e.released(both, driver.Enqueued)
	res := e.insertAll(job(afterBatch(b)), job(afterBatch(b), withDelay(time.Hour)))
	eq(e, "state in the result of a job that waits for a finished batch", res[0].State, driver.Enqueued)
	e.released(res[0].ID, driver.Enqueued)
	e.released(res[1].ID, driver.Scheduled)
}

func batchFailedMember(e *env) {
	b := e.openBatch(driver.NewBatch{})
	j := e.runningAll(2, "members", inBatch(b))
	then := e.insertOne(afterBatch(b))
	e.seal(b)
	e.endAllAs(j, driver.Failed)
	e.sound("with failed members")
	e.unfinished("with failed members", b)
	e.requeue(driver.Filter{IDs: []int64{j[0].ID}})
	e.runNext("members", j[0].ID, driver.Succeeded)
	e.unfinished("with a failed member", b)
	e.awaits(then, 1)
	e.delete(driver.Filter{IDs: []int64{j[1].ID}})
	e.finished("after the failed member was deleted", b)
	e.released(then, driver.Enqueued)
	eq(e, "Counts", e.batch(b).Counts, map[driver.State]int64{driver.Succeeded: 1, driver.Deleted: 1})
}

func batchDoomed(e *env) {
	b := e.openBatch(driver.NewBatch{})
	parent := e.running(inQueue("parents"))
	waits := e.insertOne(inBatch(b), after(driver.OnSucceeded, parent.ID))
	then := e.insertOne(afterBatch(b))
	e.seal(b)
	eq(e, "Counts", e.batch(b).Counts, map[driver.State]int64{driver.Awaiting: 1})
	e.end(parent, driver.Deleted)
	e.doomed(waits, parent.ID, "deleted")
	e.finished("after its only member was doomed", b)
	e.released(then, driver.Enqueued)
	other := e.openBatch(driver.NewBatch{})
	born := e.insertOne(inBatch(other), after(driver.OnSucceeded, parent.ID))
	e.doomed(born, parent.ID, "deleted")
	eq(e, "Counts with a member that was born doomed", e.batch(other).Counts, map[driver.State]int64{driver.Deleted: 1})
	eq(e, "Total with a member that was born doomed", e.batch(other).Total, 1)
	e.seal(other)
	e.finished("with a member that was born doomed", other)
}

func batchAttach(e *env) {
	b := e.openBatch(driver.NewBatch{})
	first := e.running(inQueue("members"), inBatch(b))
	eq(e, "BatchID of a claimed job", first.BatchID, b)
	e.seal(b)
	second := e.running(inQueue("members"), inBatch(b))
	eq(e, "Total after a member joined a sealed batch", e.batch(b).Total, 2)
	e.end(first, driver.Succeeded)
	e.unfinished("with a member that joined after the seal", b)
	e.end(second, driver.Succeeded)
	e.finished("after its last member", b)
	counts := e.counts()
	for _, jobs := range [][]driver.InsertParams{{job(inBatch(b))}, {job(), job(inBatch(b)), job()}} {
		_, err := e.s.Insert(e.ctx, jobs)
		e.wantErr(err, driver.ErrClosed, "Insert into a finished batch")
	}
	_, err := e.s.Insert(e.ctx, []driver.InsertParams{job(), job(inBatch(b + 1000))})
	e.wantErr(err, driver.ErrNotFound, "Insert into a batch that does not exist")
	e.countsAre("after all refused calls", counts)
	eq(e, "Total afterwards", e.batch(b).Total, 2)
}

func batchCounts(e *env) {
	b := e.openBatch(driver.NewBatch{})
	want := map[driver.State]int64{}
	check := func(what string, changes map[driver.State]int64) {
		e.Helper()
		for state, n := range changes {
			if want[state] += n; want[state] == 0 {
				delete(want, state)
			}
		}
		eq(e, "Counts "+what, e.batch(b).Counts, want)
	}
	parent := e.insertOne(inQueue("parents"))
	e.insert(append(copies(6, inQueue("members"), inBatch(b)), job(inBatch(b), withDelay(time.Hour)), job(inBatch(b), after(driver.OnSucceeded, parent)))...)
	check("at first", map[driver.State]int64{driver.Enqueued: 6, driver.Scheduled: 1, driver.Awaiting: 1})
	j := e.claimExactly(5, "members")
	check("after a claim", map[driver.State]int64{driver.Enqueued: -5, driver.Processing: 5})
	e.apply(
		driver.Outcome{Ref: j[0].Ref, State: driver.Succeeded}, driver.Outcome{Ref: j[1].Ref, State: driver.Deleted},
		driver.Outcome{Ref: j[2].Ref, State: driver.Failed, Reason: "permanent"},
		driver.Outcome{Ref: j[3].Ref, State: driver.Scheduled, Delay: 10 * time.Millisecond, Reason: "retry"},
		driver.Outcome{Ref: j[4].Ref, State: driver.Enqueued, Refund: true},
	)
	check("after a finish", map[driver.State]int64{
		driver.Processing: -5, driver.Succeeded: 1, driver.Deleted: 1, driver.Failed: 1, driver.Scheduled: 1, driver.Enqueued: 1,
	})
	e.pass(30 * time.Millisecond)
	e.promote(10)
	check("after a promote", map[driver.State]int64{driver.Scheduled: -1, driver.Enqueued: 1})
	e.runNext("parents", parent, driver.Succeeded)
	check("after a release", map[driver.State]int64{driver.Awaiting: -1, driver.Enqueued: 1})
	e.requeue(driver.Filter{IDs: []int64{j[0].ID, j[2].ID}})
	check("after a requeue", map[driver.State]int64{driver.Succeeded: -1, driver.Failed: -1, driver.Enqueued: 2})
	e.delete(driver.Filter{State: driver.Scheduled})
	check("after a deletion", map[driver.State]int64{driver.Scheduled: -1, driver.Deleted: 1})
	e.delete(driver.Filter{State: driver.Enqueued})
	n := want[driver.Enqueued]
	check("after the deletion of all enqueued", map[driver.State]int64{driver.Enqueued: -n, driver.Deleted: n})
	eq(e, "members pruned", e.prune(driver.PruneParams{Limit: 3, Retention: keepAllBut(driver.Deleted, 0)}), 3)
	check("after a prune", map[driver.State]int64{driver.Deleted: -3})
	eq(e, "Total", e.batch(b).Total, 8)
}

func batchCountsBulk(e *env) {
	const each = 300
	var all []driver.InsertParams
	var ids []int64
	for range 3 {
		b := e.openBatch(driver.NewBatch{})
		ids = append(ids, b)
		e.insert(job(inQueue("held"), inBatch(b))) // keeps it open
		e.seal(b)
	}
	for i := range 4 * each {
		p := job(inQueue("members"))
		if i%4 < 3 {
			p.BatchID = ids[i%4]
		}
		all = append(all, p)
	}
	e.insert(all...)
	jobs := e.claimExactly(len(all), "members")
	outs := make([]driver.Outcome, len(jobs))
	states := []driver.State{driver.Succeeded, driver.Deleted, driver.Failed, driver.Scheduled, driver.Enqueued}
	want := map[int64]map[driver.State]int64{0: {}}
	for _, id := range ids {
		want[id] = map[driver.State]int64{driver.Enqueued: 1}
	}
	for i, j := range jobs {
		outs[i] = driver.Outcome{Ref: j.Ref, State: states[i%len(states)], Delay: time.Hour}
		want[j.BatchID][outs[i].State]++
	}
	e.apply(outs...)
	for _, id := range ids {
		eq(e, "Counts after one call ended many members", e.batch(id).Counts, want[id])
		eq(e, "Total", e.batch(id).Total, each+1)
	}
	e.endAllAs(e.claim(len(all), "members"), driver.Succeeded)
	e.delete(driver.Filter{State: driver.Scheduled})
	e.delete(driver.Filter{State: driver.Failed})
	for _, id := range ids {
		w := want[id]
		eq(e, "Counts at the end", e.batch(id).Counts, map[driver.State]int64{
			driver.Enqueued: 1, driver.Succeeded: w[driver.Succeeded] + w[driver.Enqueued] - 1,
			driver.Deleted: w[driver.Deleted] + w[driver.Scheduled] + w[driver.Failed],
		})
	}
	e.endAllAs(e.claimExactly(3, "held"), driver.Succeeded)
	e.finished("after the last members", ids...)
}

func batchNotFound(e *env) {
	_, err := e.s.Batch(e.ctx, 999)
	e.wantErr(err, driver.ErrNotFound, "Batch of an unknown id")
	e.wantErr(e.s.SealBatch(e.ctx, 999), driver.ErrNotFound, "SealBatch of an unknown id")
	_, err = e.s.OpenBatch(e.ctx, driver.NewBatch{Parent: 999})
	e.wantErr(err, driver.ErrNotFound, "OpenBatch in an unknown parent")
	known := e.openBatch(driver.NewBatch{})
	parent := e.running(inQueue("parents"))
	counts := e.counts()
	for _, mods := range [][]func(*driver.InsertParams){
		{inBatch(999)}, {afterBatch(999)}, {inBatch(known), afterBatch(999)}, {inBatch(999), afterBatch(known)},
		{inBatch(999), after(driver.OnSucceeded, parent.ID)}, {afterBatch(999), after(driver.OnSucceeded, parent.ID)},
		{inBatch(999), needs(driver.OnSucceeded, 0)}, {afterBatch(999), withDelay(time.Hour)}, {inBatch(999), withDeadline(e.now().Add(time.Hour))},
	} {
		_, err := e.s.Insert(e.ctx, []driver.InsertParams{job(inBatch(known)), job(mods...), job()})
		e.wantErr(err, driver.ErrNotFound, "Insert of %+v", job(mods...))
	}
	e.countsAre("after all refused calls", counts)
	eq(e, "Total of the batch that exists", e.batch(known).Total, 0)
	eq(e, "Children of the parent that exists", len(e.record(parent.ID).Children), 0)
}

// listBatches reads all pages.
func (e *env) listBatches(q driver.BatchQuery) []int64 {
	e.Helper()
	var ids []int64
	for range 100 {
		page, err := e.s.Batches(e.ctx, q)
		e.must(err, "Batches(%+v)", q)
		for _, b := range page.Batches {
			ids = append(ids, b.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids
		}
		if len(page.Batches) == 0 {
			e.Fatalf("Batches(%+v) returned an empty page with a Next", q)
		}
	}
	e.Fatalf("Batches(%+v) comes to no end", q)
	return nil
}

func batchList(e *env) {
	var want []int64
	for range 45 {
		want = append(want, e.openBatch(driver.NewBatch{Description: fmt.Sprint(len(want))}))
	}
	slices.Reverse(want)
	for _, limit := range []int{0, -3, 1, 20, 44, 45, 500, 10_000} {
		e.order(fmt.Sprintf("batches in pages of %d", limit), e.listBatches(driver.BatchQuery{Limit: limit}), want)
	}
	for limit, most := range map[int]int{0: 20, -1: 20, 7: 7, 44: 44} {
		page, err := e.s.Batches(e.ctx, driver.BatchQuery{Limit: limit})
		e.must(err, "Batches")
		eq(e, fmt.Sprintf("batches of a page with Limit %d", limit), len(page.Batches), most)
		eq(e, "Description of the newest", page.Batches[0].Description, "44")
	}
	for range 500 {
		want = slices.Insert(want, 0, e.openBatch(driver.NewBatch{}))
	}
	page, err := e.s.Batches(e.ctx, driver.BatchQuery{Limit: 1000})
	e.must(err, "Batches")
	eq(e, "batches of a page with Limit 1000", len(page.Batches), 500)
	_, err = e.s.Batches(e.ctx, driver.BatchQuery{Cursor: "?"})
	e.wantErr(err, driver.ErrInvalid, "Batches with a broken cursor")
	// The page has what the batch has.
	id := want[0]
	e.insert(job(inBatch(id)), job(inBatch(id)), job(inBatch(id), withDelay(time.Hour)))
	e.claimExactly(1)
	page, err = e.s.Batches(e.ctx, driver.BatchQuery{Limit: 1})
	e.must(err, "Batches")
	eq(e, "the newest batch in the list", page.Batches[0], e.batch(id))
	eq(e, "its Counts", page.Batches[0].Counts, map[driver.State]int64{driver.Enqueued: 1, driver.Processing: 1, driver.Scheduled: 1})
}

func batchTwice(e *env) {
	b := e.openBatch(driver.NewBatch{})
	j := e.running(inQueue("members"), inBatch(b))
	e.seal(b)
	e.end(j, driver.Succeeded)
	first := e.batch(b).FinishedAt
	e.requeue(driver.Filter{IDs: []int64{j.ID}})
	eq(e, "FinishedAt after a member was requeued", e.batch(b).FinishedAt, first)
	res := e.insertAll(job(inQueue("then"), afterBatch(b)))[0]
	eq(e, "state of a job that waits for a batch that has finished", res.State, driver.Enqueued)
	e.pass(5 * time.Millisecond)
	e.runNext("members", j.ID, driver.Succeeded)
	eq(e, "FinishedAt after it ended again", e.batch(b).FinishedAt, first)
	eq(e, "Counts", e.batch(b).Counts, map[driver.State]int64{driver.Succeeded: 1})
	e.sound("afterwards")
}

func batchLast(e *env) {
	for round := range 30 {
		b := e.openBatch(driver.NewBatch{})
		j := e.runningAll(2, "members", inBatch(b))
		then := e.insertOne(inQueue("then"), afterBatch(b))
		e.seal(b)
		e.together(2, func(i int) error {
			return e.finishUntilSettled([]driver.Outcome{{Ref: j[i].Ref, State: driver.Succeeded}}, func(driver.Outcome) {})
		})
		e.finished(fmt.Sprintf("round %d", round), b)
		e.order("jobs that waited for it", jobIDs(e.claim(2, "then")), []int64{then})
	}
}

func batchWide(e *env) {
	b := e.openBatch(driver.NewBatch{})
	e.insert(copies(wide, inQueue("then"), afterBatch(b))...)
	e.seal(b)
	late := e.insertAll(job(inQueue("late"), afterBatch(b)))[0]
	eq(e, "state of a job that comes after the end", late.State, driver.Enqueued)
	e.sweepUp(wide / 500)
	eq(e, "jobs released", len(e.claim(wide+1, "then")), wide)
	e.sound("afterwards")
}

func batchNested(e *env) {
	outer := e.openBatch(driver.NewBatch{Description: "outer"})
	inner := e.openBatch(driver.NewBatch{Description: "inner", Parent: outer})
	eq(e, "Parent", e.batch(inner).Parent, outer)
	own := e.running(inQueue("outer"), inBatch(outer))
	members := e.runningAll(2, "inner", inBatch(inner))
	then := e.insertOne(afterBatch(outer))
	if b := e.batch(outer); b.Total != 1 || b.Nested != 1 || b.NestedFinished != 0 {
		e.Errorf("the outer batch is %+v, want a Total of 1 and one nested batch", b)
	}
	eq(e, "Counts of the outer batch", e.batch(outer).Counts, map[driver.State]int64{driver.Processing: 1})
	e.seal(outer)
	e.end(own, driver.Succeeded)
	e.unfinished("with a nested batch that is open", outer)
	e.endAllAs(members, driver.Succeeded)
	e.unfinished("with a nested batch that is not sealed", outer, inner)
	e.sound("with a nested batch that is not sealed")
	e.awaits(then, 1)
	e.seal(inner)
	e.finished("after the nested batch was sealed", inner, outer)
	e.released(then, driver.Enqueued)
	if b := e.batch(outer); b.Total != 1 || b.Nested != 1 || b.NestedFinished != 1 {
		e.Errorf("the outer batch is %+v at the end, want one nested batch, finished", b)
	}
}

func batchNestedChain(e *env) {
	top := e.openBatch(driver.NewBatch{})
	middle := e.openBatch(driver.NewBatch{Parent: top})
	bottom := e.openBatch(driver.NewBatch{Parent: middle})
	j := e.running(inQueue("members"), inBatch(bottom))
	then := e.insert(job(inQueue("then"), afterBatch(top)), job(inQueue("then"), afterBatch(middle)), job(inQueue("then"), afterBatch(bottom), inBatch(middle)))
	e.seal(top, middle, bottom)
	e.end(j, driver.Succeeded)
	e.finished("after its only job", bottom)
	e.unfinished("with a continuation that is a member", middle, top)
	e.runNext("then", then[2], driver.Succeeded)
	e.finished("after the last job", middle, top)
	eq(e, "FinishedAt of two levels", e.batch(top).FinishedAt, e.batch(middle).FinishedAt)
	e.order("jobs that waited", jobIDs(e.claim(3, "then")), then[:2])
	e.sound("afterwards")
}

func batchNestedOpen(e *env) {
	_, err := e.s.OpenBatch(e.ctx, driver.NewBatch{Parent: 999})
	e.wantErr(err, driver.ErrNotFound, "OpenBatch in a parent that does not exist")
	outer := e.openBatch(driver.NewBatch{})
	j := e.running(inQueue("members"), inBatch(outer))
	e.seal(outer)
	inner := e.openBatch(driver.NewBatch{Parent: outer})
	e.end(j, driver.Succeeded)
	e.unfinished("with a batch that was nested in it after its seal", outer)
	e.seal(inner)
	e.finished("after the nested one", outer, inner)
	_, err = e.s.OpenBatch(e.ctx, driver.NewBatch{Parent: outer})
	e.wantErr(err, driver.ErrClosed, "OpenBatch in a finished parent")
	e.order("batches afterwards", e.listBatches(driver.BatchQuery{}), []int64{inner, outer})
	eq(e, "Nested", e.batch(outer).Nested, 1)
}

func batchNestedFailed(e *env) {
	outer := e.openBatch(driver.NewBatch{})
	inner := e.openBatch(driver.NewBatch{Parent: outer})
	j := e.running(inQueue("members"), inBatch(inner))
	e.seal(inner, outer)
	e.end(j, driver.Failed)
	e.sound("with a failed member")
	e.unfinished("with a failed member", inner, outer)
	e.delete(driver.Filter{IDs: []int64{j.ID}})
	e.finished("after it was deleted", inner, outer)
}

func batchNestedEmpty(e *env) {
	outer := e.openBatch(driver.NewBatch{})
	first, second := e.openBatch(driver.NewBatch{Parent: outer}), e.openBatch(driver.NewBatch{Parent: outer})
	then := e.insertOne(afterBatch(outer))
	e.seal(outer, first)
	e.finished("an empty batch that was sealed", first)
	e.unfinished("with one that is not", outer, second)
	e.seal(second)
	e.finished("after the last", outer, second)
	e.released(then, driver.Enqueued)
}

func batchNestedList(e *env) {
	outer, other := e.openBatch(driver.NewBatch{}), e.openBatch(driver.NewBatch{})
	var want []int64
	for i := range 25 {
		id := e.openBatch(driver.NewBatch{Parent: outer})
		e.openBatch(driver.NewBatch{Parent: id})
		e.openBatch(driver.NewBatch{Parent: other})
		want = append(want, id)
		if i < 4 {
			b := e.openBatch(driver.NewBatch{Parent: other})
			e.seal(b)
		}
	}
	slices.Reverse(want)
	for _, limit := range []int{0, 3, 25, 100} {
		e.order("batches nested in one", e.listBatches(driver.BatchQuery{Parent: outer, Limit: limit}), want)
	}
	eq(e, "batches nested in none", len(e.listBatches(driver.BatchQuery{Parent: want[0] + 1000})), 0)
	eq(e, "all batches", len(e.listBatches(driver.BatchQuery{})), 2+3*25+4)
	for id, counts := range map[int64][2]int64{outer: {25, 0}, other: {29, 4}, want[0]: {1, 0}} {
		b := e.batch(id)
		eq(e, fmt.Sprintf("Nested and NestedFinished of batch %d", id), [2]int64{b.Nested, b.NestedFinished}, counts)
	}
}

func batchNestedConcurrent(e *env) {
	const inner = 16
	outer := e.openBatch(driver.NewBatch{})
	then := e.insertOne(inQueue("then"), afterBatch(outer))
	ids := make([]int64, inner)
	refs := make([]driver.Ref, inner)
	for i := range ids {
		ids[i] = e.openBatch(driver.NewBatch{Parent: outer})
		refs[i] = e.running(inQueue("members"), inBatch(ids[i])).Ref
	}
	e.seal(append(ids, outer)...)
	e.together(inner, func(i int) error {
		for {
			res, err := e.s.Finish(e.ctx, fmt.Sprintf("server %d", i), []driver.Outcome{{Ref: refs[i], State: driver.Succeeded}})
			if err != nil || res[0] != driver.Busy {
				return err
			}
		}
	})
	e.finished("after all of them", append(ids, outer)...)
	eq(e, "NestedFinished", e.batch(outer).NestedFinished, inner)
	e.order("jobs that waited", jobIDs(e.claim(2, "then")), []int64{then})
	e.sound("afterwards")
}

func batchNestedPrune(e *env) {
	outer := e.openBatch(driver.NewBatch{})
	inner := e.openBatch(driver.NewBatch{Parent: outer})
	j := e.running(inQueue("members"), inBatch(inner))
	e.seal(inner, outer)
	e.end(j, driver.Succeeded)
	e.finished("after the only job", inner, outer)
	e.pass(10 * time.Millisecond)
	eq(e, "rows pruned while a member is kept", e.prune(driver.PruneParams{Retention: keepAll}), 0)
	e.batch(outer)
	total := 0
	for range 3 {
		total += e.prune(driver.PruneParams{})
		_, innerErr := e.s.Batch(e.ctx, inner)
		_, outerErr := e.s.Batch(e.ctx, outer)
		if innerErr == nil && outerErr != nil {
			e.Errorf("the outer batch is gone before the inner one: %v", outerErr)
		}
	}
	eq(e, "rows pruned: a job and two batches", total, 3)
	eq(e, "batches afterwards", len(e.listBatches(driver.BatchQuery{})), 0)
	if id := e.openBatch(driver.NewBatch{}); id == inner || id == outer {
		e.Errorf("a new batch got id %d, which was that of one that is gone", id)
	}
}
