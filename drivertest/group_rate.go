package drivertest

import (
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func rateCases() []testCase {
	cases := []testCase{
		{name: "Spacing", pins: "Starts of a rated key are Per/Rate apart: what cannot start now is scheduled with a reserved start.", run: rateSpacing},
		{name: "Burst", pins: "LimitBurst jobs start at once, the others after them one by one.", run: rateBurst},
		{name: "Mutex", pins: "With LimitMax 1 and a rate that would allow more, jobs wait in the order of their priority and nothing is reserved.", run: rateMutex},
		{name: "Unlimited", pins: "A key with a rate alone has no cap on the jobs at once.", run: rateUnlimited},
		{name: "Stall", pins: "Jobs whose reserved start comes while LimitMax is full wait in throttled.", run: rateStall},
		{name: "Held", pins: "While they wait they keep their starts, RunAt and order, and start in that order when there is room.", run: rateHeld},
		{name: "Freed", pins: "When one call frees two slots for jobs that are overdue, one starts, and the others get new starts from now on.", run: rateFreed},
		{name: "Overdue", pins: "After a stall one job starts at once and the others get new starts; later promotes are on time.", run: rateOverdue},
		{name: "OverdueBurst", pins: "After a stall as many jobs as a burst start at once, the others get new starts.", run: rateOverdueBurst},
		{name: "Jitter", pins: "Promotes that are late by a fifth of the spacing do not push the jobs behind.", run: rateJitter},
		{name: "Retry", pins: "Every run costs a start of its own: what comes back (retry, shutdown, lost, in the order of ids, a snooze when it is due) gets one at the end of the line.", run: rateRetry},
		{name: "Requeue", pins: "A requeued job gives up the start that it had and gets one at the end of the line.", run: rateRequeue},
		{name: "Update", pins: "A new rate keeps the starts that were given; the next one follows at the old distance.", run: rateUpdate},
		{name: "Sweep", pins: "Rated jobs of a transaction have their starts after at most three sweeps.", needs: needsTransactor, run: rateSweep},
		{name: "Prune", pins: "A key is kept while starts of it lie ahead, though nothing names it any more.", run: ratePrune},
		{name: "Many", pins: "However many jobs a rated key has, repeated promotes give all of them their starts.", run: rateMany},
		{name: "Invalid", pins: "A rate without a period or without a burst, and negative values, are ErrInvalid and store nothing.", run: rateInvalid},
	}
	for i := range cases {
		cases[i].timing = true
	}
	return cases
}

// spacing is the time between two starts in these cases: long where the clock is real, so that a busy machine is not late by half
// of it.
func (e *env) spacing() time.Duration {
	if e.clock != nil {
		return 100 * time.Millisecond
	}
	return 240 * time.Millisecond
}

// rated is a job of the key "rate" with starts spaced by the case's spacing.
func (e *env) rated(most, burst int, mods ...func(*driver.InsertParams)) driver.InsertParams {
	return job(append([]func(*driver.InsertParams){withRate("rate", most, 10, 10*e.spacing(), burst)}, mods...)...)
}

func (e *env) insertRated(n, most, burst int) []int64 {
	e.Helper()
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = e.rated(most, burst)
	}
	return e.insert(jobs...)
}

// spaced expects jobs to be scheduled, the first one at the given time and each of the others step after the one before it.
func (e *env) spaced(what string, from time.Time, step time.Duration, ids ...int64) {
	e.Helper()
	for i, id := range ids {
		r := e.inState(id, scheduled)
		if d := r.RunAt.Sub(from.Add(time.Duration(i) * step)); d < -5*time.Millisecond || d > 10*time.Millisecond {
			e.Errorf("%s: job %d of %d has a start %s after %s, want %s", what, i+1, len(ids), r.RunAt.Sub(from), clockText(from), time.Duration(i)*step)
		}
	}
}

// sleepUntil lets time go by until the store's clock shows the given time.
func (e *env) sleepUntil(at time.Time) {
	e.Helper()
	if d := at.Sub(e.now()); d > 0 {
		e.pass(d)
	}
}

