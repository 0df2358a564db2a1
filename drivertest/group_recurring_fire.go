package drivertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func fireCases() []testCase {
	return []testCase{
		{name: "Fire", pins: "Fire inserts the jobs, stores next, last and the last job's id, and adds one to the version; another version is ErrConflict and an unknown id ErrNotFound, and nothing changes.", run: fireOne},
		{name: "FireDefinition", pins: "Fire leaves the definition itself as it is.", run: fireDefinition},
		{name: "FireScheduled", pins: "A fired job with a run time in the future is scheduled.", run: fireScheduled},
		{name: "FireEmpty", pins: "A Fire without jobs moves the schedule on and keeps LastJobID.", run: fireEmpty},
		{name: "FireInvalid", pins: "A Fire whose jobs are refused changes nothing.", run: fireInvalid},
		{name: "FireConcurrent", pins: "Of 8 that fire at one version exactly one wins, and its jobs alone exist.", run: fireConcurrent},
		{name: "FireEvents", pins: "A Fire publishes JobsReady for the queues of its jobs.", needs: needsNotifier, run: fireEvents},
		{name: "FireMany", pins: "FireMany fires each step by itself: one that conflicts, is unknown or refused has its error and leaves nothing, and the others are applied.", needs: needsBlockFirer, run: fireMany},
		{name: "FireManySame", pins: "Of two steps for one version in a FireMany the first wins.", needs: needsBlockFirer, run: fireManySame},
		{name: "FireManyParents", pins: "Jobs of a step that wait for each other name each other by their places in the step; a missing parent refuses the step alone.", needs: needsBlockFirer, run: fireManyParents},
		{name: "FireManyNone", pins: "A FireMany of no steps does nothing.", needs: needsBlockFirer, run: fireManyNone},
	}
}

func needsBlockFirer(e *env) string {
	if _, ok := e.s.(driver.BlockFirer); !ok {
		return "the store is no BlockFirer"
	}
	return ""
}

// fire fires and returns the results, one per job.
func (e *env) fire(f driver.Fire) []driver.Inserted {
	e.Helper()
	res, err := e.s.Fire(e.ctx, f)
	e.must(err, "Fire of %q at version %d with %d jobs", f.ID, f.Version, len(f.Jobs))
	if len(res) != len(f.Jobs) {
		e.Fatalf("Fire of %d jobs returned %d results", len(f.Jobs), len(res))
	}
	return res
}

// occurrence is a job as a leader fires it.
func occurrence(id string, at time.Time) driver.InsertParams {
	p := everythingFired()
	p.RecurringID, p.RunAt = id, at
	p.Meta["kiln.occurrence"] = at.UTC().Format(time.RFC3339)
	return p
}

func everythingFired() driver.InsertParams {
	return driver.InsertParams{
		Kind: "report", Queue: "mail", Args: []byte(`{"at": 7}`), Meta: map[string]string{"a": "1"}, Tags: []string{"b", "a"},
		Title: "Daily report", Priority: 3, MaxAttempts: 4, Timeout: time.Minute,
	}
}

func fireOne(e *env) {
	now := e.now()
	at, next := now.Add(-time.Minute), now.Add(24*time.Hour)
	e.put(everyDay("daily", at))
	step := driver.Fire{ID: "daily", Version: 1, NextRunAt: next, LastRunAt: at, Jobs: []driver.InsertParams{
		occurrence("daily", at.Add(-time.Hour)), occurrence("daily", at),
	}}
	for version, want := range map[int64]error{0: driver.ErrConflict, 2: driver.ErrConflict, 7: driver.ErrConflict} {
		wrong := step
		wrong.Version = version
		_, err := e.s.Fire(e.ctx, wrong)
		e.wantErr(err, want, "Fire at version %d of one at 1", version)
	}
	unknown := step
	unknown.ID = "Daily"
	_, err := e.s.Fire(e.ctx, unknown)
	e.wantErr(err, driver.ErrNotFound, "Fire of an unknown id")
	e.countsAre("after refused fires", driver.Counts{})
	eq(e, "version after refused fires", e.definition("daily").Version, 1)

	res := e.fire(step)
	for i, r := range res {
		if r.State != driver.Enqueued || r.Duplicate {
			e.Errorf("result %d is %+v, want a new enqueued job", i, r)
		}
		e.sameParams(fmt.Sprintf("fired job %d", i), e.record(r.ID).Job, step.Jobs[i])
	}
	if res[1].ID <= res[0].ID {
		e.Errorf("ids of the fired jobs are %d and %d, want them to increase", res[0].ID, res[1].ID)
	}
	got := e.definition("daily")
	e.given("NextRunAt", got.NextRunAt, next)
	e.given("LastRunAt", got.LastRunAt, at)
	eq(e, "LastJobID", got.LastJobID, res[1].ID)
	eq(e, "Version", got.Version, 2)
	eq(e, "due after the fire", len(e.due(10)), 0)
	_, err = e.s.Fire(e.ctx, step)
	e.wantErr(err, driver.ErrConflict, "the same Fire again")
	e.countsAre("in the end", driver.Counts{Enqueued: 2})
}

