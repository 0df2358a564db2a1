package drivertest

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func inspectCases() []testCase {
	return []testCase{
		{name: "JobNotFound", pins: "An unknown job is ErrNotFound.", run: inspectNotFound},
		{name: "Empty", pins: "Readers of an empty store answer empty, or ErrNotFound for a single row.", run: inspectEmpty},
		{name: "Instants", pins: "Every instant is returned in UTC, and two readings of one stored value are equal with ==.", run: inspectInstants},
		{name: "Counts/states", pins: "Counts has the number of jobs in each state; Retries is the part of scheduled with an Attempt above 0; succeeded and deleted are totals.", run: inspectCounts},
		{name: "Counts/moving", pins: "Counts is one snapshot: jobs that are claimed and ended meanwhile are never counted in two states, nor in none.", run: inspectCountsMoving},
		{name: "Series", pins: "Series has buckets of step, aligned to the epoch, in UTC and ascending, from the one that holds from; empty ones are left out.", run: inspectSeries},
		{name: "SeriesEnd", pins: "Series has the minutes that start before to.", run: inspectSeriesEnd},
		{name: "SeriesStep", pins: "A step that is not a positive multiple of a minute is ErrInvalid.", run: inspectSeriesStep},
		{name: "SeriesServers", pins: "Statistics of several servers come as one point per bucket.", run: inspectSeriesServers},
		{name: "DeletedStats/operator", pins: "A deletion by an operator counts once, also of many at once.", run: inspectDeletedOperator},
		{name: "DeletedStats/cancel", pins: "A canceled job counts once, when it ends.", run: inspectDeletedCancel},
		{name: "Queues/depth", pins: "Queues lists queues with live jobs, each once, by name, with their depths and how long the oldest enqueued job has been due.", timing: true, run: inspectQueues},
		{name: "Queues/jobless", pins: "A queue without live jobs is listed while it has a pause or a server.", run: inspectQueuesJobless},
	}
}

func inspectNotFound(e *env) {
	id := e.insertOne()
	for _, id := range []int64{0, -1, id + 1, 1 << 62} {
		e.gone("an unknown id", id)
	}
	e.inState(id, driver.Enqueued)
}

func inspectEmpty(e *env) {
	e.countsAre("of an empty store", driver.Counts{})
	for _, state := range driver.States {
		p := e.page(driver.JobQuery{State: state})
		if len(p.Records) != 0 || p.Next != "" {
			e.Errorf("Jobs in state %s of an empty store: %+v, want nothing", state, p)
		}
	}
	eq(e, "queues", len(e.queues()), 0)
	eq(e, "servers", len(e.servers()), 0)
	now := e.now()
	eq(e, "statistics", len(e.series(now.Add(-time.Hour), now.Add(time.Hour), time.Minute)), 0)
	recurrings, err := e.s.Recurrings(e.ctx)
	e.must(err, "Recurrings")
	eq(e, "recurring jobs", len(recurrings), 0)
	batches, err := e.s.Batches(e.ctx, driver.BatchQuery{})
	e.must(err, "Batches")
	if len(batches.Batches) != 0 || batches.Next != "" {
		e.Errorf("Batches of an empty store: %+v, want nothing", batches)
	}
	_, err = e.s.Batch(e.ctx, 1)
	e.wantErr(err, driver.ErrNotFound, "Batch(1)")
	_, err = e.s.Recurring(e.ctx, "r")
	e.wantErr(err, driver.ErrNotFound, `Recurring("r")`)
	eq(e, "jobs claimed", len(e.claim(10)), 0)
	eq(e, "orphans", len(e.orphans(0, 10)), 0)
	eq(e, "rows pruned", e.prune(driver.PruneParams{}), 0)
}