func rateSpacing(e *env) {
	t := e.spacing()
	ids := e.insertRated(4, 0, 1)
	start := e.inState(ids[0], enqueued).CreatedAt
	e.spaced("after the insert", start.Add(t), t, ids[1:]...)
	eq(e, "jobs promoted before their time", e.promote(10).Count, 0)
	e.consistent()
	more := e.insertRated(1, 0, 1)
	e.spaced("the next insert", start.Add(4*t), t, more...)
	for i := 1; i < 4; i++ {
		e.sleepUntil(start.Add(time.Duration(i) * t))
		p := e.promote(10)
		eq(e, "jobs promoted on time", p.Count, 1)
		eq(e, "queues of the promoted", p.Queues, []string{queue1})
		r := e.inState(ids[i], enqueued)
		e.given("RunAt of a job that starts", r.RunAt, start.Add(time.Duration(i)*t))
		if i < 3 {
			e.inState(ids[i+1], scheduled)
		}
		e.consistent()
	}
	e.order("claimed", jobIDs(e.claim(10)), ids)
}

func rateBurst(e *env) {
	t := e.spacing()
	ids := e.insertRated(6, 0, 3)
	start := e.record(ids[0]).CreatedAt
	e.statesAre("after the insert", ids, enqueued, enqueued, enqueued, scheduled, scheduled, scheduled)
	e.spaced("behind the burst", start.Add(t), t, ids[3:]...)
	e.consistent()
	if e.jump(100 * t) {
		e.promote(10)
		e.jump(100 * t)
		more := e.insertRated(4, 0, 3)
		e.statesAre("after a long rest", more, enqueued, enqueued, enqueued, scheduled)
	}
}

func rateMutex(e *env) {
	mod := withRate("rate", 1, 1000, time.Second, 1000)
	ids := e.insert(job(mod), job(mod), job(mod, withPriority(1)), job(mod, withPriority(-1)))
	e.statesAre("after the insert", ids, throttled, throttled, enqueued, throttled)
	for _, i := range []int{2, 0, 1, 3} {
		j := e.claimOne()
		eq(e, "the job whose turn it is", j.ID, ids[i])
		e.countsAre("while it runs", driver.Counts{Processing: 1, Throttled: e.counts().Throttled, Succeeded: e.counts().Succeeded})
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	}
}

func rateUnlimited(e *env) {
	ids := e.insert(copies(50, withRate("rate", 0, 1, time.Hour, 49))...)
	eq(e, "jobs that start", e.counts().Enqueued, int64(49))
	e.inState(ids[49], scheduled)
	for _, j := range e.claim(100) {
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	}
	e.inState(ids[49], scheduled)
}

func rateStall(e *env) {
	t := e.spacing()
	ids := e.insertRated(3, 1, 1)
	start := e.record(ids[0]).CreatedAt
	e.spaced("after the insert", start.Add(t), t, ids[1:]...)
	e.sleepUntil(start.Add(2*t + t/4))
	p := e.promote(10)
	eq(e, "jobs promoted", p.Count, 2)
	eq(e, "queues that got ready jobs", len(p.Queues), 0)
	e.statesAre("while the first one holds the slot", ids, enqueued, throttled, throttled)
	e.consistent()
	e.promote(10)
	e.statesAre("after another promote", ids, enqueued, throttled, throttled)
	// A newcomer stands behind them.
	e.statesAre("a newcomer", e.insertRated(1, 1, 1), throttled)
}

func rateHeld(e *env) {
	t := e.spacing()
	ids := e.insertRated(3, 1, 1)
	start := e.record(ids[0]).CreatedAt
	for i := 1; i <= 2; i++ {
		e.sleepUntil(start.Add(time.Duration(i) * t))
		e.promote(10)
	}
	for i, id := range ids[1:] {
		r := e.inState(id, throttled)
		e.given("RunAt while it waits", r.RunAt, start.Add(time.Duration(i+1)*t))
	}
	for i, id := range ids {
		j := e.claimOne()
		eq(e, "the job that runs", j.ID, id)
		e.given("its RunAt", j.RunAt, start.Add(time.Duration(i)*t))
		if i == 1 {
			break // the third one has to keep its distance from the second
		}
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	}
}

