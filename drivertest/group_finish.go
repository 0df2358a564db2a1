package drivertest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func finishCases() []testCase {
	return []testCase{
		{name: "Succeeded", pins: "A succeeded outcome sets state, finalized time and output; without a reason it adds no history; the job is not claimable again.", run: func(e *env) { finishFinal(e, driver.Succeeded) }},
		{name: "Deleted", pins: "A deleted outcome sets state, finalized time, output and history entry; the job is not claimable again.", run: func(e *env) { finishFinal(e, driver.Deleted) }},
		{name: "Failed", pins: "A failed outcome sets state, finalized time and history entry, keeps no output; the job is not claimable again.", run: func(e *env) { finishFinal(e, driver.Failed) }},
		{name: "Results", pins: "There is one result per outcome, in order; outcomes are independent of each other.", run: finishResults},
		{name: "None", pins: "A Finish of no outcomes does nothing.", run: finishNone},
		{name: "Many", pins: "One call takes thousands of outcomes.", run: finishMany},
		{name: "Whoever", pins: "An outcome applies whoever calls: the server given only names the statistics row.", run: finishWhoever},
		{name: "OneInstant", pins: "Jobs that one Finish call ends share one FinalizedAt.", run: finishOneInstant},
		{name: "Stale/claim", pins: "An outcome under another claim, or of an unknown job, is Stale and changes nothing.", run: finishStaleClaim},
		{name: "Stale/states", pins: "An outcome of a job that is not processing is Stale and changes nothing.", run: finishStaleStates},
		{name: "Stale/retried", pins: "An outcome under an older claim, after a retry was claimed, is Stale.", run: finishStaleRetried},
		{name: "Resend", pins: "The same outcomes sent again are all Stale and change nothing.", run: finishResend},
		{name: "ResendConcurrent", pins: "The same outcomes sent by many callers at once are each applied exactly once.", run: finishResendConcurrent},
		{name: "Duplicate", pins: "The same (id, claim) twice in one call: the first counts, the rest is Stale.", run: finishDuplicate},
		{name: "Retry", pins: "A retry is scheduled with RunAt = now + delay, is promoted when due, and its next claim has Attempt 2.", run: finishRetry},
		{name: "RetryNow/plain", pins: "A scheduled outcome with a delay of 0 or less is enqueued, with RunAt = now.", run: finishRetryNow},
		{name: "Refund", pins: "Refund gives the attempt back, an outcome without it does not; the claim counter only grows.", run: finishRefund},
		{name: "Cancel", pins: "Every outcome but a success of a job whose deletion was asked for ends deleted, with the reason canceled unless it was a deletion already; a success stays one.", run: finishCancel},
		{name: "History", pins: "The newest 16 of 20 entries are kept, oldest first.", run: finishHistory},
		{name: "Truncate", pins: "Exactly the first 2 KiB of an error and the first 8 KiB of a trace are kept, cut on a rune boundary.", run: finishTruncate},
		{name: "Text", pins: "NUL bytes and invalid UTF-8 in reason, error and trace are replaced and never cost a result.", run: finishText},
		{name: "Rejected", pins: "Output that is not JSON is Rejected while its siblings apply; the job is still processing and can be failed after.", run: finishRejected},
		{name: "UnknownState", pins: "An outcome whose state is not succeeded, failed, deleted, scheduled or enqueued is Rejected, throttled too.", run: finishUnknownState},
		{name: "Output", pins: "Output is kept byte for byte, only for succeeded and deleted, until a requeue.", run: finishOutput},
		{name: "SetMeta/merge", pins: "SetMeta merges keys into the meta, also into an empty one, and later claims see it.", run: finishSetMeta},
		{name: "SetMeta/fenced", pins: "SetMeta is ErrLost and writes nothing unless the job is processing under the ref.", run: finishSetMetaFenced},
		{name: "SetMeta/concurrent", pins: "SetMeta calls at once, each with keys of its own, all arrive.", run: finishSetMetaConcurrent},
	}
}