func inspectInstants(e *env) {
	instants := func() map[string]time.Time {
		e.Helper()
		out := map[string]time.Time{}
		for _, state := range driver.States {
			for i, r := range e.page(driver.JobQuery{State: state}).Records {
				what := fmt.Sprintf("%s job %d: ", state, i)
				out[what+"RunAt"], out[what+"CreatedAt"], out[what+"AttemptedAt"], out[what+"FinalizedAt"] = r.RunAt, r.CreatedAt, r.AttemptedAt, r.FinalizedAt
				full := e.record(r.ID)
				out[what+"RunAt in the record"], out[what+"FinalizedAt in the record"] = full.RunAt, full.FinalizedAt
				for k, entry := range full.History {
					out[fmt.Sprintf("%sAt of entry %d", what, k)] = entry.At
				}
				eq(e, what+"RunAt of list and record", r.RunAt, full.RunAt)
				eq(e, what+"CreatedAt of list and record", r.CreatedAt, full.CreatedAt)
				eq(e, what+"AttemptedAt of list and record", r.AttemptedAt, full.AttemptedAt)
				eq(e, what+"FinalizedAt of list and record", r.FinalizedAt, full.FinalizedAt)
			}
		}
		for _, s := range e.servers() {
			out["StartedAt of "+s.ID], out["HeartbeatAt of "+s.ID] = s.StartedAt, s.HeartbeatAt
		}
		for _, q := range e.queues() {
			out["PausedAt of "+q.Name] = q.PausedAt
		}
		now := e.now()
		for i, p := range e.series(now.Add(-30*time.Minute).In(time.Local), now.Add(30*time.Minute).In(time.FixedZone("x", 3600)), time.Minute) {
			out[fmt.Sprintf("At of point %d", i)] = p.At
		}
		return out
	}
	zone := time.FixedZone("far", -9*3600)
	for _, state := range []driver.State{driver.Scheduled, driver.Enqueued, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted} {
		e.bring(state, inQueue(string(state)), withRunAt(e.now().Add(-time.Minute).In(zone)), withDelay(0))
	}
	e.insertOne(withRunAt(e.now().Add(time.Hour).In(zone)))
	e.delete(driver.Filter{State: driver.Failed})
	e.requeue(driver.Filter{State: driver.Succeeded})
	e.beat(driver.ServerInfo{ID: "a"})
	e.beat(driver.ServerInfo{ID: "b", StartedAt: e.now().In(zone)})
	e.pause("q", true)
	first := instants()
	e.pass(5 * time.Millisecond)
	second := instants()
	for what, at := range first {
		e.utc(what, at)
		if second[what] != at {
			e.Errorf("%s reads %#v and then %#v, not equal with ==", what, at, second[what])
		}
	}
	e.utc("Now", e.now())
}

func inspectCounts(e *env) {
	want := driver.Counts{}
	add := func(what string, n *int64, by int64) {
		e.Helper()
		*n += by
		e.countsAre("after "+what, want)
	}
	e.insertOne(inQueue("enqueued"))
	add("an insert", &want.Enqueued, 1)
	e.insertOne(withDelay(time.Hour))
	add("a delayed insert", &want.Scheduled, 1)
	j := e.running()
	add("a claim", &want.Processing, 1)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: time.Hour})
	want.Processing--
	want.Scheduled++
	add("a retry", &want.Retries, 1)
	snoozed := e.running()
	e.apply(driver.Outcome{Ref: snoozed.Ref, State: driver.Scheduled, Delay: time.Hour, Refund: true})
	add("a snooze of the first attempt, which is no retry", &want.Scheduled, 1)
	e.bring(driver.Succeeded)
	add("a success", &want.Succeeded, 1)
	e.bring(driver.Failed)
	add("a failure", &want.Failed, 1)
	e.bring(driver.Deleted)
	add("a deletion", &want.Deleted, 1)
	e.requeue(driver.Filter{State: driver.Failed})
	want.Failed--
	add("the failure was requeued", &want.Enqueued, 1)
	e.requeue(driver.Filter{State: driver.Succeeded})
	add("the success was requeued: totals do not fall", &want.Enqueued, 1)
	e.delete(driver.Filter{IDs: []int64{j.ID}})
	want.Scheduled--
	want.Retries--
	add("the retry was deleted", &want.Deleted, 1)
	for state, n := range map[driver.State]int64{
		driver.Scheduled: want.Scheduled, driver.Enqueued: want.Enqueued, driver.Processing: 0, driver.Succeeded: 0, driver.Deleted: 2,
	} {
		eq(e, fmt.Sprintf("jobs in the list of state %s", state), int64(len(e.page(driver.JobQuery{State: state}).Records)), n)
	}
}