func rateFreed(e *env) {
	t := e.spacing()
	ids := e.insertRated(5, 2, 1)
	start := e.record(ids[0]).CreatedAt
	e.sleepUntil(start.Add(t))
	e.promote(10)
	e.sleepUntil(start.Add(4 * t))
	e.promote(10)
	e.statesAre("when all starts have come", ids, enqueued, enqueued, throttled, throttled, throttled)
	jobs := e.claimExactly(2)
	before := e.now()
	e.apply(driver.Outcome{Ref: jobs[0].Ref, State: driver.Succeeded}, driver.Outcome{Ref: jobs[1].Ref, State: driver.Succeeded})
	e.inState(ids[2], enqueued)
	e.spaced("the others", before.Add(t), t, ids[3:]...)
	e.consistent()
}

func rateOverdue(e *env) {
	t := e.spacing()
	ids := e.insertRated(5, 0, 1)
	e.pass(6 * t)
	before := e.now()
	p := e.promote(10)
	eq(e, "jobs promoted", p.Count, 4)
	e.inState(ids[1], enqueued)
	e.spaced("the others", before.Add(t), t, ids[2:]...)
	for i := 2; i < 5; i++ {
		at := e.record(ids[i]).RunAt
		e.sleepUntil(at)
		eq(e, "jobs promoted later", e.promote(10).Count, 1)
		e.given("RunAt of a job that starts", e.inState(ids[i], enqueued).RunAt, at)
	}
	e.consistent()
}

func rateOverdueBurst(e *env) {
	t := e.spacing()
	ids := e.insertRated(8, 0, 3)
	e.pass(8 * t)
	before := e.now()
	e.promote(10)
	e.statesAre("after a stall", ids[3:], enqueued, enqueued, enqueued, scheduled, scheduled)
	e.spaced("the others", before.Add(t), t, ids[6:]...)
	for _, id := range ids[6:] {
		e.sleepUntil(e.record(id).RunAt)
		e.promote(10)
		e.inState(id, enqueued)
	}
}

func rateJitter(e *env) {
	t := e.spacing()
	ids := e.insertRated(5, 0, 1)
	start := e.record(ids[0]).CreatedAt
	for i, late := range []time.Duration{t / 5, 0, t / 5, t / 10} {
		e.sleepUntil(start.Add(time.Duration(i+1)*t + late))
		eq(e, "jobs promoted", e.promote(10).Count, 1)
		r := e.inState(ids[i+1], enqueued)
		e.given("RunAt of a job that starts a little late", r.RunAt, start.Add(time.Duration(i+1)*t))
	}
}

func rateRetry(e *env) {
	t := e.spacing()
	ids := e.insertRated(5, 0, 4)
	start := e.record(ids[0]).CreatedAt
	e.spaced("the one behind the burst", start.Add(t), t, ids[4])
	jobs := e.claimExactly(4)
	e.apply(
		driver.Outcome{Ref: jobs[2].Ref, State: driver.Enqueued, Refund: true, Reason: "lost"},
		driver.Outcome{Ref: jobs[3].Ref, State: driver.Scheduled, Delay: t / 2, Refund: true, Reason: "snoozed"},
		driver.Outcome{Ref: jobs[1].Ref, State: driver.Enqueued, Refund: true, Reason: "shutdown"},
		driver.Outcome{Ref: jobs[0].Ref, State: driver.Scheduled, Reason: "retry"},
	)
	e.spaced("what came back", start.Add(2*t), t, ids[0], ids[1], ids[2])
	e.sleepUntil(e.record(ids[3]).RunAt)
	e.promote(10)
	e.spaced("the snooze when it was due", start.Add(5*t), t, ids[3])
	e.consistent()
}

func rateRequeue(e *env) {
	t := e.spacing()
	ids := e.insertRated(3, 0, 1)
	start := e.record(ids[0]).CreatedAt
	eq(e, "jobs with a reserved start requeued", e.requeue(driver.Filter{IDs: ids[1:2]}), 1)
	e.spaced("the requeued one", start.Add(3*t), t, ids[1])
	e.spaced("the one behind it", start.Add(2*t), t, ids[2])
	e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: driver.Failed})
	eq(e, "failed jobs requeued", e.requeue(driver.Filter{IDs: ids[:1]}), 1)
	e.spaced("the failed one", start.Add(4*t), t, ids[0])
	e.consistent()
}