// finishFinal ends jobs in a final state, with and without a reason.
func finishFinal(e *env, state driver.State) {
	quiet, loud := e.running(), e.running(func(p *driver.InsertParams) { *p = everything(); p.Queue = queue1 })
	before := e.now()
	e.apply(
		driver.Outcome{Ref: quiet.Ref, State: state},
		driver.Outcome{Ref: loud.Ref, State: state, Reason: "because", Error: "it broke", Trace: "main.go:1", Output: []byte(`{"done": 1}`)},
	)
	after := e.now()
	output := `{"done": 1}`
	if state == driver.Failed {
		output = ""
	}
	for _, c := range []struct {
		job    driver.Job
		output string
		lines  int
	}{{quiet, "", 0}, {loud, output, 1}} {
		what := fmt.Sprintf("job with %d history entries: ", c.lines)
		r := e.inState(c.job.ID, state)
		e.between(what+"FinalizedAt", r.FinalizedAt, before, after)
		e.sameJob(what+"the rest of the job", r.Job, c.job)
		eq(e, what+"Output", string(r.Output), c.output)
		eq(e, what+"Server", r.Server, server1)
		if len(r.History) != c.lines {
			e.Fatalf("%shistory is %+v", what, r.History)
		}
		if c.lines == 1 {
			e.entryIs(what+"entry", r.History[0], driver.Entry{
				State: state, Attempt: 1, Reason: "because", Error: "it broke", Trace: "main.go:1", Server: server1,
			}, before, after)
		}
	}
	eq(e, "jobs claimed after the end", len(e.claim(10)), 0)
	e.pass(20 * time.Millisecond)
	eq(e, "jobs promoted after the end", e.promote(10).Count, 0)
	want := driver.Counts{}
	switch state {
	case driver.Succeeded:
		want.Succeeded = 2
	case driver.Deleted:
		want.Deleted = 2
	case driver.Failed:
		want.Failed = 2
	}
	e.countsAre("after the end", want)
	eq(e, "leases after the end", len(e.beat(driver.ServerInfo{ID: server1}).Leases), 0)
}

func finishResults(e *env) {
	jobs := e.claimAll(copies(5)...)
	res := e.finish(
		driver.Outcome{Ref: jobs[3].Ref, State: driver.Failed},
		driver.Outcome{Ref: driver.Ref{ID: jobs[0].ID, Claim: 9}, State: driver.Succeeded},
		driver.Outcome{Ref: jobs[4].Ref, State: driver.Succeeded, Output: []byte("{")},
		driver.Outcome{Ref: jobs[1].Ref, State: driver.Succeeded},
		driver.Outcome{Ref: driver.Ref{ID: 1 << 40, Claim: 1}, State: driver.Succeeded},
		driver.Outcome{Ref: jobs[2].Ref, State: driver.Scheduled, Delay: time.Hour},
		driver.Outcome{Ref: jobs[3].Ref, State: driver.Succeeded},
	)
	e.results("mixed outcomes", res, driver.Applied, driver.Stale, driver.Rejected, driver.Applied, driver.Stale, driver.Applied, driver.Stale)
	for i, want := range []driver.State{driver.Processing, driver.Succeeded, driver.Scheduled, driver.Failed, driver.Processing} {
		e.inState(jobs[i].ID, want)
	}
}

// claimAll inserts jobs into queue1 and claims them all.
func (e *env) claimAll(jobs ...driver.InsertParams) []driver.Job {
	e.Helper()
	e.insert(jobs...)
	return e.claimExactly(len(jobs))
}

func finishNone(e *env) {
	j := e.running()
	e.finish()
	e.inState(j.ID, driver.Processing)
}

func finishMany(e *env) {
	const n = 3000
	jobs := e.claimAll(copies(n)...)
	outs := make([]driver.Outcome, n)
	for i, j := range jobs {
		outs[n-1-i] = driver.Outcome{Ref: j.Ref, State: driver.Succeeded}
		switch i % 10 {
		case 1:
			outs[n-1-i] = driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: time.Hour, Reason: "retry", Error: fmt.Sprint(j.ID)}
		case 2:
			outs[n-1-i] = driver.Outcome{Ref: j.Ref, State: driver.Failed, Reason: "exhausted", Error: fmt.Sprint(j.ID)}
		case 3:
			outs[n-1-i].Output = fmt.Append(nil, j.ID)
		}
	}
	e.apply(outs...)
	e.countsAre("after all outcomes", driver.Counts{Succeeded: n * 8 / 10, Scheduled: n / 10, Retries: n / 10, Failed: n / 10})
	for i := 1; i < n; i += 500 {
		eq(e, "error of a retried job", e.lastEntry(e.record(jobs[i].ID), 1).Error, fmt.Sprint(jobs[i].ID))
		eq(e, "error of a failed job", e.lastEntry(e.record(jobs[i+1].ID), 1).Error, fmt.Sprint(jobs[i+1].ID))
		eq(e, "output of a succeeded job", string(e.record(jobs[i+2].ID).Output), fmt.Sprint(jobs[i+2].ID))
	}
}

