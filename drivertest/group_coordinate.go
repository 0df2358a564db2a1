package drivertest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func coordinateCases() []testCase {
	return []testCase{
		{name: "Now", pins: "Now reads the store's clock, in UTC; over a sleep of 20 ms it goes on by 15 ms to 1 s.", timing: true, run: coordinateNow},
		{name: "Lead", pins: "A lease is acquired, renewed by its holder, refused to others while it lives and taken over after it expired; held is unbroken ownership.", timing: true, run: coordinateLead},
		{name: "LeadSooner", pins: "A renewal expires ttl from now, also when that is sooner than before.", run: coordinateLeadSooner},
		{name: "LeadExpired", pins: "A holder that renews its own expired lease has acquired it anew: held is 0.", run: coordinateLeadExpired},
		{name: "LeadNames", pins: "Leases of other names are independent; names and holders compare byte for byte.", run: coordinateLeadNames},
		{name: "LeadConcurrent", pins: "Of many that ask for a free lease at once exactly one gets it.", run: coordinateLeadConcurrent},
		{name: "Resign", pins: "Resign releases the lease of its holder and does nothing otherwise; an unknown name is no error.", run: coordinateResign},
		{name: "Promote", pins: "Promote moves due jobs to enqueued; Count is their number, Queues those that got jobs, each once and sorted, Next the time to the earliest scheduled job.", timing: true, run: coordinatePromote},
		{name: "PromoteOrder", pins: "Promote moves the earliest jobs first.", run: coordinatePromoteOrder},
		{name: "PromoteLimit", pins: "Promote moves at most limit jobs (0 or less counts as 1); Next is above 0 and at most 10 ms while due ones remain.", run: coordinatePromoteLimit},
		{name: "PromoteConcurrent", pins: "8 callers of 25 promote 300 due jobs, each once, within 3s.", run: coordinatePromoteConcurrent},
		{name: "PromoteDeadline", pins: "Promote ends waiting jobs whose deadline has passed: deleted, reason deadline, not in Count.", run: coordinateDeadline},
		{name: "PromoteDeadlineStates", pins: "A deadline ends only jobs that wait: a processing job goes on, an ended one stays as it is, one that comes back is ended then.", run: coordinateDeadlineStates},
		{name: "PromoteDeadlineLimit", pins: "Promote ends at most limit jobs for their deadline; Next is above 0 and at most 10 ms while more remain.", run: coordinateDeadlineLimit},
		{name: "PromoteDeadlineNext", pins: "Next includes the earliest deadline of a waiting job, and no deadline of another.", timing: true, run: coordinateDeadlineNext},
	}
}

func coordinateNow(e *env) {
	before := e.now()
	e.pass(20 * time.Millisecond)
	after := e.now()
	if d := after.Sub(before); d < 15*time.Millisecond || d > time.Second*slowdown {
		e.Errorf("Now went on by %s while 20ms passed", d)
	}
	e.utc("Now", before)
	last := after
	for range 100 {
		now := e.now()
		if now.Before(last) {
			e.Errorf("Now went back from %s to %s", clockText(last), clockText(now))
		}
		last = now
	}
}

// lead asks for a lease and expects to get it or not.
func (e *env) lead(name, holder string, ttl time.Duration, want bool) time.Duration {
	e.Helper()
	held, ok, err := e.s.Lead(e.ctx, name, holder, ttl)
	e.must(err, "Lead(%q, %q, %s)", name, holder, ttl)
	if ok != want {
		e.Fatalf("Lead(%q, %q, %s): ok is %v, want %v", name, holder, ttl, ok, want)
	}
	return held
}

func coordinateLead(e *env) {
	const name = "kiln.leader"
	t0 := e.now()
	eq(e, "held on acquisition", e.lead(name, "a", time.Minute, true), 0)
	t1 := e.now()
	for range 3 {
		e.lead(name, "b", time.Minute, false)
		e.pass(15 * time.Millisecond)
		t2 := e.now()
		held := e.lead(name, "a", time.Minute, true)
		t3 := e.now()
		if held < t2.Sub(t1)-slack || held > t3.Sub(t0)+slack {
			e.Errorf("held is %s after an ownership of %s to %s", held, t2.Sub(t1), t3.Sub(t0))
		}
	}
	e.lead(name, "b", time.Hour, false)
	e.lead(name, "a", 20*time.Millisecond, true)
	e.pass(40 * time.Millisecond)
	eq(e, "held on takeover", e.lead(name, "b", time.Minute, true), 0)
	e.lead(name, "a", time.Minute, false)
	e.pass(15 * time.Millisecond)
	if held := e.lead(name, "b", time.Minute, true); held < 14*time.Millisecond || held > 10*time.Second*slowdown {
		e.Errorf("held is %s, 15ms after a takeover: it counts from the takeover", held)
	}
}