func fireDefinition(e *env) {
	r := fullDefinition(e)
	e.put(r)
	before := e.definition(r.ID)
	r.NextRunAt, r.LastRunAt = e.now().Add(time.Hour), r.NextRunAt
	r.LastJobID = e.fire(driver.Fire{ID: r.ID, Version: 1, NextRunAt: r.NextRunAt, LastRunAt: r.LastRunAt, Jobs: copies(1)})[0].ID
	after := e.definition(r.ID)
	e.sameDefinition("after the fire", after, r)
	eq(e, "CreatedAt", after.CreatedAt, before.CreatedAt)
}

func fireScheduled(e *env) {
	e.put(everyDay("daily", e.now()))
	at := e.now().Add(time.Hour)
	res := e.fire(driver.Fire{ID: "daily", Version: 1, Jobs: []driver.InsertParams{occurrence("daily", at), job()}})
	eq(e, "state in the result", res[0].State, driver.Scheduled)
	e.given("RunAt", e.inState(res[0].ID, driver.Scheduled).RunAt, at)
	e.inState(res[1].ID, driver.Enqueued)
}

func fireEmpty(e *env) {
	e.put(everyDay("daily", e.now().Add(-time.Minute)))
	last := e.now().Add(-time.Minute)
	id := e.fire(driver.Fire{ID: "daily", Version: 1, NextRunAt: last, LastRunAt: last, Jobs: copies(1)})[0].ID
	next := e.now().Add(time.Hour)
	e.fire(driver.Fire{ID: "daily", Version: 2, NextRunAt: next, LastRunAt: last})
	got := e.definition("daily")
	eq(e, "LastJobID", got.LastJobID, id)
	eq(e, "Version", got.Version, 3)
	e.given("NextRunAt", got.NextRunAt, next)
	e.given("LastRunAt", got.LastRunAt, last)
	e.countsAre("afterwards", driver.Counts{Enqueued: 1})
	e.fire(driver.Fire{ID: "daily", Version: 3, LastRunAt: last})
	if got := e.definition("daily"); !got.NextRunAt.IsZero() {
		e.Errorf("NextRunAt is %s after a Fire without one, want zero", got.NextRunAt)
	}
	_, err := e.s.Fire(e.ctx, driver.Fire{ID: "daily", Version: 3})
	e.wantErr(err, driver.ErrConflict, "Fire without jobs at an old version")
	eq(e, "due without a next time", len(e.due(10)), 0)
}

func fireInvalid(e *env) {
	at := e.now().Add(-time.Minute)
	e.put(everyDay("daily", at))
	for what, bad := range map[string]driver.InsertParams{
		"no attempts": job(withAttempts(0)), "broken args": job(withArgs(`{`)), "no queue": job(inQueue("")),
	} {
		_, err := e.s.Fire(e.ctx, driver.Fire{ID: "daily", Version: 1, NextRunAt: at.Add(time.Hour), LastRunAt: at, Jobs: []driver.InsertParams{job(), bad}})
		e.wantErr(err, driver.ErrInvalid, "Fire of a job with %s", what)
	}
	got := e.definition("daily")
	e.given("NextRunAt", got.NextRunAt, at)
	eq(e, "Version", got.Version, 1)
	eq(e, "LastJobID", got.LastJobID, 0)
	e.countsAre("afterwards", driver.Counts{})
	eq(e, "due", definitionIDs(e.due(10)), []string{"daily"})
	e.fire(driver.Fire{ID: "daily", Version: 1, NextRunAt: at.Add(time.Hour), LastRunAt: at, Jobs: copies(1)})
}

func fireConcurrent(e *env) {
	const callers, rounds = 8, 5
	at := e.now().Add(-time.Hour)
	e.put(everyDay("daily", at))
	for round := range rounds {
		var winners atomic.Int32
		var id atomic.Int64
		e.together(callers, func(int) error {
			res, err := e.s.Fire(e.ctx, driver.Fire{ID: "daily", Version: int64(round + 1), NextRunAt: at, LastRunAt: at, Jobs: copies(1)})
			switch {
			case err == nil:
				winners.Add(1)
				id.Store(res[0].ID)
			case errors.Is(err, driver.ErrConflict):
				err = nil
			}
			return err
		})
		eq(e, fmt.Sprintf("winners at version %d", round+1), winners.Load(), 1)
		eq(e, "LastJobID", e.definition("daily").LastJobID, id.Load())
	}
	e.countsAre("in the end", driver.Counts{Enqueued: rounds})
	eq(e, "version in the end", e.definition("daily").Version, rounds+1)
}