func inspectCountsMoving(e *env) {
	const total, workers = 600, 4
	e.insert(copies(total)...)
	// together expects every job to be in one state, and says whether some are still on their way.
	together := func() (moving bool, err error) {
		c, err := e.s.Counts(e.ctx)
		if err == nil && c.Enqueued+c.Processing+c.Succeeded+c.Failed != total {
			err = fmt.Errorf("Counts beside claims and ends are %+v, together not %d", c, total)
		}
		return c.Enqueued+c.Processing > 0, err
	}
	e.together(workers, func(i int) error {
		for n := 0; ; n++ {
			if moving, err := together(); err != nil || !moving {
				return err
			}
			jobs, err := e.s.Claim(e.ctx, driver.ClaimQuery{Queues: []string{queue1}, Limit: 7, Server: fmt.Sprint(i)})
			if err != nil {
				return err
			}
			if _, err := together(); err != nil {
				return err
			}
			outs := make([]driver.Outcome, len(jobs))
			for k, j := range jobs {
				outs[k] = driver.Outcome{Ref: j.Ref, State: driver.Succeeded}
				switch {
				case k == 1 && n%2 == 0:
					outs[k].State = driver.Failed
				case k == 2 && n%2 == 0:
					outs[k].State = driver.Enqueued
				}
			}
			if err := e.finishUntilSettled(outs, func(driver.Outcome) {}); err != nil {
				return err
			}
		}
	})
	c := e.counts()
	eq(e, "succeeded and failed at the end", c.Succeeded+c.Failed, total)
	points := e.totals()
	eq(e, "statistics at the end", driver.Counts{Succeeded: points.Succeeded, Failed: points.Failed}, c)
}

func inspectSeries(e *env) {
	day := 24 * time.Hour
	e.endAll(2, driver.Succeeded)
	e.endAll(1, driver.Failed)
	e.endAll(3, driver.Deleted)
	j := e.running()
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: day})
	snoozed := e.running()
	e.apply(driver.Outcome{Ref: snoozed.Ref, State: driver.Scheduled, Delay: day, Refund: true})
	given := e.running()
	e.apply(driver.Outcome{Ref: given.Ref, State: driver.Enqueued})
	e.delete(driver.Filter{IDs: []int64{given.ID}})
	eq(e, "sum over the last day", e.totals(), driver.Point{Succeeded: 2, Failed: 1, Deleted: 4, Retried: 1})
	now := e.now()
	for _, step := range []time.Duration{time.Minute, 7 * time.Minute, time.Hour, day, 7 * day} {
		points := e.series(now.Add(-time.Hour), now.Add(time.Hour), step)
		if len(points) == 0 {
			e.Errorf("Series with step %s has no points", step)
		}
		for i, p := range points {
			if p.At.Unix()%int64(step/time.Second) != 0 || p.At.Nanosecond() != 0 {
				e.Errorf("step %s: point %d is at %s, not aligned to the epoch", step, i, clockText(p.At))
			}
			e.utc("At of a point", p.At)
			if i > 0 && !p.At.After(points[i-1].At) {
				e.Errorf("step %s: points do not ascend: %s after %s", step, clockText(p.At), clockText(points[i-1].At))
			}
			if p == (driver.Point{At: p.At}) {
				e.Errorf("step %s: the point at %s is empty", step, clockText(p.At))
			}
		}
	}
	if e.clock == nil {
		return
	}
	// Three more minutes of their own, on a clock that can be moved.
	e.pass(10 * day)
	at := func() time.Time { return e.now().Truncate(time.Minute).UTC() }
	m0 := at()
	e.endAll(1, driver.Succeeded)
	e.pass(time.Minute)
	e.endAll(2, driver.Failed)
	e.pass(3 * time.Minute)
	m4 := at()
	e.endAll(4, driver.Succeeded)
	eq(e, "points by the minute", e.series(m0, m4.Add(time.Minute), time.Minute), []driver.Point{
		{At: m0, Succeeded: 1}, {At: m0.Add(time.Minute), Failed: 2}, {At: m4, Succeeded: 4},
	})
	eq(e, "points by the minute, asked for in another zone and from the middle of a minute",
		e.series(m0.Add(90*time.Second).In(clockZone), m4.Add(time.Second).In(time.FixedZone("x", -3600)), time.Minute),
		[]driver.Point{{At: m0.Add(time.Minute), Failed: 2}, {At: m4, Succeeded: 4}})
	for _, step := range []time.Duration{2 * time.Minute, 5 * time.Minute, 7 * time.Minute, time.Hour, day} {
		var want []driver.Point
		for _, p := range []driver.Point{{At: m0, Succeeded: 1}, {At: m0.Add(time.Minute), Failed: 2}, {At: m4, Succeeded: 4}} {
			p.At = time.Unix(p.At.Unix()-p.At.Unix()%int64(step/time.Second), 0).UTC()
			if n := len(want); n > 0 && want[n-1].At.Equal(p.At) {
				want[n-1].Succeeded += p.Succeeded
				want[n-1].Failed += p.Failed
				continue
			}
			want = append(want, p)
		}
		// From the middle of the first bucket: it begins with the whole bucket.
		eq(e, fmt.Sprintf("points by %s", step), e.series(m0.Add(30*time.Second), m4.Add(time.Minute), step), want)
	}
}