func finishWhoever(e *env) {
	j := e.running()
	res, err := e.s.Finish(e.ctx, "another server", []driver.Outcome{{Ref: j.Ref, State: driver.Failed, Reason: "orphaned"}})
	e.must(err, "Finish by another server")
	e.results("outcome sent by another server", res, driver.Applied)
	r := e.inState(j.ID, driver.Failed)
	eq(e, "Server of the record: the one that claimed it", r.Server, server1)
	eq(e, "Server of the entry: the one that ran the attempt", e.lastEntry(r, 1).Server, server1)
	j = e.running()
	res, err = e.s.Finish(e.ctx, "", []driver.Outcome{{Ref: j.Ref, State: driver.Succeeded}})
	e.must(err, "Finish by nobody")
	e.results("outcome sent without a server's name", res, driver.Applied)
}

func finishOneInstant(e *env) {
	jobs := e.claimAll(copies(30)...)
	var outs []driver.Outcome
	for i, j := range jobs {
		outs = append(outs, driver.Outcome{Ref: j.Ref, State: []driver.State{driver.Succeeded, driver.Failed, driver.Deleted}[i%3], Reason: "r"})
	}
	before := e.now()
	e.apply(outs...)
	after := e.now()
	first := e.record(jobs[0].ID).FinalizedAt
	e.between("FinalizedAt", first, before, after)
	for _, j := range jobs {
		if r := e.record(j.ID); r.FinalizedAt != first {
			e.Errorf("job %d has FinalizedAt %s and another job of the same call %s", j.ID, clockText(r.FinalizedAt), clockText(first))
		}
	}
}

// unchanged expects a record to read as it did before.
func (e *env) unchanged(what string, want driver.Record) {
	e.Helper()
	got := e.record(want.ID)
	e.sameJob(what, got.Job, want.Job)
	eq(e, what+": State", got.State, want.State)
	eq(e, what+": FinalizedAt", got.FinalizedAt, want.FinalizedAt)
	eq(e, what+": Server", got.Server, want.Server)
	eq(e, what+": CancelRequested", got.CancelRequested, want.CancelRequested)
	eq(e, what+": Output", string(got.Output), string(want.Output))
	eq(e, what+": number of history entries", len(got.History), len(want.History))
}

// allOutcomes is one outcome of each kind for a ref.
func allOutcomes(ref driver.Ref) []driver.Outcome {
	return []driver.Outcome{
		{Ref: ref, State: driver.Succeeded, Output: []byte(`1`)},
		{Ref: ref, State: driver.Failed, Reason: "stale"},
		{Ref: ref, State: driver.Deleted, Reason: "stale"},
		{Ref: ref, State: driver.Scheduled, Delay: time.Hour, Reason: "stale"},
		{Ref: ref, State: driver.Scheduled, Reason: "stale"},
		{Ref: ref, State: driver.Enqueued, Refund: true, Reason: "stale"},
	}
}

// stale expects every kind of outcome to be Stale for a ref, one by one and all in one call.
func (e *env) stale(what string, ref driver.Ref) {
	e.Helper()
	outs := allOutcomes(ref)
	want := make([]driver.Result, len(outs))
	for i, out := range outs {
		want[i] = driver.Stale
		e.results(fmt.Sprintf("%s: a %s outcome", what, out.State), e.finish(out), driver.Stale)
	}
	e.results(what+": all outcomes in one call", e.finish(outs...), want...)
}

func finishStaleClaim(e *env) {
	j := e.running()
	was := e.record(j.ID)
	counts := e.counts()
	for _, claim := range []int32{0, -1, j.Claim + 1, 1 << 30} {
		e.stale(fmt.Sprintf("claim %d of a job that is processing under %d", claim, j.Claim), driver.Ref{ID: j.ID, Claim: claim})
	}
	for _, id := range []int64{0, -1, j.ID + 1, 1 << 60} {
		e.stale(fmt.Sprintf("unknown job %d", id), driver.Ref{ID: id, Claim: 1})
	}
	e.unchanged("the running job afterwards", was)
	e.countsAre("afterwards", counts)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
}

