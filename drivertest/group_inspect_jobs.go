package drivertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func listCases() []testCase {
	return []testCase{
		{name: "JobsOrder/scheduled", pins: "Scheduled jobs are listed by run time and id.", run: listScheduled},
		{name: "JobsOrder/enqueued", pins: "Enqueued jobs are listed by priority, highest first, and id.", run: listEnqueued},
		{name: "JobsOrder/processing", pins: "Processing jobs are listed by id, latest first.", run: listProcessing},
		{name: "JobsFinalOrder", pins: "Succeeded, failed and deleted jobs are listed by FinalizedAt and id, latest first.", run: listFinal},
		{name: "JobsRecords", pins: "A list shows jobs with the fields of their record; it may leave out only history, output and children.", run: listRecords},
		{name: "JobsFilter/plain", pins: "Every field of a query that is set must match: queue, kind, tag and Retries.", run: listFilter},
		{name: "JobsTag", pins: "A query's Tag finds jobs that carry exactly this tag, also behind 1100 jobs without it.", run: listTag},
		{name: "JobsFar", pins: "A page finds jobs behind 12,000 that do not match: it is not empty while it says that there is more.", run: listFar},
		{name: "JobsBatch", pins: "A query's BatchID finds the members of a batch in a state, in the state's order, page by page and together with other filters.", run: listBatchPages},
		{name: "JobsPages", pins: "Pages followed by their cursor show each job once, in order; Next is empty on the last page, also when that is full.", run: listPages},
		{name: "JobsPagesFiltered", pins: "Pages of a filtered list show each matching job once.", run: listPagesFiltered},
		{name: "JobsPagesMoving", pins: "A cursor names the place after the last job of its page: jobs that leave meanwhile hide no others.", run: listPagesMoving},
		{name: "JobsLimit", pins: "A page has 20 jobs for a Limit of 0 or less and at most 500.", run: listLimit},
		{name: "JobsInvalid", pins: "A state that is not one of the eight, none included, and a broken cursor are ErrInvalid.", run: listInvalid},
	}
}

// listed reads a whole list in one page.
func (e *env) listed(q driver.JobQuery) []int64 {
	e.Helper()
	q.Limit = 500
	p := e.page(q)
	if p.Next != "" {
		e.Errorf("Jobs(%+v): Next is %q after %d jobs, want none", q, p.Next, len(p.Records))
	}
	for _, r := range p.Records {
		if r.State != q.State {
			e.Errorf("Jobs(%+v) lists job %d, which is %s", q, r.ID, r.State)
		}
	}
	return recordIDs(p.Records)
}

// scheduledMix inserts scheduled jobs, some at the same instant, and returns them in the order of their list.
func (e *env) scheduledMix() []int64 {
	e.Helper()
	base := e.now().Add(time.Hour).Truncate(time.Second)
	offsets := []int{5, 1, 3, 1, 0, 5, 2, 1, 4}
	type at struct {
		id     int64
		offset int
	}
	var all []at
	for i, o := range offsets {
		all = append(all, at{e.insertOne(withRunAt(base.Add(time.Duration(o)*time.Microsecond)), withPriority(int16(i))), o})
	}
	slices.SortStableFunc(all, func(a, b at) int { return a.offset - b.offset })
	out := make([]int64, len(all))
	for i, a := range all {
		out[i] = a.id
	}
	return out
}

func listScheduled(e *env) {
	want := e.scheduledMix()
	e.order("scheduled jobs", e.listed(driver.JobQuery{State: driver.Scheduled}), want)
}

func listEnqueued(e *env) {
	want := e.mixed()
	e.order("enqueued jobs", e.listed(driver.JobQuery{State: driver.Enqueued}), want)
	// Over several queues too.
	other := e.insertOne(inQueue("another"), withPriority(32767))
	e.order("enqueued jobs of two queues", e.listed(driver.JobQuery{State: driver.Enqueued}), slices.Insert(slices.Clone(want), 1, other))
}

func listProcessing(e *env) {
	for i := range 9 {
		e.insertOne(withPriority(int16((i * 7) % 5)))
	}
	want := jobIDs(append(e.claim(4), e.claim(5)...))
	slices.Sort(want)
	slices.Reverse(want)
	e.order("processing jobs", e.listed(driver.JobQuery{State: driver.Processing}), want)
}