func inspectSeriesEnd(e *env) {
	e.endAll(1, driver.Succeeded)
	now := e.now()
	points := e.series(now.Add(-10*time.Minute), now.Add(10*time.Minute), time.Minute)
	if len(points) != 1 {
		e.Fatalf("points are %+v, want one", points)
	}
	m := points[0].At
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{
		{0, 0, 0}, {0, time.Nanosecond, 1}, {0, time.Minute, 1}, {-time.Minute, 0, 0}, {-time.Hour, time.Second, 1},
		{59 * time.Second, time.Minute, 1}, {time.Minute, 2 * time.Minute, 0}, {time.Minute - time.Nanosecond, time.Hour, 1},
	} {
		got := e.series(m.Add(c.from), m.Add(c.to), time.Minute)
		if len(got) != c.want {
			e.Errorf("Series from %s to %s after the start of the only minute: %+v, want %d points", c.from, c.to, got, c.want)
		}
	}
	// The end cuts inside of a bucket, the start does not.
	if e.jump(time.Minute) {
		hour := m.Truncate(time.Hour)
		e.endAll(1, driver.Succeeded)
		got := e.series(hour, m.Add(time.Minute), time.Hour)
		eq(e, "an hour up to the second minute", got, []driver.Point{{At: hour, Succeeded: 1}})
		got = e.series(hour.Add(59*time.Minute), m.Add(time.Minute+1), time.Hour)
		eq(e, "an hour with the second minute", got, []driver.Point{{At: hour, Succeeded: 2}})
	}
}

func inspectSeriesStep(e *env) {
	now := e.now()
	for _, step := range []time.Duration{0, -time.Minute, time.Nanosecond, 30 * time.Second, 90 * time.Second, time.Minute + 1} {
		_, err := e.s.Series(e.ctx, now.Add(-time.Hour), now, step)
		e.wantErr(err, driver.ErrInvalid, "Series with step %s", step)
	}
}

func inspectSeriesServers(e *env) {
	jobs := e.claimAll(copies(6)...)
	for i, j := range jobs {
		_, err := e.s.Finish(e.ctx, fmt.Sprintf("server %d", i), []driver.Outcome{{Ref: j.Ref, State: driver.Succeeded}})
		e.must(err, "Finish")
	}
	now := e.now()
	var sum int64
	seen := map[time.Time]bool{}
	for _, p := range e.series(now.Add(-time.Hour), now.Add(time.Hour), time.Minute) {
		if seen[p.At] {
			e.Errorf("two points at %s", clockText(p.At))
		}
		seen[p.At] = true
		sum += p.Succeeded
	}
	eq(e, "successes of all servers", sum, 6)
}

func inspectDeletedOperator(e *env) {
	e.insert(copies(5)...)
	e.insertOne(withDelay(time.Hour))
	e.delete(driver.Filter{State: driver.Enqueued})
	e.delete(driver.Filter{State: driver.Scheduled})
	e.delete(driver.Filter{State: driver.Scheduled})
	eq(e, "statistics", e.totals(), driver.Point{Deleted: 6})
	e.countsAre("afterwards", driver.Counts{Deleted: 6})
	eq(e, "jobs requeued", e.requeue(driver.Filter{State: driver.Deleted}), 6)
	eq(e, "statistics after a requeue", e.totals(), driver.Point{Deleted: 6})
	e.delete(driver.Filter{State: driver.Enqueued})
	eq(e, "statistics after a second deletion of the same jobs", e.totals(), driver.Point{Deleted: 12})
	e.countsAre("at the end", driver.Counts{Deleted: 12})
}

