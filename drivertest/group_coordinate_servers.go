package drivertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func serverCases() []testCase {
	return []testCase{
		{name: "Heartbeat", pins: "A heartbeat writes the server's row with all its fields and HeartbeatAt = now, and updates them with each beat.", run: coordinateHeartbeat},
		{name: "HeartbeatLeases", pins: "A heartbeat returns the processing jobs of this server only, by id, with the age of their claim and whether their deletion was asked for, and all paused queues.", timing: true, run: coordinateLeases},
		{name: "HeartbeatStarted", pins: "StartedAt is kept as the first heartbeat gave it, or stamped then, and never changes.", run: coordinateStarted},
		{name: "HeartbeatConcurrent", pins: "First heartbeats of a server, pauses of a queue and leases that come at once are written once and are no errors.", run: coordinateHeartbeatConcurrent},
		{name: "Unregister", pins: "Unregister removes the server's row, resigns every lease that it holds, and makes its processing jobs orphans at once.", run: coordinateUnregister},
		{name: "Orphans", pins: "Orphans lists processing jobs, by id, whose server has no row or has been silent for deadAfter, and changes nothing.", timing: true, run: coordinateOrphans},
		{name: "OrphansLimit", pins: "Orphans lists at most limit jobs, the lowest ids first; a limit of 0 or less counts as 1.", run: coordinateOrphansLimit},
		{name: "OrphanReason", pins: "LastReason is the reason of the latest history entry, empty without one.", run: coordinateOrphanReason},
		{name: "Sweep/consistent", pins: "Sweep returns 0 on a consistent store and changes nothing.", run: coordinateSweep},
	}
}

func coordinateHeartbeat(e *env) {
	full := driver.ServerInfo{
		ID: "b", Host: "host-1.example", PID: 4711, Version: "kiln/v1.0.0", Queues: []string{"mail", "default", "mail "}, Kinds: []string{"z", "a"},
		Workers: 25, Running: 3, StartedAt: e.now().Add(-time.Hour).Truncate(time.Microsecond),
	}
	check := func(what string, want driver.ServerInfo, before, after time.Time) {
		e.Helper()
		list := e.servers()
		i := slices.IndexFunc(list, func(s driver.ServerInfo) bool { return s.ID == want.ID })
		if i < 0 {
			e.Fatalf("%s: Servers lists %+v, want server %q too", what, list, want.ID)
		}
		got := list[i]
		e.between(what+": HeartbeatAt", got.HeartbeatAt, before, after)
		e.given(what+": StartedAt", got.StartedAt, want.StartedAt)
		if !slices.Equal(got.Queues, want.Queues) || !slices.Equal(got.Kinds, want.Kinds) {
			e.Errorf("%s: Queues %q and Kinds %q, want %q and %q", what, got.Queues, got.Kinds, want.Queues, want.Kinds)
		}
		got.HeartbeatAt, want.HeartbeatAt, got.StartedAt, want.StartedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		got.Queues, want.Queues, got.Kinds, want.Kinds = nil, nil, nil, nil
		eq(e, what, got, want)
	}
	beat := func(what string, info driver.ServerInfo, want driver.ServerInfo) {
		e.Helper()
		before := e.now()
		e.beat(info)
		check(what, want, before, e.now())
	}
	eq(e, "servers before any heartbeat", len(e.servers()), 0)
	beat("first heartbeat", full, full)
	e.pass(5 * time.Millisecond)
	again := full
	again.HeartbeatAt = e.now().Add(-time.Hour)
	beat("second heartbeat", again, full)
	other := driver.ServerInfo{
		ID: "b", Host: "", PID: 1, Version: "kiln/devel", Queues: nil, Kinds: []string{"k"}, Workers: 1, Running: 1, StartedAt: full.StartedAt,
	}
	beat("heartbeat with everything changed", other, other)
	beat("heartbeat of a second server", driver.ServerInfo{ID: "a", StartedAt: full.StartedAt}, driver.ServerInfo{ID: "a", StartedAt: full.StartedAt})
	odd := driver.ServerInfo{ID: "c", Host: "hôst '\"\\", Queues: lookalikes, Kinds: []string{"a,b", "", "😀"}, StartedAt: full.StartedAt}
	beat("heartbeat with odd names", odd, odd)
	var names []string
	for _, s := range e.servers() {
		names = append(names, s.ID)
	}
	eq(e, "servers by id", names, []string{"a", "b", "c"})
}