// finalMix ends jobs in a state, some in one call, and returns them in the order of their list.
func (e *env) finalMix(state driver.State) []int64 {
	e.Helper()
	jobs := e.claimAll(copies(9)...)
	end := func(positions ...int) {
		e.Helper()
		var outs []driver.Outcome
		for _, i := range positions {
			outs = append(outs, driver.Outcome{Ref: jobs[i].Ref, State: state})
		}
		e.apply(outs...)
		e.pass(2 * time.Millisecond)
	}
	end(4)
	end(8, 0, 2)
	end(1, 7)
	end(3)
	end(6, 5)
	var out []int64
	for _, i := range []int{6, 5, 3, 7, 1, 8, 2, 0, 4} {
		out = append(out, jobs[i].ID)
	}
	return out
}

func listFinal(e *env) {
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
		want := e.finalMix(state)
		e.order(fmt.Sprintf("%s jobs", state), e.listed(driver.JobQuery{State: state}), want)
	}
	// A job that ended again moves to the front.
	failed := e.listed(driver.JobQuery{State: driver.Failed})
	last := failed[len(failed)-1]
	e.requeue(driver.Filter{IDs: []int64{last}})
	e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Failed})
	e.order("failed jobs after the oldest failed again", e.listed(driver.JobQuery{State: driver.Failed}), append([]int64{last}, failed[:len(failed)-1]...))
	deleted := e.listed(driver.JobQuery{State: driver.Deleted})
	e.delete(driver.Filter{IDs: []int64{last}})
	e.order("deleted jobs after a failed one was deleted", e.listed(driver.JobQuery{State: driver.Deleted}), append([]int64{last}, deleted...))
}

func listRecords(e *env) {
	states := []driver.State{driver.Scheduled, driver.Enqueued, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted}
	for _, state := range states {
		p := everything()
		p.Queue = string(state)
		id := e.insert(p)[0]
		if state != driver.Enqueued {
			j := e.claimOne(p.Queue)
			if state != driver.Processing {
				e.apply(driver.Outcome{Ref: j.Ref, State: state, Delay: time.Hour, Reason: "r"})
			} else {
				e.delete(driver.Filter{IDs: []int64{id}})
			}
		}
		what := fmt.Sprintf("list of %s jobs against the record", state)
		r := e.record(id)
		list := e.page(driver.JobQuery{State: state}).Records
		if len(list) != 1 {
			e.Fatalf("%s: %d jobs are listed, want 1", what, len(list))
		}
		got := list[0]
		e.sameJob(what, got.Job, r.Job)
		eq(e, what+": State", got.State, r.State)
		eq(e, what+": FinalizedAt", got.FinalizedAt, r.FinalizedAt)
		eq(e, what+": Server", got.Server, r.Server)
		eq(e, what+": CancelRequested", got.CancelRequested, r.CancelRequested)
		eq(e, what+": Progress", got.Progress, r.Progress)
		eq(e, what+": PendingDeps", got.PendingDeps, r.PendingDeps)
	}
}