func finishStaleStates(e *env) {
	for _, state := range []driver.State{driver.Scheduled, driver.Enqueued, driver.Succeeded, driver.Failed, driver.Deleted} {
		id := e.bring(state, inQueue(string(state)))
		was := e.inState(id, state)
		counts := e.counts()
		for _, claim := range []int32{0, 1, was.Claim + 1} {
			e.stale(fmt.Sprintf("claim %d of a job that is %s", claim, state), driver.Ref{ID: id, Claim: claim})
		}
		e.unchanged(fmt.Sprintf("the job that is %s", state), was)
		e.countsAre("afterwards", counts)
	}
	// A job that was claimed before and waits for its retry.
	j := e.running(inQueue("retry"))
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: time.Hour})
	e.stale("the claim of a job that waits for its retry", j.Ref)
	e.inState(j.ID, driver.Scheduled)
}

func finishStaleRetried(e *env) {
	first := e.running()
	e.apply(driver.Outcome{Ref: first.Ref, State: driver.Enqueued, Refund: true})
	e.stale("the old claim while the job waits in its queue", first.Ref)
	second := e.claimOne()
	eq(e, "Claim of the second run", second.Claim, first.Claim+1)
	was := e.record(first.ID)
	e.stale("the old claim while the second run goes on", first.Ref)
	e.unchanged("the second run", was)
	e.apply(driver.Outcome{Ref: second.Ref, State: driver.Failed})
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: []int64{first.ID}}), 1)
	third := e.claimOne()
	eq(e, "Claim after a requeue", third.Claim, first.Claim+2)
	e.stale("the first claim after a requeue", first.Ref)
	e.stale("the second claim after a requeue", second.Ref)
	e.results("the third", e.finish(driver.Outcome{Ref: third.Ref, State: driver.Succeeded}), driver.Applied)
}

// oneOfEach claims jobs and returns an outcome of each kind, every one for a job of its own.
func (e *env) oneOfEach() []driver.Outcome {
	e.Helper()
	outs := allOutcomes(driver.Ref{})
	for i, j := range e.claimAll(copies(len(outs))...) {
		outs[i].Ref = j.Ref
	}
	return outs
}

func finishResend(e *env) {
	outs := e.oneOfEach()
	e.apply(outs...)
	var was []driver.Record
	want := make([]driver.Result, len(outs))
	for i, out := range outs {
		was = append(was, e.record(out.ID))
		want[i] = driver.Stale
	}
	counts, points := e.counts(), e.totals()
	for range 2 {
		e.results("the same outcomes again", e.finish(outs...), want...)
	}
	slices.Reverse(outs)
	e.results("the same outcomes in another order", e.finish(outs...), want...)
	for _, r := range was {
		e.unchanged(fmt.Sprintf("job %d after its outcome was sent again", r.ID), r)
	}
	e.countsAre("after the outcomes were sent again", counts)
	eq(e, "statistics after the outcomes were sent again", e.totals(), points)
}

func finishResendConcurrent(e *env) {
	const callers = 6
	for range 5 {
		jobs := e.claimAll(copies(20)...)
		applied := make([]atomic.Int32, len(jobs))
		e.together(callers, func(caller int) error {
			outs := make([]driver.Outcome, len(jobs))
			for i, j := range jobs {
				outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Succeeded, Reason: "r"}
			}
			if caller%2 == 1 {
				slices.Reverse(outs)
			}
			return e.finishUntilSettled(outs, func(out driver.Outcome) {
				applied[slices.IndexFunc(jobs, func(j driver.Job) bool { return j.ID == out.ID })].Add(1)
			})
		})
		for i := range applied {
			if n := applied[i].Load(); n != 1 {
				e.Errorf("job %d: its outcome was Applied %d times by %d callers, want once", jobs[i].ID, n, callers)
			}
			eq(e, "history entries of one outcome", len(e.record(jobs[i].ID).History), 1)
		}
	}
	e.countsAre("at the end", driver.Counts{Succeeded: 100})
	eq(e, "statistics at the end", e.totals(), driver.Point{Succeeded: 100})
}