func rateUpdate(e *env) {
	t := e.spacing()
	ids := e.insertRated(3, 0, 1)
	start := e.record(ids[0]).CreatedAt
	faster := withRate("rate", 0, 20, 10*t, 1)
	ids = append(ids, e.insert(job(faster), job(faster))...)
	e.spaced("the old ones", start.Add(t), t, ids[1:3]...)
	e.spaced("the new ones", start.Add(3*t), t/2, ids[3:]...)
}

func rateSweep(e *env) {
	t := e.spacing()
	var res []driver.Inserted
	e.must(e.inTx(func(w driver.Writer) (err error) {
		res, err = w.Insert(e.ctx, []driver.InsertParams{e.rated(0, 1), e.rated(0, 1), e.rated(0, 1)})
		return err
	}), "InTx")
	before := e.now()
	for range 3 {
		_, err := e.s.Sweep(e.ctx, 1000)
		e.must(err, "Sweep")
	}
	e.inState(res[0].ID, enqueued)
	start := e.record(res[0].ID).CreatedAt
	if before.Sub(start) < 10*time.Millisecond {
		e.spaced("jobs of a transaction", start.Add(t), t, res[1].ID, res[2].ID)
	}
	e.consistent()
}

func ratePrune(e *env) {
	j := e.running(withRate("rate", 0, 1, time.Hour, 1))
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	j = e.running(withMax("max", 1))
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	total := 0
	for range 3 {
		total += e.prune(driver.PruneParams{})
	}
	eq(e, "rows pruned in three calls: two jobs and one key", total, 3)
	ids := e.insert(job(withRate("rate", 0, 1, time.Hour, 1)))
	e.inState(ids[0], scheduled)
	eq(e, "jobs deleted", e.delete(driver.Filter{IDs: ids}), 1)
	if e.jump(3 * time.Hour) {
		total = 0
		for range 3 {
			total += e.prune(driver.PruneParams{})
		}
		eq(e, "rows pruned when the starts are past: the job and its key", total, 2)
	}
}

func rateMany(e *env) {
	ids := e.insert(copies(2500, withRate("rate", 0, 1, time.Hour, 1))...)
	for range 4 {
		e.promote(10)
	}
	c := e.counts()
	eq(e, "jobs with a start", c.Scheduled, int64(2499))
	eq(e, "jobs that wait", c.Throttled, int64(0))
	r, last := e.inState(ids[1], scheduled), e.inState(ids[2499], scheduled)
	eq(e, "time from the second job to the last", last.RunAt.Sub(r.RunAt), 2498*time.Hour)
	e.consistent()
	var refs []int64
	for _, rec := range e.page(driver.JobQuery{State: scheduled, Limit: 500}).Records {
		refs = append(refs, rec.ID)
	}
	e.order("in the order of ids", refs, slices.Clone(ids[1:501]))
}

func rateInvalid(e *env) {
	for what, p := range map[string]driver.InsertParams{
		"a rate without a period":  job(withRate("k", 0, 1, 0, 1)),
		"a rate without a burst":   job(withRate("k", 0, 1, time.Second, 0)),
		"a negative rate":          job(withRate("k", 1, -1, time.Second, 1)),
		"a negative period":        job(withRate("k", 1, 1, -time.Second, 1)),
		"a negative burst":         job(withRate("k", 1, 1, time.Second, -1)),
		"a negative rate, no key":  job(withRate("", 0, -1, 0, 0)),
		"neither a max nor a rate": job(withRate("k", 0, 0, time.Second, 1)),
	} {
		e.refused(what, p)
		e.refused(what+" behind a valid job", e.rated(1, 1), p)
	}
	e.countsAre("after all refused calls", driver.Counts{})
	if needsLimits(e) == "" {
		eq(e, "limits after all refused calls", len(e.limits("", 0)), 0)
	}
}