func listFilter(e *env) {
	for _, state := range []driver.State{driver.Scheduled, driver.Enqueued, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted} {
		byID := map[int64]driver.InsertParams{}
		for _, queue := range []string{"a", "A", "a "} {
			for _, kind := range []string{"k", "K"} {
				for _, tag := range []string{"t", "T"} {
					p := job(inQueue(queue), ofKind(kind), withTags("first", tag))
					if state == driver.Scheduled {
						p.Delay = time.Hour
					}
					byID[e.insert(p)[0]] = p
				}
			}
		}
		if state != driver.Scheduled && state != driver.Enqueued {
			jobs := e.claimExactly(len(byID), "a", "A", "a ")
			if state != driver.Processing {
				for _, j := range jobs {
					e.apply(driver.Outcome{Ref: j.Ref, State: state})
				}
			}
		}
		for _, q := range []driver.JobQuery{
			{Queue: "a"}, {Queue: "A"}, {Queue: "a "}, {Queue: "missing"}, {Kind: "k"}, {Kind: "K"}, {Kind: "k "}, {Tag: "t"}, {Tag: "T"}, {Tag: "first"},
			{Tag: "t "}, {Queue: "a", Kind: "k"}, {Queue: "a", Tag: "t"}, {Kind: "K", Tag: "T"}, {Queue: "a ", Kind: "K", Tag: "t"},
		} {
			q.State = state
			var want []int64
			for _, id := range e.listed(driver.JobQuery{State: state}) {
				p := byID[id]
				if (q.Queue == "" || p.Queue == q.Queue) && (q.Kind == "" || p.Kind == q.Kind) && (q.Tag == "" || slices.Contains(p.Tags, q.Tag)) {
					want = append(want, id)
				}
			}
			e.order(fmt.Sprintf("Jobs(%+v)", q), e.listed(q), want)
		}
		// The next state starts without the jobs that could be claimed.
		e.delete(driver.Filter{State: driver.Enqueued})
		e.delete(driver.Filter{State: driver.Scheduled})
		e.endProcessing()
		e.prune(driver.PruneParams{})
	}
	// Retries.
	e.insertOne(withDelay(time.Hour))
	j, snoozed, twice := e.running(), e.running(), e.running(inQueue("q"))
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: time.Hour},
		driver.Outcome{Ref: snoozed.Ref, State: driver.Scheduled, Delay: time.Hour, Refund: true},
		driver.Outcome{Ref: twice.Ref, State: driver.Enqueued})
	e.apply(driver.Outcome{Ref: e.claimOne("q").Ref, State: driver.Scheduled, Delay: 2 * time.Hour, Refund: true})
	e.order("jobs that wait for a retry", e.listed(driver.JobQuery{State: driver.Scheduled, Retries: true}), []int64{j.ID, twice.ID})
	e.order("jobs of a queue that wait for a retry", e.listed(driver.JobQuery{State: driver.Scheduled, Retries: true, Queue: "q"}), []int64{twice.ID})
	eq(e, "all scheduled jobs", len(e.listed(driver.JobQuery{State: driver.Scheduled})), 4)
	eq(e, "Retries of Counts", e.counts().Retries, 2)
}

// endProcessing deletes every processing job.
func (e *env) endProcessing() {
	e.Helper()
	for _, r := range e.page(driver.JobQuery{State: driver.Processing, Limit: 500}).Records {
		e.apply(driver.Outcome{Ref: r.Ref, State: driver.Deleted})
	}
}