// finishUntilSettled sends outcomes beside other callers, those that are Busy again, and calls onApplied for each Applied one.
func (e *env) finishUntilSettled(outs []driver.Outcome, onApplied func(driver.Outcome)) error {
	for len(outs) > 0 {
		res, err := e.s.Finish(e.ctx, server1, outs)
		if err != nil {
			return err
		}
		if len(res) != len(outs) {
			return fmt.Errorf("Finish of %d outcomes returned %d results", len(outs), len(res))
		}
		var busy []driver.Outcome
		for i, r := range res {
			switch r {
			case driver.Applied:
				onApplied(outs[i])
			case driver.Busy:
				busy = append(busy, outs[i])
			case driver.Stale:
			default:
				return fmt.Errorf("outcome of job %d came back %s", outs[i].ID, resultName(r))
			}
		}
		outs = busy
	}
	return nil
}

func finishDuplicate(e *env) {
	jobs := e.claimAll(copies(4)...)
	a, b, c, d := jobs[0].Ref, jobs[1].Ref, jobs[2].Ref, jobs[3].Ref
	res := e.finish(
		driver.Outcome{Ref: a, State: driver.Failed, Reason: "first"},
		driver.Outcome{Ref: b, State: driver.Enqueued, Reason: "first"},
		driver.Outcome{Ref: a, State: driver.Succeeded, Reason: "second"},
		driver.Outcome{Ref: c, State: driver.Scheduled, Delay: time.Hour, Reason: "first"},
		driver.Outcome{Ref: b, State: driver.Deleted, Reason: "second"},
		driver.Outcome{Ref: a, State: driver.Failed, Reason: "third"},
		driver.Outcome{Ref: c, State: driver.Scheduled, Delay: time.Hour, Reason: "second"},
		driver.Outcome{Ref: d, State: driver.Succeeded},
	)
	e.results("repeated refs", res, driver.Applied, driver.Applied, driver.Stale, driver.Applied, driver.Stale, driver.Stale, driver.Stale, driver.Applied)
	for i, want := range []driver.State{driver.Failed, driver.Enqueued, driver.Scheduled} {
		r := e.inState(jobs[i].ID, want)
		eq(e, "reason of the only entry", e.lastEntry(r, 1).Reason, "first")
	}
	eq(e, "statistics", e.totals(), driver.Point{Failed: 1, Retried: 1, Succeeded: 1})
}

func finishRetry(e *env) {
	j := e.running()
	const delay = 60 * time.Millisecond
	before := e.now()
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: delay, Reason: "retry", Error: "again"})
	after := e.now()
	r := e.inState(j.ID, driver.Scheduled)
	e.between("RunAt, less the delay", r.RunAt.Add(-delay), before, after)
	e.between("entry's At", e.lastEntry(r, 1).At, before, after)
	eq(e, "Attempt while it waits", r.Attempt, 1)
	eq(e, "State of the entry", r.History[0].State, driver.Scheduled)
	e.countsAre("while it waits", driver.Counts{Scheduled: 1, Retries: 1})
	e.pass(delay + 20*time.Millisecond)
	p := e.promote(10)
	eq(e, "Count of the promotion", p.Count, 1)
	eq(e, "Queues of the promotion", p.Queues, []string{queue1})
	promoted := e.inState(j.ID, driver.Enqueued)
	eq(e, "RunAt after the promotion", promoted.RunAt, r.RunAt)
	again := e.claimOne()
	eq(e, "Attempt of the next claim", again.Attempt, 2)
	eq(e, "Claim of the next claim", again.Claim, 2)
	eq(e, "RunAt of the next claim", again.RunAt, r.RunAt)
	e.apply(driver.Outcome{Ref: again.Ref, State: driver.Failed, Reason: "exhausted"})
	h := e.record(j.ID).History
	if len(h) != 2 || h[0].Reason != "retry" || h[1].Reason != "exhausted" || h[0].Attempt != 1 || h[1].Attempt != 2 {
		e.Errorf("history is %+v, want the retry of attempt 1 and the end of attempt 2", h)
	}
}

func finishRetryNow(e *env) {
	for i, delay := range []time.Duration{0, -1, -time.Hour} {
		what := fmt.Sprintf("delay %s: ", delay)
		j := e.running(withRunAt(e.now().Add(-time.Hour)))
		before := e.now()
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: delay, Reason: "retry"})
		after := e.now()
		r := e.inState(j.ID, driver.Enqueued)
		e.between(what+"RunAt", r.RunAt, before, after)
		eq(e, what+"State of the entry: the one that it moved to", e.lastEntry(r, 1).State, driver.Enqueued)
		e.countsAre(what+"afterwards", driver.Counts{Enqueued: 1, Succeeded: int64(i)})
		eq(e, what+"attempts counted as retried", e.totals().Retried, int64(i+1))
		again := e.claimOne()
		eq(e, what+"Attempt of the next claim", again.Attempt, 2)
		before = e.now()
		e.apply(driver.Outcome{Ref: again.Ref, State: driver.Enqueued, Delay: time.Hour})
		e.between(what+"RunAt after an enqueued outcome, which knows no delay", e.inState(j.ID, driver.Enqueued).RunAt, before, e.now())
		e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Succeeded})
	}
}