func coordinateLeases(e *env) {
	take := func(server string, n int) []driver.Job {
		e.Helper()
		jobs := e.take(driver.ClaimQuery{Queues: []string{queue1}, Limit: n, Server: server})
		if len(jobs) != n {
			e.Fatalf("Claim of %d jobs for %q returned %d", n, server, len(jobs))
		}
		return jobs
	}
	for i := range 6 {
		e.insertOne(withPriority(int16(i)))
	}
	eq(e, "leases of a server without jobs", len(e.beat(driver.ServerInfo{ID: server1}).Leases), 0)
	t0 := e.now()
	mine := take(server1, 3)
	t1 := e.now()
	other := take(server2, 2)
	e.pass(30 * time.Millisecond)
	e.delete(driver.Filter{IDs: []int64{mine[1].ID, other[0].ID}})
	e.pause("q2", true)
	e.pause("q1", true)
	t2 := e.now()
	d := e.beat(driver.ServerInfo{ID: server1, Queues: []string{"q1"}})
	t3 := e.now()
	eq(e, "Paused: every paused queue, sorted", d.Paused, []string{"q1", "q2"})
	if len(d.Leases) != 3 {
		e.Fatalf("leases are %+v, want those of jobs %v", d.Leases, jobIDs(mine))
	}
	byID := slices.SortedFunc(slices.Values(mine), func(a, b driver.Job) int { return int(a.ID - b.ID) })
	for i, l := range d.Leases {
		eq(e, fmt.Sprintf("lease %d, by id", i), l.Ref, byID[i].Ref)
		eq(e, fmt.Sprintf("Cancel of lease %d", i), l.Cancel, l.ID == mine[1].ID)
		if l.Age < t2.Sub(t1)-slack || l.Age > t3.Sub(t0)+slack {
			e.Errorf("Age of lease %d is %s, want %s to %s, the time since the claim", i, l.Age, t2.Sub(t1), t3.Sub(t0))
		}
	}
	e.apply(driver.Outcome{Ref: mine[0].Ref, State: driver.Succeeded}, driver.Outcome{Ref: mine[2].Ref, State: driver.Enqueued})
	back := e.take(driver.ClaimQuery{Queues: []string{queue1}, Limit: 1, Server: server1})
	eq(e, "the job that came back", back[0].ID, mine[2].ID)
	d = e.beat(driver.ServerInfo{ID: server1})
	want := []driver.Ref{back[0].Ref, mine[1].Ref}
	slices.SortFunc(want, func(a, b driver.Ref) int { return int(a.ID - b.ID) })
	var got []driver.Ref
	for _, l := range d.Leases {
		got = append(got, l.Ref)
		if l.ID == back[0].ID && l.Age > e.now().Sub(t3)+slack {
			e.Errorf("Age of a job that was claimed again is %s, want the time since its latest claim", l.Age)
		}
	}
	eq(e, "leases after an end and a second claim", got, want)
	for _, name := range []string{"Server-1", "server-1 ", "sérver-1"} {
		eq(e, fmt.Sprintf("leases of the server %q", name), len(e.beat(driver.ServerInfo{ID: name}).Leases), 0)
	}
}

func coordinateStarted(e *env) {
	started := func(id string) time.Time {
		e.Helper()
		for _, s := range e.servers() {
			if s.ID == id {
				return s.StartedAt
			}
		}
		e.Fatalf("Servers does not list %q", id)
		return time.Time{}
	}
	given := e.now().Add(-90 * time.Minute).In(time.FixedZone("far", 9*3600))
	e.beat(driver.ServerInfo{ID: "given", StartedAt: given})
	e.given("StartedAt of the first heartbeat", started("given"), given)
	e.beat(driver.ServerInfo{ID: "given", StartedAt: given.Add(time.Hour)})
	e.given("StartedAt after another one was given", started("given"), given)
	e.beat(driver.ServerInfo{ID: "given"})
	e.given("StartedAt after none was given", started("given"), given)

	before := e.now()
	e.beat(driver.ServerInfo{ID: "stamped"})
	stamped := started("stamped")
	e.between("StartedAt when none was given", stamped, before, e.now())
	e.pass(10 * time.Millisecond)
	e.beat(driver.ServerInfo{ID: "stamped"})
	eq(e, "StartedAt after a second heartbeat", started("stamped"), stamped)
	e.beat(driver.ServerInfo{ID: "stamped", StartedAt: given})
	eq(e, "StartedAt given after it was stamped", started("stamped"), stamped)

	e.must(e.s.Unregister(e.ctx, "given"), "Unregister")
	e.beat(driver.ServerInfo{ID: "given", StartedAt: given.Add(time.Minute)})
	e.given("StartedAt of the first heartbeat after the row was removed", started("given"), given.Add(time.Minute))
}