func listTag(e *env) {
	first := e.insertOne(withTags("rare"), withPriority(1))
	e.insert(copies(1100)...)
	want := []int64{first, e.insertOne(withTags("a", "rare", "b")), e.insertOne(withTags("rare", "rare"))}
	e.insert(copies(20, withTags("Rare", "rare ", " rare", "ráre", "rar", "rarer", "r%", "_are", `"rare"`, "a,rare"))...)
	e.order("enqueued jobs with the tag", e.listed(driver.JobQuery{State: driver.Enqueued, Tag: "rare"}), want)
	for _, tag := range []string{"r%", "_are", `"rare"`, "a,rare", "rare ", "ráre"} {
		eq(e, fmt.Sprintf("enqueued jobs with the tag %q", tag), len(e.listed(driver.JobQuery{State: driver.Enqueued, Tag: tag})), 20)
	}
	for _, tag := range []string{"ra", "%", "_", "RARE", "rare  ", "a", "a,b"} {
		n := 0
		if tag == "a" {
			n = 1
		}
		eq(e, fmt.Sprintf("enqueued jobs with the tag %q", tag), len(e.listed(driver.JobQuery{State: driver.Enqueued, Tag: tag})), n)
	}
	p := e.page(driver.JobQuery{State: driver.Enqueued, Tag: "rare", Limit: 1})
	e.order("first page of one", recordIDs(p.Records), want[:1])
	e.order("what follows it", recordIDs(e.page(driver.JobQuery{State: driver.Enqueued, Tag: "rare", Limit: 5, Cursor: p.Next}).Records), want[1:])
	// Behind as many in other states too.
	e.claimExactly(1123)
	slices.Reverse(want)
	slices.Sort(want)
	slices.Reverse(want)
	e.order("processing jobs with the tag", e.listed(driver.JobQuery{State: driver.Processing, Tag: "rare"}), want)
	var outs []driver.Outcome
	cursor := ""
	for {
		page := e.page(driver.JobQuery{State: driver.Processing, Limit: 500, Cursor: cursor})
		for _, r := range page.Records {
			outs = append(outs, driver.Outcome{Ref: r.Ref, State: driver.Succeeded})
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	e.apply(outs...)
	e.order("succeeded jobs with the tag", e.listed(driver.JobQuery{State: driver.Succeeded, Tag: "rare"}), want)
}

// walk follows a list page by page and expects its jobs in order.
func (e *env) walk(q driver.JobQuery, want []int64) {
	e.Helper()
	var got []int64
	for page := 0; ; page++ {
		p := e.page(q)
		got = append(got, recordIDs(p.Records)...)
		if p.Next != "" && len(p.Records) != q.Limit {
			e.Errorf("Jobs(%+v): page %d has %d jobs and a Next, want full pages before the last", q, page, len(p.Records))
		}
		if p.Next == "" {
			if wantPages := max((len(want)+q.Limit-1)/q.Limit, 1); page+1 != wantPages {
				e.Errorf("Jobs(%+v): %d jobs came in %d pages, want %d: Next is empty on the last page", q, len(want), page+1, wantPages)
			}
			break
		}
		if page > len(want) {
			e.Fatalf("Jobs(%+v): no end after %d pages", q, page)
		}
		q.Cursor = p.Next
	}
	e.order(fmt.Sprintf("all pages of %s jobs with Limit %d", q.State, q.Limit), got, want)
}

func listPages(e *env) {
	lists := map[driver.State][]int64{
		driver.Scheduled: e.scheduledMix(),
		driver.Succeeded: e.finalMix(driver.Succeeded),
		driver.Failed:    e.finalMix(driver.Failed),
		driver.Deleted:   e.finalMix(driver.Deleted),
	}
	processing := jobIDs(e.claimAll(copies(9)...))
	slices.Sort(processing)
	slices.Reverse(processing)
	lists[driver.Processing] = processing
	lists[driver.Enqueued] = e.mixed()
	for state, want := range lists {
		for _, limit := range []int{1, 2, 3, 4, len(want) - 1, len(want), len(want) + 1} {
			e.walk(driver.JobQuery{State: state, Limit: limit}, want)
		}
	}
	e.walk(driver.JobQuery{State: driver.Awaiting, Limit: 3}, []int64{})
}

func listPagesFiltered(e *env) {
	var want []int64
	for i := range 40 {
		p := job(withPriority(int16(i % 3)))
		if i%4 == 0 {
			p.Queue, p.Kind, p.Tags = "rare", "odd", []string{"t"}
		}
		id := e.insert(p)[0]
		if i%4 == 0 {
			want = append(want, id)
		}
	}
	// By priority, then id: position i has priority i%3.
	slices.SortStableFunc(want, func(a, b int64) int { return int(e.record(b).Priority - e.record(a).Priority) })
	for _, limit := range []int{1, 3, 5, 10} {
		e.walk(driver.JobQuery{State: driver.Enqueued, Queue: "rare", Limit: limit}, want)
		e.walk(driver.JobQuery{State: driver.Enqueued, Kind: "odd", Limit: limit}, want)
		e.walk(driver.JobQuery{State: driver.Enqueued, Tag: "t", Limit: limit}, want)
		e.walk(driver.JobQuery{State: driver.Enqueued, Queue: "rare", Kind: "odd", Tag: "t", Limit: limit}, want)
	}
}

func listPagesMoving(e *env) {
	lists := map[driver.State][]int64{
		driver.Scheduled: e.scheduledMix(),
		driver.Failed:    e.finalMix(driver.Failed),
		driver.Enqueued:  e.mixed(inQueue("list")),
	}
	for state, want := range lists {
		q := driver.JobQuery{State: state, Limit: 4}
		p := e.page(q)
		e.order(fmt.Sprintf("first page of %s jobs", state), recordIDs(p.Records), want[:4])
		eq(e, "jobs of the page that leave", e.delete(driver.Filter{IDs: want[1:4]}), 3)
		q.Cursor = p.Next
		e.order(fmt.Sprintf("second page of %s jobs after most of the first left", state), recordIDs(e.page(q).Records), want[4:8])
	}
}

func listLimit(e *env) {
	inserted := e.insert(copies(520)...)
	for limit, want := range map[int]int{-1: 20, 0: 20, 1: 1, 20: 20, 499: 499, 500: 500, 501: 500, 10_000: 500} {
		p := e.page(driver.JobQuery{State: driver.Enqueued, Limit: limit})
		e.order(fmt.Sprintf("page with Limit %d", limit), recordIDs(p.Records), inserted[:want])
		if p.Next == "" {
			e.Errorf("Next is empty after %d of %d jobs", want, len(inserted))
		}
	}
	p := e.page(driver.JobQuery{State: driver.Enqueued, Limit: 10_000})
	p = e.page(driver.JobQuery{State: driver.Enqueued, Limit: 10_000, Cursor: p.Next})
	e.order("second page of at most 500", recordIDs(p.Records), inserted[500:])
	eq(e, "Next of the last page", p.Next, "")
}

func listInvalid(e *env) {
	e.insert(copies(3)...)
	for _, state := range []driver.State{"", "bogus", "Enqueued", "enqueued ", "all"} {
		_, err := e.s.Jobs(e.ctx, driver.JobQuery{State: state})
		e.wantErr(err, driver.ErrInvalid, "Jobs with State %q", state)
	}
	for _, cursor := range []string{"broken", "!", " ", "\x00", "💥", "'; --", strings.Repeat("z", 1000), "[1,2]"} {
		for _, state := range driver.States {
			_, err := e.s.Jobs(e.ctx, driver.JobQuery{State: state, Cursor: cursor})
			e.wantErr(err, driver.ErrInvalid, "Jobs in state %s with Cursor %.20q", state, cursor)
		}
		_, err := e.s.Batches(e.ctx, driver.BatchQuery{Cursor: cursor})
		e.wantErr(err, driver.ErrInvalid, "Batches with Cursor %.20q", cursor)
	}
}

func listFar(e *env) {
	for range 6 {
		e.insert(copies(2000, withTags("other"))...)
	}
	ids := e.insert(copies(3, withTags("far"))...)
	q := driver.JobQuery{State: driver.Enqueued, Tag: "far", Limit: 2}
	page := e.page(q)
	e.order("the first page", recordIDs(page.Records), ids[:2])
	q.Cursor = page.Next
	page = e.page(q)
	e.order("the second page", recordIDs(page.Records), ids[2:])
	eq(e, "Next of the second page", page.Next, "")
	page = e.page(driver.JobQuery{State: driver.Enqueued, Tag: "nowhere"})
	if len(page.Records) != 0 || page.Next != "" {
		e.Errorf("a page of nothing has %d jobs and says that there is more: %q", len(page.Records), page.Next)
	}
}

func listBatchPages(e *env) {
	b := e.openBatch(driver.NewBatch{})
	parent := e.insertOne(withDelay(time.Hour), inQueue("parents"))
	var ready []driver.InsertParams
	for i := range 10 {
		queue, key := fmt.Sprint("q", i%5), fmt.Sprint("key ", i)
		mods := []func(*driver.InsertParams){inQueue(queue)}
		if i%2 == 0 {
			mods = append(mods, inBatch(b), withTags(queue))
		}
		for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted, driver.Processing} {
			e.bring(state, slices.Clone(mods)...)
			e.pass(2 * time.Millisecond)
		}
		of := func(more ...func(*driver.InsertParams)) driver.InsertParams { return job(slices.Concat(mods, more)...) }
		ready = append(ready,
			of(withRunAt(e.now().Add(time.Hour-time.Duration(i)*time.Minute))), of(after(driver.OnSucceeded, parent)),
			of(withMax(key, 1), withPriority(9)), of(withMax(key, 1), withPriority(int16(-i))), of(withPriority(int16(i%3)), ofKind("other")),
		)
	}
	e.insert(ready...)
	for _, state := range driver.States {
		want := map[string][]int64{}
		for _, r := range e.page(driver.JobQuery{State: state, Limit: 500}).Records {
			if r.BatchID == b {
				want[""] = append(want[""], r.ID)
				want[r.Queue] = append(want[r.Queue], r.ID)
			}
		}
		if len(want[""]) < 5 {
			e.Errorf("only %d members are %s, so this shows little", len(want[""]), state)
		}
		for _, queue := range []string{"", "q2"} {
			for _, q := range []driver.JobQuery{{Queue: queue}, {Tag: queue}} {
				q.State, q.BatchID, q.Limit = state, b, 2
				e.walk(q, want[queue])
			}
		}
		eq(e, "members of another kind", len(e.listed(driver.JobQuery{State: state, BatchID: b, Kind: "none"})), 0)
		eq(e, "members of another batch", len(e.listed(driver.JobQuery{State: state, BatchID: b + 1})), 0)
	}
}
