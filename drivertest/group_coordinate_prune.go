package drivertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func pruneCases() []testCase {
	pins := "Prune removes jobs of this state whose retention has passed, counted from FinalizedAt, and no others; totals never change."
	return []testCase{
		{name: "Prune/succeeded", pins: pins, run: func(e *env) { prunes(e, driver.Succeeded) }},
		{name: "Prune/deleted", pins: pins, run: func(e *env) { prunes(e, driver.Deleted) }},
		{name: "Prune/failed", pins: pins, run: func(e *env) { prunes(e, driver.Failed) }},
		{name: "Prune/kept", pins: "A negative retention keeps, zero prunes at once, and jobs that are not final are never pruned.", run: pruneKept},
		{name: "Prune/count", pins: "A job counts once, whatever it owns.", run: pruneCount},
		{name: "PruneLimit", pins: "Prune removes at most Limit rows of a table, 1000 for 0 or less, and returns the number of jobs that are gone.", run: pruneLimit},
		{name: "PruneServers", pins: "Prune removes servers that were silent for longer than Servers, one hour when that is 0; each counts one.", timing: true, run: pruneServers},
		{name: "PruneServersLead", pins: "A clock that jumped forward forgets no live server: nobody is forgotten while a leader's lease has run out or is younger than a minute.", run: pruneServersLead},
		{name: "PruneStats", pins: "Folding statistics into totals, those of the running minute too, never changes a total.", run: pruneStats},
	}
}

// keepAll are retentions that keep every job.
var keepAll = driver.Retention{Succeeded: -1, Deleted: -1, Failed: -1}

// keepAllBut keeps every job but those in one state, which are kept for d.
func keepAllBut(state driver.State, d time.Duration) driver.Retention {
	r := keepAll
	switch state {
	case driver.Succeeded:
		r.Succeeded = d
	case driver.Deleted:
		r.Deleted = d
	case driver.Failed:
		r.Failed = d
	}
	return r
}

// gone expects a job not to exist any more.
func (e *env) gone(what string, id int64) {
	e.Helper()
	if _, err := e.s.Job(e.ctx, id); !errors.Is(err, driver.ErrNotFound) {
		e.Errorf("%s: Job(%d) has error %v, want one that wraps ErrNotFound", what, id, err)
	}
}

func prunes(e *env, state driver.State) {
	const keep = 60 * time.Millisecond
	byState := map[driver.State]int64{}
	all := []driver.State{driver.Scheduled, driver.Enqueued, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted}
	for _, s := range all {
		byState[s] = e.bring(s, inQueue(string(s)))
	}
	counts, totals := e.counts(), e.totals()
	if state == driver.Failed {
		counts.Failed = 0
	}
	p := driver.PruneParams{Retention: keepAllBut(state, keep), Limit: 100}
	if e.clock != nil {
		e.pass(keep - 5*time.Millisecond)
		eq(e, "rows pruned just before the retention has passed", e.prune(p), 0)
		e.inState(byState[state], state)
	}
	e.pass(keep + 20*time.Millisecond)
	eq(e, "rows pruned with a retention of an hour", e.prune(driver.PruneParams{Retention: keepAllBut(state, time.Hour)}), 0)
	eq(e, "rows pruned", e.prune(p), 1)
	eq(e, "rows pruned by a second call", e.prune(p), 0)
	for _, s := range all {
		if s != state {
			e.inState(byState[s], s)
			continue
		}
		id := byState[s]
		e.gone("the pruned job", id)
		eq(e, "jobs in the list of the pruned one's state", len(e.page(driver.JobQuery{State: s}).Records), 0)
		eq(e, "pruned jobs requeued", e.requeue(driver.Filter{IDs: []int64{id}}), 0)
		eq(e, "pruned jobs deleted", e.delete(driver.Filter{IDs: []int64{id}}), 0)
		e.stale("a pruned job", driver.Ref{ID: id, Claim: 1})
	}
	e.countsAre("afterwards: Succeeded and Deleted are totals", counts)
	eq(e, "statistics afterwards", e.totals(), totals)
}