func fireEvents(e *env) {
	at := e.now().Add(-time.Minute)
	e.put(everyDay("daily", at))
	h := e.subscribe()
	e.fire(driver.Fire{ID: "daily", Version: 1, NextRunAt: at, LastRunAt: at, Jobs: []driver.InsertParams{job(inQueue("a")), job(inQueue("b"))}})
	h.hears("a fire", ready("a"), ready("b"))
}

func (e *env) fireMany(fires ...driver.Fire) []driver.FireResult {
	e.Helper()
	res, err := e.s.(driver.BlockFirer).FireMany(e.ctx, fires)
	e.must(err, "FireMany of %d steps", len(fires))
	if len(res) != len(fires) {
		e.Fatalf("FireMany of %d steps returned %d results", len(fires), len(res))
	}
	return res
}

func fireMany(e *env) {
	at := e.now().Add(-time.Hour)
	next := e.now().Add(time.Hour)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		e.put(everyDay(id, at))
	}
	step := func(id string, version int64, jobs ...driver.InsertParams) driver.Fire {
		return driver.Fire{ID: id, Version: version, NextRunAt: next, LastRunAt: at, Jobs: jobs}
	}
	fires := []driver.Fire{
		step("a", 1, job(), job()), step("unknown", 1, job()), step("b", 2, job()), step("c", 1, job(), job(withAttempts(0))),
		step("d", 1), step("e", 1, occurrence("e", at)),
	}
	want := []error{nil, driver.ErrNotFound, driver.ErrConflict, driver.ErrInvalid, nil, nil}
	res := e.fireMany(fires...)
	for i, r := range res {
		if !errors.Is(r.Err, want[i]) {
			e.Fatalf("step %d of %q: error %v, want %v", i, fires[i].ID, r.Err, want[i])
		}
		if r.Err == nil && len(r.Jobs) != len(fires[i].Jobs) {
			e.Fatalf("step %d of %q: %d results for %d jobs", i, fires[i].ID, len(r.Jobs), len(fires[i].Jobs))
		}
	}
	for id, version := range map[string]int64{"a": 2, "b": 1, "c": 1, "d": 2, "e": 2} {
		got := e.definition(id)
		eq(e, "version of "+id, got.Version, version)
		if version == 2 {
			e.given("NextRunAt of "+id, got.NextRunAt, next)
		} else {
			e.given("NextRunAt of "+id, got.NextRunAt, at)
		}
	}
	eq(e, "LastJobID of a", e.definition("a").LastJobID, res[0].Jobs[1].ID)
	eq(e, "LastJobID of d", e.definition("d").LastJobID, 0)
	e.sameParams("the job of e", e.record(res[5].Jobs[0].ID).Job, fires[5].Jobs[0])
	e.countsAre("afterwards", driver.Counts{Enqueued: 3})
	eq(e, "still due", definitionIDs(e.due(10)), []string{"b", "c"})
}

func fireManySame(e *env) {
	at := e.now().Add(-time.Hour)
	e.put(everyDay("a", at))
	f := driver.Fire{ID: "a", Version: 1, NextRunAt: at, LastRunAt: at, Jobs: copies(1)}
	second := f
	second.Version = 2
	res := e.fireMany(f, f, second)
	if res[0].Err != nil || !errors.Is(res[1].Err, driver.ErrConflict) || res[2].Err != nil {
		e.Errorf("the first, the same again and the next: %v, %v, %v", res[0].Err, res[1].Err, res[2].Err)
	}
	e.countsAre("afterwards", driver.Counts{Enqueued: 2})
	eq(e, "version", e.definition("a").Version, 3)
}

func fireManyParents(e *env) {
	at := e.now().Add(-time.Hour)
	for _, id := range []string{"a", "b", "c"} {
		e.put(everyDay(id, at))
	}
	child := func(p driver.Parent) driver.InsertParams {
		return job(func(j *driver.InsertParams) { j.Parents = []driver.Parent{p} })
	}
	res := e.fireMany(
		driver.Fire{ID: "a", Version: 1, Jobs: copies(2)},
		driver.Fire{ID: "b", Version: 1, Jobs: []driver.InsertParams{job(), child(driver.Parent{Index: 0, On: driver.OnSucceeded})}},
		driver.Fire{ID: "c", Version: 1, Jobs: []driver.InsertParams{job(), child(driver.Parent{ID: 1 << 40, On: driver.OnSucceeded})}},
	)
	e.must(res[0].Err, "the step without parents")
	e.must(res[1].Err, "the step with a parent")
	e.wantErr(res[2].Err, driver.ErrNotFound, "the step with a missing parent")
	e.countsAre("afterwards", driver.Counts{Enqueued: 3, Awaiting: 1})
	eq(e, "parents of the job that waits", e.inState(res[1].Jobs[1].ID, driver.Awaiting).Parents, []int64{res[1].Jobs[0].ID})
	eq(e, "version of c", e.definition("c").Version, 1)
}

func fireManyNone(e *env) {
	eq(e, "results", len(e.fireMany()), 0)
}