func coordinateHeartbeatConcurrent(e *env) {
	for round := range 5 {
		id, queue := fmt.Sprintf("server %d", round), fmt.Sprintf("queue %d", round)
		e.together(9, func(i int) error {
			switch i % 3 {
			case 0:
				return e.s.PauseQueue(e.ctx, queue, true)
			case 1:
				_, _, err := e.s.Lead(e.ctx, queue, id, time.Hour)
				return err
			}
			_, err := e.s.Heartbeat(e.ctx, driver.ServerInfo{ID: id, Queues: []string{"q"}})
			return err
		})
		eq(e, "servers listed", len(e.servers()), round+1)
		eq(e, "paused queues", len(e.beat(driver.ServerInfo{ID: id}).Paused), round+1)
		e.lead(queue, "other", time.Hour, false)
	}
}

func (e *env) orphans(deadAfter time.Duration, limit int) []driver.Orphan {
	e.Helper()
	list, err := e.s.Orphans(e.ctx, deadAfter, limit)
	e.must(err, "Orphans(%s, %d)", deadAfter, limit)
	return list
}

func orphanIDs(list []driver.Orphan) []int64 {
	out := make([]int64, len(list))
	for i, o := range list {
		out[i] = o.ID
	}
	return out
}

func coordinateUnregister(e *env) {
	unregister := func(id string) {
		e.Helper()
		e.must(e.s.Unregister(e.ctx, id), "Unregister(%q)", id)
	}
	unregister("unknown")
	j := e.running()
	e.beat(driver.ServerInfo{ID: server1})
	e.beat(driver.ServerInfo{ID: server2})
	e.lead("l1", server1, time.Hour, true)
	e.lead("l2", server1, time.Hour, true)
	e.lead("l3", server2, time.Hour, true)
	eq(e, "orphans of a server that beats", len(e.orphans(time.Hour, 10)), 0)
	unregister(server1)
	list := e.servers()
	if len(list) != 1 || list[0].ID != server2 {
		e.Errorf("Servers lists %+v, want only %q", list, server2)
	}
	e.order("orphans at once", orphanIDs(e.orphans(time.Hour, 10)), []int64{j.ID})
	eq(e, "held of the first lease of the server that left", e.lead("l1", "other", time.Hour, true), 0)
	eq(e, "held of the second", e.lead("l2", "other", time.Hour, true), 0)
	e.lead("l3", "other", time.Hour, false)
	unregister(server1)
	e.results("an outcome of the job that it left", e.finish(driver.Outcome{Ref: j.Ref, State: driver.Succeeded}), driver.Applied)
}