func pruneKept(e *env) {
	all := []driver.State{driver.Scheduled, driver.Enqueued, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted}
	byState := map[driver.State]int64{}
	for _, s := range all {
		byState[s] = e.bring(s, inQueue(string(s)))
	}
	e.pass(10 * time.Millisecond)
	eq(e, "rows pruned with negative retentions", e.prune(driver.PruneParams{Retention: keepAll}), 0)
	if e.jump(10 * 24 * time.Hour) {
		eq(e, "rows pruned with negative retentions after ten days", e.prune(driver.PruneParams{Retention: keepAll}), 0)
	}
	for s, id := range byState {
		e.inState(id, s)
	}
	eq(e, "rows pruned with retentions of zero", e.prune(driver.PruneParams{}), 3)
	for s, id := range byState {
		if s.Final() {
			e.gone(fmt.Sprintf("the %s job with retentions of zero", s), id)
			continue
		}
		e.inState(id, s)
	}
	// At once means at once.
	j := e.running()
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	eq(e, "rows pruned right after the end", e.prune(driver.PruneParams{}), 1)
	e.gone("a job right after its end", j.ID)
	// A requeued job is live again and its old end does not count.
	j = e.running()
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	e.requeue(driver.Filter{IDs: []int64{j.ID}})
	eq(e, "rows pruned after the job was requeued", e.prune(driver.PruneParams{}), 0)
	e.inState(j.ID, driver.Enqueued)
}

func pruneCount(e *env) {
	for _, state := range []driver.State{driver.Succeeded, driver.Deleted, driver.Failed} {
		p := everything()
		p.Queue = queue1
		p.Deadline = e.now().Add(time.Hour)
		id := e.insert(p)[0]
		for range 5 {
			j := e.claimOne()
			e.must(e.s.SetMeta(e.ctx, j.Ref, map[string]string{"more": "x"}), "SetMeta")
			e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Reason: "retry", Error: "e", Trace: "t"})
		}
		e.apply(driver.Outcome{Ref: e.claimOne().Ref, State: state, Reason: "end", Output: []byte(`{"a":1}`)})
		e.inState(id, state)
		eq(e, fmt.Sprintf("rows pruned of one %s job with everything", state), e.prune(driver.PruneParams{}), 1)
		e.gone("the job", id)
		eq(e, "rows pruned by a second call", e.prune(driver.PruneParams{}), 0)
	}
}

// endAll inserts n jobs and ends them in a state.
func (e *env) endAll(n int, state driver.State) []int64 {
	e.Helper()
	jobs := e.claimAll(copies(n)...)
	outs := make([]driver.Outcome, n)
	for i, j := range jobs {
		outs[i] = driver.Outcome{Ref: j.Ref, State: state}
	}
	e.apply(outs...)
	return jobIDs(jobs)
}

// left counts those of the jobs that still exist.
func (e *env) left(all []int64) int {
	e.Helper()
	n := 0
	for _, id := range all {
		if _, err := e.s.Job(e.ctx, id); err == nil {
			n++
		} else if !errors.Is(err, driver.ErrNotFound) {
			e.Fatalf("Job(%d): %v", id, err)
		}
	}
	return n
}

func pruneLimit(e *env) {
	five := e.endAll(5, driver.Succeeded)
	for i, want := range []int{2, 2, 1, 0} {
		had := e.left(five)
		n := e.prune(driver.PruneParams{Limit: 2})
		eq(e, fmt.Sprintf("rows pruned by call %d with Limit 2", i), n, want)
		eq(e, fmt.Sprintf("jobs gone after call %d", i), had-e.left(five), want)
	}
	// Jobs of several states: what a call counts is what is gone, and the calls come to an end.
	mixed := append(e.endAll(3, driver.Failed), append(e.endAll(3, driver.Deleted), e.endAll(3, driver.Succeeded)...)...)
	for call := 0; e.left(mixed) > 0; call++ {
		had := e.left(mixed)
		n := e.prune(driver.PruneParams{Limit: 2})
		eq(e, "rows pruned against jobs gone", n, had-e.left(mixed))
		if n == 0 || call > 20 {
			e.Fatalf("Prune stopped with %d of %d jobs left", e.left(mixed), len(mixed))
		}
	}
	for _, limit := range []int{0, -1} {
		e.endAll(1001, driver.Succeeded)
		eq(e, fmt.Sprintf("rows pruned with Limit %d", limit), e.prune(driver.PruneParams{Limit: limit}), 1000)
		eq(e, "rows pruned by a second call", e.prune(driver.PruneParams{Limit: limit}), 1)
	}
}

