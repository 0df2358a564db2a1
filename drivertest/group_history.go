package drivertest

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func needsHistoryReader(e *env) string {
	if _, ok := e.s.(driver.HistoryReader); !ok {
		return "the store is no HistoryReader"
	}
	return ""
}

func inspectRuns(e *env) {
	runs := func(id int64) []driver.Run {
		e.Helper()
		all, err := e.s.(driver.HistoryReader).Runs(e.ctx, id)
		e.must(err, "Runs(%d)", id)
		return all
	}
	waiting := e.insertOne(inQueue("elsewhere"))
	eq(e, "runs of a new job", len(runs(waiting)), 0)
	eq(e, "runs of an unknown job", len(runs(waiting+1000)), 0)
	j := e.running(withAttempts(5))
	eq(e, "runs of a job in its first attempt", len(runs(j.ID)), 0)
	var want []driver.Run
	for n := 1; n <= 2; n++ {
		e.pass(3 * time.Millisecond)
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Reason: "retry", Error: "no"})
		h := e.record(j.ID).History
		want = append(want, driver.Run{Attempt: n, StartedAt: j.AttemptedAt, EndedAt: h[len(h)-1].At})
		e.pass(2 * time.Millisecond)
		j = e.claimOne()
	}
	e.pass(3 * time.Millisecond)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Failed, Reason: "permanent"})
	h := e.record(j.ID).History
	want = append(want, driver.Run{Attempt: 3, StartedAt: j.AttemptedAt, EndedAt: h[len(h)-1].At})
	e.requeue(driver.Filter{IDs: []int64{j.ID}})
	eq(e, "runs", runs(j.ID), want)
}

func inspectLastErrors(e *env) {
	lastErrors := func(ids ...int64) map[int64]string {
		e.Helper()
		all, err := e.s.(driver.HistoryReader).LastErrors(e.ctx, ids)
		e.must(err, "LastErrors(%v)", ids)
		return all
	}
	eq(e, "errors of no jobs", len(lastErrors()), 0)
	first := e.running(withAttempts(5))
	e.apply(driver.Outcome{Ref: first.Ref, State: driver.Scheduled, Reason: "retry", Error: "old"})
	first = e.claimOne()
	e.apply(driver.Outcome{Ref: first.Ref, State: driver.Failed, Reason: "permanent", Error: "new"})
	e.requeue(driver.Filter{IDs: []int64{first.ID}})
	e.delete(driver.Filter{IDs: []int64{first.ID}})
	fine := e.running()
	e.apply(driver.Outcome{Ref: fine.Ref, State: driver.Succeeded})
	other := e.running()
	e.apply(driver.Outcome{Ref: other.Ref, State: driver.Failed, Reason: "permanent", Error: "another"})
	eq(e, "errors", lastErrors(other.ID, first.ID, fine.ID, other.ID, other.ID+1000), map[int64]string{first.ID: "new", other.ID: "another"})
}

func needsStateReader(e *env) string {
	if _, ok := e.s.(driver.StateReader); !ok {
		return "the store is no StateReader"
	}
	return ""
}

func inspectStates(e *env) {
	want := map[int64]driver.State{}
	var ids []int64
	keep := func(id int64) {
		want[id] = e.record(id).State
		ids = append(ids, id, id+1_000_000)
	}
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted, driver.Processing, driver.Scheduled} {
		keep(e.bring(state))
	}
	waited := e.insertOne()
	keep(waited)
	keep(e.insertOne(after(driver.OnSucceeded, waited)))
	for range 2 {
		keep(e.insertOne(func(p *driver.InsertParams) { p.LimitKey, p.LimitMax = "one", 1 }))
	}
	seen := map[driver.State]bool{}
	for _, state := range want {
		seen[state] = true
	}
	eq(e, "states that the case has", len(seen), len(driver.States))
	got, err := e.s.(driver.StateReader).States(e.ctx, append(ids, ids...))
	e.must(err, "States(%v)", ids)
	eq(e, "states", got, want)
	none, err := e.s.(driver.StateReader).States(e.ctx, nil)
	e.must(err, "States of no jobs")
	eq(e, "states of no jobs", len(none), 0)
}