func inspectDeletedCancel(e *env) {
	jobs := e.claimAll(copies(3)...)
	e.delete(driver.Filter{IDs: jobIDs(jobs)})
	eq(e, "statistics while the flagged jobs run", e.totals(), driver.Point{})
	e.apply(
		driver.Outcome{Ref: jobs[0].Ref, State: driver.Deleted, Reason: "canceled"},
		driver.Outcome{Ref: jobs[1].Ref, State: driver.Scheduled, Delay: time.Hour, Reason: "retry"},
		driver.Outcome{Ref: jobs[2].Ref, State: driver.Succeeded},
	)
	eq(e, "statistics after they ended", e.totals(), driver.Point{Deleted: 2, Succeeded: 1})
	e.countsAre("after they ended", driver.Counts{Deleted: 2, Succeeded: 1})
}

func inspectQueues(e *env) {
	for _, name := range []string{"b", "B", "b ", "á"} {
		e.insertOne(inQueue(name))
	}
	e.bring(driver.Succeeded, inQueue("archived"))
	e.bring(driver.Deleted, inQueue("archived"))
	e.bring(driver.Failed, inQueue("failed"))
	e.bring(driver.Processing, inQueue("a"))
	now := e.now()
	e.insertOne(inQueue("a"), withPriority(9), withRunAt(now.Add(-time.Minute)))
	oldest := e.insertOne(inQueue("a"), withRunAt(now.Add(-time.Hour)))
	e.insertOne(inQueue("a"), withRunAt(now.Add(-10*time.Minute)))
	e.insert(copies(2, inQueue("a"), withDelay(time.Hour))...)
	e.insertOne(inQueue("later"), withDelay(time.Hour))

	before := e.now()
	list := e.queues()
	after := e.now()
	byName := map[string]driver.QueueInfo{}
	var names []string
	for _, q := range list {
		names = append(names, q.Name)
		byName[q.Name] = q
	}
	eq(e, "queues by name", names, []string{"B", "a", "b", "b ", "failed", "later", "á"})
	a := byName["a"]
	due := e.record(oldest).RunAt
	if a.Latency < before.Sub(due)-slack || a.Latency > after.Sub(due)+slack {
		e.Errorf("Latency is %s, want %s, how long the oldest enqueued job has been due", a.Latency, before.Sub(due))
	}
	a.Latency = 0
	eq(e, "queue a", a, driver.QueueInfo{Name: "a", Enqueued: 3, Processing: 1, Scheduled: 2})
	eq(e, "a queue with only a failed job", byName["failed"], driver.QueueInfo{Name: "failed"})
	eq(e, "a queue with only a scheduled job", byName["later"], driver.QueueInfo{Name: "later", Scheduled: 1})
	if l := byName["b"].Latency; l < 0 || l > after.Sub(now)+10*time.Second*slowdown {
		e.Errorf("Latency of a job that was inserted a moment ago is %s", l)
	}
	e.claimExactly(3, "a")
	for _, q := range e.queues() {
		if q.Name == "a" {
			eq(e, "queue a after all was claimed", q, driver.QueueInfo{Name: "a", Processing: 4, Scheduled: 2})
		}
	}
}

func inspectQueuesJobless(e *env) {
	names := func(what string, want ...string) {
		e.Helper()
		var got []string
		for _, q := range e.queues() {
			got = append(got, q.Name)
			eq(e, what+": depths of "+q.Name, q, driver.QueueInfo{Name: q.Name, Paused: q.Paused, PausedAt: q.PausedAt})
			eq(e, what+": PausedAt is set while "+q.Name+" is paused", !q.PausedAt.IsZero(), q.Paused)
		}
		eq(e, what, got, want)
	}
	e.bring(driver.Succeeded, inQueue("done"))
	names("with an archived job only")
	e.pause("paused", true)
	names("with a paused queue", "paused")
	e.beat(driver.ServerInfo{ID: server1, Queues: []string{"served", "both"}})
	e.beat(driver.ServerInfo{ID: server2, Queues: []string{"served"}})
	e.pause("both", true)
	names("with servers", "both", "paused", "served")
	e.beat(driver.ServerInfo{ID: server2, Queues: []string{"other"}})
	names("after a server changed its queues", "both", "other", "paused", "served")
	e.must(e.s.Unregister(e.ctx, server1), "Unregister")
	names("after a server left", "both", "other", "paused")
	e.pause("both", false)
	e.pause("paused", false)
	names("after the queues were resumed", "other")
}