func coordinateLeadSooner(e *env) {
	e.lead("l", "a", time.Hour, true)
	e.lead("l", "a", 20*time.Millisecond, true)
	e.pass(40 * time.Millisecond)
	e.lead("l", "b", time.Hour, true)
	e.lead("l", "a", time.Hour, false)
	// A renewal also makes it longer.
	e.lead("m", "a", 10*time.Second, true)
	e.lead("m", "a", time.Hour, true)
	if e.jump(30 * time.Minute) {
		e.lead("m", "b", time.Hour, false)
		e.jump(31 * time.Minute)
		e.lead("m", "b", time.Hour, true)
	}
}

func coordinateLeadExpired(e *env) {
	e.lead("l", "a", 20*time.Millisecond, true)
	e.pass(40 * time.Millisecond)
	eq(e, "held of an own lease that had expired", e.lead("l", "a", time.Hour, true), 0)
	e.pass(10 * time.Millisecond)
	if held := e.lead("l", "a", time.Hour, true); held < 9*time.Millisecond {
		e.Errorf("held is %s, 10ms after the lease was acquired anew", held)
	}
	e.lead("l", "b", time.Hour, false)
}

func coordinateLeadNames(e *env) {
	for i, name := range lookalikes {
		eq(e, fmt.Sprintf("held of the free lease %q", name), e.lead(name, fmt.Sprintf("holder %d", i), time.Hour, true), 0)
	}
	for i, name := range lookalikes {
		e.lead(name, "somebody else", time.Hour, false)
		e.lead(name, fmt.Sprintf("holder %d", i), time.Hour, true)
	}
	e.lead("holders", lookalikes[0], time.Hour, true)
	for _, holder := range lookalikes[1:] {
		e.lead("holders", holder, time.Hour, false)
		e.must(e.s.Resign(e.ctx, "holders", holder), "Resign by %q", holder)
	}
	e.lead("holders", lookalikes[0], time.Hour, true)
}

func coordinateLeadConcurrent(e *env) {
	for round := range 10 {
		name := fmt.Sprintf("lease %d", round)
		var winners atomic.Int32
		e.together(8, func(i int) error {
			_, ok, err := e.s.Lead(e.ctx, name, fmt.Sprintf("holder %d", i), time.Hour)
			if ok {
				winners.Add(1)
			}
			return err
		})
		eq(e, "holders of a lease that 8 asked for", winners.Load(), 1)
	}
}

func coordinateResign(e *env) {
	resign := func(name, holder string) {
		e.Helper()
		e.must(e.s.Resign(e.ctx, name, holder), "Resign(%q, %q)", name, holder)
	}
	resign("unknown", "a")
	e.lead("l", "a", time.Hour, true)
	e.lead("other", "a", time.Hour, true)
	resign("l", "b")
	e.lead("l", "b", time.Hour, false)
	resign("l", "a")
	e.lead("other", "b", time.Hour, false)
	eq(e, "held of a lease that was resigned", e.lead("l", "b", time.Hour, true), 0)
	resign("l", "a")
	e.lead("l", "a", time.Hour, false)
	resign("l", "b")
	resign("l", "b")
	e.pass(10 * time.Millisecond)
	eq(e, "held by the same holder after it had resigned", e.lead("l", "b", time.Hour, true), 0)
}

// nextIs expects Next to be the time until due, for a Promote between two readings of Now.
func (e *env) nextIs(what string, next time.Duration, due, before, after time.Time) {
	e.Helper()
	if next < due.Sub(after)-slack || next > due.Sub(before)+slack {
		e.Errorf("%s: Next is %s, want %s to %s", what, next, due.Sub(after), due.Sub(before))
	}
}