func coordinateOrphans(e *env) {
	const deadAfter = 300 * time.Millisecond
	take := func(server string, mods ...func(*driver.InsertParams)) driver.Job {
		e.Helper()
		id := e.insertOne(mods...)
		jobs := e.take(driver.ClaimQuery{Queues: []string{job(mods...).Queue}, Limit: 1, Server: server})
		if len(jobs) != 1 || jobs[0].ID != id {
			e.Fatalf("Claim returned jobs %v, want %d", jobIDs(jobs), id)
		}
		return jobs[0]
	}
	silent := take("silent", inQueue("q1"), ofKind("k1"), withAttempts(7))
	missing := take("missing", inQueue("q2"))
	flagged := take("silent")
	alive := take("alive")
	ended := take("missing")
	e.insertOne(inQueue("nobody"))
	e.bring(driver.Scheduled)
	e.apply(driver.Outcome{Ref: ended.Ref, State: driver.Succeeded})
	e.delete(driver.Filter{IDs: []int64{flagged.ID}})
	e.beat(driver.ServerInfo{ID: "silent"})
	e.order("jobs of a server that never sent a heartbeat", orphanIDs(e.orphans(time.Hour, 10)), []int64{missing.ID, alive.ID})
	e.pass(deadAfter + 30*time.Millisecond)
	e.beat(driver.ServerInfo{ID: "alive"})
	was := e.record(silent.ID)
	counts := e.counts()

	list := e.orphans(deadAfter, 10)
	want := []driver.Orphan{
		{Ref: silent.Ref, Kind: "k1", Queue: "q1", Attempt: 1, MaxAttempts: 7, Server: "silent"},
		{Ref: missing.Ref, Kind: "work", Queue: "q2", Attempt: 1, MaxAttempts: 5, Server: "missing"},
		{Ref: flagged.Ref, Kind: "work", Queue: queue1, Attempt: 1, MaxAttempts: 5, Server: "silent", Cancel: true},
	}
	eq(e, "orphans", list, want)
	e.order("orphans when the silence is allowed", orphanIDs(e.orphans(time.Hour, 10)), []int64{missing.ID})
	e.unchanged("an orphan after it was listed", was)
	e.countsAre("after they were listed", counts)
	eq(e, "orphans, listed again", e.orphans(deadAfter, 10), want)
	// The server comes back.
	e.beat(driver.ServerInfo{ID: "silent"})
	e.order("orphans after the silent server came back", orphanIDs(e.orphans(deadAfter, 10)), []int64{missing.ID})
	e.results("the end of an orphan, by its rescuer", e.finish(driver.Outcome{Ref: missing.Ref, State: driver.Scheduled, Reason: "orphaned"}), driver.Applied)
	eq(e, "orphans at the end", len(e.orphans(deadAfter, 10)), 0)
}

func coordinateOrphansLimit(e *env) {
	for i := range 6 {
		e.insertOne(withPriority(int16(i % 3)))
	}
	jobs := e.claimExactly(3)
	jobs = append(jobs, e.take(driver.ClaimQuery{Queues: []string{queue1}, Limit: 3, Server: "missing"})...)
	e.beat(driver.ServerInfo{ID: server1})
	e.pass(40 * time.Millisecond)
	want := jobIDs(jobs)
	slices.Sort(want)
	for _, limit := range []int{-1, 0, 1, 2, 5, 6, 7} {
		n := min(max(limit, 1), 6)
		e.order(fmt.Sprintf("Orphans with limit %d", limit), orphanIDs(e.orphans(20*time.Millisecond, limit)), want[:n])
	}
}

func coordinateOrphanReason(e *env) {
	j := e.running()
	last := ""
	for n, reason := range []string{"", "retry", "orphaned", "", "lost"} {
		list := e.orphans(time.Hour, 10)
		if len(list) != 1 {
			e.Fatalf("orphans are %+v, want one", list)
		}
		eq(e, fmt.Sprintf("LastReason before outcome %d", n), list[0].LastReason, last)
		eq(e, "Attempt", list[0].Attempt, n+1)
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Enqueued, Reason: reason})
		if reason != "" {
			last = reason
		}
		j = e.claimOne()
	}
	eq(e, "LastReason at the end", e.orphans(time.Hour, 10)[0].LastReason, "lost")
}

func coordinateSweep(e *env) {
	sweep := func(what string) {
		e.Helper()
		for _, limit := range []int{1000, 1, 0} {
			n, err := e.s.Sweep(e.ctx, limit)
			e.must(err, "Sweep(%d)", limit)
			eq(e, fmt.Sprintf("rows changed by Sweep(%d) %s", limit, what), n, 0)
		}
	}
	sweep("on an empty store")
	for _, state := range []driver.State{driver.Scheduled, driver.Enqueued, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted} {
		e.bring(state, inQueue(string(state)))
		sweep(fmt.Sprintf("after a job became %s", state))
	}
	counts := e.counts()
	e.insert(copies(3, withDelay(10*time.Millisecond), inQueue("timed"))...)
	e.pass(30 * time.Millisecond)
	sweep("while scheduled jobs are due")
	e.promote(10)
	sweep("after a promotion")
	e.apply(driver.Outcome{Ref: e.claimOne("timed").Ref, State: driver.Scheduled, Delay: time.Hour})
	sweep("after a retry")
	e.requeue(driver.Filter{State: driver.Failed})
	e.delete(driver.Filter{State: driver.Scheduled, Queue: "timed"})
	sweep("after a requeue and a deletion")
	counts.Failed--
	counts.Enqueued += 3
	counts.Deleted++
	e.countsAre("at the end", counts)
}