func finishRefund(e *env) {
	j := e.running()
	steps := []struct {
		what  string
		out   driver.Outcome
		after int // Attempt after the outcome
	}{
		{"shutdown", driver.Outcome{State: driver.Enqueued, Refund: true, Reason: "shutdown"}, 0},
		{"shutdown without refund", driver.Outcome{State: driver.Enqueued}, 1},
		{"snooze", driver.Outcome{State: driver.Scheduled, Delay: 5 * time.Millisecond, Refund: true, Reason: "snoozed"}, 1},
		{"snooze without delay", driver.Outcome{State: driver.Scheduled, Refund: true}, 1},
		{"retry", driver.Outcome{State: driver.Scheduled, Delay: 5 * time.Millisecond, Reason: "retry"}, 2},
		{"lost", driver.Outcome{State: driver.Enqueued, Refund: true, Reason: "lost"}, 2},
		{"failure with refund", driver.Outcome{State: driver.Failed, Refund: true, Reason: "odd"}, 2},
	}
	for i, step := range steps {
		ran := j.Attempt
		step.out.Ref = j.Ref
		e.apply(step.out)
		r := e.record(j.ID)
		eq(e, step.what+": Attempt afterwards", r.Attempt, step.after)
		eq(e, step.what+": Claim afterwards", r.Claim, int32(i+1))
		if step.out.Reason != "" {
			eq(e, step.what+": Attempt of the entry, the one that ran", r.History[len(r.History)-1].Attempt, ran)
		}
		if step.out.State == driver.Failed {
			break
		}
		e.pass(20 * time.Millisecond)
		e.promote(10)
		j = e.claimOne()
		eq(e, step.what+": Attempt of the next claim", j.Attempt, step.after+1)
		eq(e, step.what+": Claim of the next claim", j.Claim, int32(i+2))
	}
	eq(e, "statistics: a snooze is no retry", e.totals(), driver.Point{Retried: 1, Failed: 1})
	e.countsAre("at the end", driver.Counts{Failed: 1})
}

func finishCancel(e *env) {
	outs := append(e.oneOfEach(), driver.Outcome{State: driver.Failed}, driver.Outcome{State: driver.Deleted})
	for i, j := range e.claimAll(copies(2)...) {
		outs[6+i].Ref = j.Ref
	}
	var all []int64
	for _, out := range outs {
		all = append(all, out.ID)
	}
	eq(e, "processing jobs flagged", e.delete(driver.Filter{IDs: all}), len(all))
	before := e.now()
	e.apply(outs...)
	after := e.now()
	for i, out := range outs {
		what := fmt.Sprintf("%s outcome %d of a flagged job", out.State, i)
		if out.State == driver.Succeeded {
			r := e.inState(out.ID, driver.Succeeded)
			eq(e, what+": Output", string(r.Output), "1")
			continue
		}
		r := e.inState(out.ID, driver.Deleted)
		e.between(what+": FinalizedAt", r.FinalizedAt, before, after)
		switch {
		case out.State != driver.Deleted:
			e.entryIs(what+": entry", e.lastEntry(r, 1), driver.Entry{
				State: driver.Deleted, Attempt: 1, Reason: "canceled", Server: server1,
			}, before, after)
		case out.Reason == "":
			eq(e, what+": history entries of a deletion without a reason", len(r.History), 0)
		default:
			eq(e, what+": reason of a deletion", e.lastEntry(r, 1).Reason, out.Reason)
		}
	}
	e.countsAre("afterwards", driver.Counts{Succeeded: 1, Deleted: int64(len(outs) - 1)})
	eq(e, "statistics: neither retried nor failed", e.totals(), driver.Point{Succeeded: 1, Deleted: int64(len(outs) - 1)})
	e.pass(20 * time.Millisecond)
	eq(e, "jobs promoted afterwards", e.promote(10).Count, 0)
	eq(e, "jobs claimed afterwards", len(e.claim(10)), 0)
}