func pruneServers(e *env) {
	const silence = 300 * time.Millisecond
	p := driver.PruneParams{Retention: keepAll, Servers: silence}
	list := func(what string, want ...string) {
		e.Helper()
		var got []string
		for _, s := range e.servers() {
			got = append(got, s.ID)
		}
		eq(e, what, got, want)
	}
	j := e.running()
	e.beat(driver.ServerInfo{ID: server1})
	e.pass(silence + 30*time.Millisecond)
	e.beat(driver.ServerInfo{ID: server2})
	eq(e, "rows pruned with the default of an hour", e.prune(driver.PruneParams{Retention: keepAll}), 0)
	list("servers with the default", server1, server2)
	eq(e, "rows pruned", e.prune(p), 1)
	list("servers afterwards", server2)
	eq(e, "rows pruned by a second call", e.prune(p), 0)
	e.inState(j.ID, driver.Processing)
	e.order("the jobs of the server that is gone", orphanIDs(e.orphans(time.Hour, 10)), []int64{j.ID})
	e.beat(driver.ServerInfo{ID: server1})
	list("servers after it came back", server1, server2)
	if e.jump(59 * time.Minute) {
		eq(e, "rows pruned after 59 minutes with the default", e.prune(driver.PruneParams{Retention: keepAll}), 0)
		e.beat(driver.ServerInfo{ID: server1})
		e.jump(2 * time.Minute)
		eq(e, "rows pruned after 61 minutes with the default", e.prune(driver.PruneParams{Retention: keepAll}), 1)
		list("servers at the end", server1)
	}
}

// pruneServersLead lets the clock jump over the silence that ends a server. All servers look silent then, and the jobs of one
// that is forgotten are orphans at once; but the jump has ended the leader's lease, too.
func pruneServersLead(e *env) {
	p := driver.PruneParams{Retention: keepAll, Servers: time.Millisecond}
	lead := func() {
		e.Helper()
		_, ok, err := e.s.Lead(e.ctx, "kiln.leader", server1, 15*time.Second)
		e.must(err, "Lead")
		if !ok {
			e.Fatal("the only candidate does not lead")
		}
	}
	e.beat(driver.ServerInfo{ID: server1})
	e.beat(driver.ServerInfo{ID: server2})
	lead()
	e.pass(10 * time.Millisecond)
	eq(e, "servers forgotten by a leader that has just begun", e.prune(p), 0)
	if !e.jump(2 * time.Hour) {
		return
	}
	eq(e, "servers forgotten right after the clock jumped", e.prune(p), 0)
	lead()
	eq(e, "servers forgotten by a leader that begins anew", e.prune(p), 0)
	for range 7 {
		e.jump(10 * time.Second)
		lead()
	}
	e.beat(driver.ServerInfo{ID: server1})
	eq(e, "servers forgotten a minute later", e.prune(p), 1)
	eq(e, "servers that are left", len(e.servers()), 1)
}

func pruneStats(e *env) {
	want := driver.Counts{}
	add := func() {
		e.Helper()
		e.endAll(3, driver.Succeeded)
		e.endAll(2, driver.Deleted)
		e.endAll(1, driver.Failed)
		e.bring(driver.Enqueued, inQueue("gone"))
		e.delete(driver.Filter{Queue: "gone", State: driver.Enqueued})
		want.Succeeded += 3
		want.Deleted += 3
		want.Failed++
		e.countsAre("after more jobs", want)
	}
	fold := func(what string, stats time.Duration) int {
		e.Helper()
		n := e.prune(driver.PruneParams{Retention: keepAll, Stats: stats})
		e.countsAre(what, want)
		return n
	}
	for range 3 {
		add()
		fold("after the running minute was folded", 1)
		fold("after it was folded again", 1)
		e.pass(2 * time.Millisecond)
	}
	total := e.totals()
	if total.Succeeded > want.Succeeded || total.Deleted > want.Deleted || total.Failed > want.Failed || total.Retried != 0 {
		e.Errorf("statistics add up to %+v after folds, more than there ever was: %+v", total, want)
	}
	if !e.jump(3 * time.Minute) {
		return
	}
	fold("after old minutes were folded", time.Minute)
	eq(e, "statistics by the minute after all were folded", e.totals(), driver.Point{})
	add()
	eq(e, "statistics of the minute after the fold", e.totals(), driver.Point{Succeeded: 3, Deleted: 3, Failed: 1})
	e.jump(13 * 24 * time.Hour)
	eq(e, "rows folded after 13 days with the default of 14", fold("after 13 days", 0), 0)
	e.jump(36 * time.Hour)
	if fold("after 14 days and a half", 0) == 0 {
		e.Errorf("nothing was folded after 14 days and a half: 0 means 14 days")
	}
	eq(e, "rows folded by a second call", fold("after a second call", 0), 0)
}