func coordinatePromote(e *env) {
	if p := e.promote(10); p.Count != 0 || len(p.Queues) != 0 || p.Next != 0 {
		e.Errorf("Promote of an empty store: %+v, want nothing", p)
	}
	e.insertOne()
	if p := e.promote(10); p.Count != 0 || len(p.Queues) != 0 || p.Next != 0 {
		e.Errorf("Promote beside an enqueued job: %+v, want nothing", p)
	}
	const soon = 400 * time.Millisecond
	var due []int64
	for _, q := range []string{"c", "a", "b", "a", "c"} {
		due = append(due, e.insertOne(inQueue(q), withDelay(soon), withPriority(int16(len(due)))))
	}
	later := e.insertOne(inQueue("later"), withDelay(time.Hour))
	first := e.record(due[0]).RunAt

	before := e.now()
	p := e.promote(10)
	after := e.now()
	if after.Before(first) {
		eq(e, "Count before anything is due", p.Count, 0)
		eq(e, "number of Queues before anything is due", len(p.Queues), 0)
		e.nextIs("before anything is due", p.Next, first, before, after)
		e.inState(due[0], driver.Scheduled)
	}
	e.pass(soon + 50*time.Millisecond)
	before = e.now()
	p = e.promote(10)
	after = e.now()
	eq(e, "Count", p.Count, len(due))
	eq(e, "Queues", p.Queues, []string{"a", "b", "c"})
	e.nextIs("when one remains", p.Next, e.record(later).RunAt, before, after)
	for _, id := range due {
		e.inState(id, driver.Enqueued)
	}
	e.inState(later, driver.Scheduled)
	e.countsAre("afterwards", driver.Counts{Enqueued: 6, Scheduled: 1})
	p = e.promote(10)
	eq(e, "Count of a second call", p.Count, 0)
	eq(e, "number of Queues of a second call", len(p.Queues), 0)
	e.order("claims of what was promoted, by priority", jobIDs(e.claim(10, "a", "b", "c")), []int64{due[3], due[1], due[2], due[4], due[0]})
	e.delete(driver.Filter{IDs: []int64{later}})
	eq(e, "Next after the last scheduled job was deleted", e.promote(10).Next, 0)
}

func coordinatePromoteOrder(e *env) {
	now := e.now()
	var byTime [6]int64
	for _, i := range []int{3, 0, 5, 2, 4, 1} {
		byTime[i] = e.insertOne(withRunAt(now.Add(time.Duration(20+i)*time.Millisecond)), withPriority(int16(i)))
	}
	// On a slow machine some were due, and so enqueued, at once.
	e.pass(60 * time.Millisecond)
	for _, id := range byTime {
		if e.record(id).State != driver.Scheduled {
			continue
		}
		eq(e, "Count", e.promote(1).Count, 1)
		e.inState(id, driver.Enqueued)
	}
	eq(e, "Count at the end", e.promote(1).Count, 0)
}

func coordinatePromoteLimit(e *env) {
	e.insert(copies(9, withDelay(20*time.Millisecond))...)
	e.pass(40 * time.Millisecond)
	left := 9
	for _, limit := range []int{2, 2, 0, -5, 1, 2} {
		want := min(max(limit, 1), left)
		p := e.promote(limit)
		left -= want
		eq(e, fmt.Sprintf("Count of Promote(%d)", limit), p.Count, want)
		eq(e, "Queues", p.Queues, []string{queue1})
		if left > 0 && (p.Next <= 0 || p.Next > 10*time.Millisecond) {
			e.Errorf("Next is %s while %d due jobs remain, want it above 0 and at most 10ms", p.Next, left)
		}
		if left == 0 && p.Next != 0 {
			e.Errorf("Next is %s though no scheduled job remains, want 0", p.Next)
		}
	}
	eq(e, "due jobs left", left, 0)
	e.countsAre("at the end", driver.Counts{Enqueued: 9})
}

func coordinatePromoteConcurrent(e *env) {
	const total, callers, size = 300, 8, 25
	e.insert(copies(total, withDelay(20*time.Millisecond))...)
	e.pass(50 * time.Millisecond)
	started := time.Now()
	deadline := started.Add(3 * time.Second * slowdown)
	var promoted atomic.Int64
	e.together(callers, func(int) error {
		for promoted.Load() < total && time.Now().Before(deadline) {
			p, err := e.s.Promote(e.ctx, size)
			if err != nil {
				return err
			}
			if p.Count < 0 || p.Count > size {
				return fmt.Errorf("Promote(%d) moved %d jobs", size, p.Count)
			}
			promoted.Add(int64(p.Count))
		}
		return nil
	})
	e.budget(started, 3*time.Second)
	eq(e, "sum of all Counts", promoted.Load(), total)
	e.countsAre("at the end", driver.Counts{Enqueued: total})
	eq(e, "jobs that can be claimed", len(e.claim(total+1)), total)
}
