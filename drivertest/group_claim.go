package drivertest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func claimCases() []testCase {
	return []testCase{
		{name: "Order", pins: "Inside a queue jobs are claimed by priority, highest first, then by id, one by one and in a batch.", run: claimOrder},
		{name: "OrderBack", pins: "A job that comes back (retry, promotion, requeue, resumed queue) stands where its priority and id put it, ahead of younger ones.", run: claimOrderBack},
		{name: "Limit", pins: "A claim never returns more than asked, never a job twice, and ends empty; a Limit of 0 or less takes none.", run: claimLimit},
		{name: "Full", pins: "In a quiet store one call takes everything that is ready up to Limit.", run: claimFull},
		{name: "FullBack", pins: "In a quiet store one call takes everything up to Limit, jobs that came back a moment ago included.", run: claimFullBack},
		{name: "Queues", pins: "Queues are served strictly in the order of the query; the remaining capacity spills over to the next.", run: claimQueues},
		{name: "Kinds", pins: "Only listed kinds are claimed; an empty list takes any.", run: claimKinds},
		{name: "KindsAhead", pins: "Jobs of other kinds that stand ahead never hide a job of a listed kind.", run: claimKindsAhead},
		{name: "Bytes", pins: "Queue names and kinds compare byte for byte: case, accents and trailing spaces distinguish.", run: claimBytes},
		{name: "Stamps", pins: "A claim raises Attempt and Claim by one (both are 1 at first), stamps AttemptedAt and sets the server.", run: claimStamps},
		{name: "Paused", pins: "A paused queue yields nothing and is listed by the heartbeat; resuming restores it.", run: claimPaused},
		{name: "OnlyEnqueued/states", pins: "Jobs in other states than enqueued are never claimed.", run: claimOnlyEnqueued},
		{name: "Concurrent", pins: "16 claimers of 10 take 2000 jobs, each exactly once, within 5s; Counts read meanwhile always see every job in one state.", run: claimConcurrent},
		{name: "ConcurrentPairs", pins: "Two claimers that race for the last jobs never get the same one.", run: claimConcurrentPairs},
	}
}

// mixed inserts jobs of many priorities in an order of its own and returns their ids in the order of claims.
func (e *env) mixed(mods ...func(*driver.InsertParams)) []int64 {
	e.Helper()
	priorities := []int16{0, 5, -3, 5, 0, 32767, -32768, 1, 0, -3, 5, 2}
	jobs := make([]driver.InsertParams, len(priorities))
	for i, p := range priorities {
		jobs[i] = job(append(slices.Clone(mods), withPriority(p))...)
	}
	// Two calls, so that the order is not that of one statement.
	inserted := append(e.insert(jobs[:7]...), e.insert(jobs[7:]...)...)
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(priorities[b]) - int(priorities[a]) })
	out := make([]int64, len(order))
	for i, k := range order {
		out[i] = inserted[k]
	}
	return out
}

func claimOrder(e *env) {
	want := e.mixed(inQueue("one by one"))
	var got []int64
	for range want {
		got = append(got, e.claimOne("one by one").ID)
	}
	e.order("claimed one by one", got, want)

	want = e.mixed(inQueue("batch"))
	e.order("claimed in one batch", jobIDs(e.claim(100, "batch")), want)

	want = e.mixed(inQueue("parts"))
	got = nil
	for range 3 {
		got = append(got, jobIDs(e.claim(4, "parts"))...)
	}
	e.order("claimed in batches of four", got, want)

	// A more urgent job that comes later goes first, a less urgent one last.
	first := e.insert(copies(3, inQueue("late"))...)
	e.order("the oldest first", jobIDs(e.claim(1, "late")), first[:1])
	urgent := e.insertOne(inQueue("late"), withPriority(9))
	low := e.insertOne(inQueue("late"), withPriority(-9))
	e.order("a more urgent job that came later", jobIDs(e.claim(1, "late")), []int64{urgent})
	younger := e.insertOne(inQueue("late"))
	e.order("the rest", jobIDs(e.claim(10, "late")), []int64{first[1], first[2], younger, low})
}

func claimOrderBack(e *env) {
	inserted := e.insert(copies(6)...)
	jobs := e.claimExactly(3)
	e.apply(driver.Outcome{Ref: jobs[1].Ref, State: driver.Scheduled, Reason: "retry"})
	e.order("after a retry without delay", jobIDs(e.claim(2)), []int64{inserted[1], inserted[3]})
	e.apply(driver.Outcome{Ref: jobs[0].Ref, State: driver.Enqueued, Refund: true})
	e.order("after a shutdown gave a job back", jobIDs(e.claim(1)), inserted[:1])
	e.apply(driver.Outcome{Ref: jobs[2].Ref, State: driver.Failed})
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: inserted[2:3]}), 1)
	e.order("after a requeue", jobIDs(e.claim(1)), inserted[2:3])

	early := e.insertOne(inQueue("timed"), withDelay(30*time.Millisecond))
	late := e.insert(copies(3, inQueue("timed"))...)
	e.order("before the promotion", jobIDs(e.claim(1, "timed")), late[:1])
	e.pass(50 * time.Millisecond)
	eq(e, "jobs promoted", e.promote(10).Count, 1)
	e.order("after a promotion", jobIDs(e.claim(2, "timed")), []int64{early, late[1]})

	held := e.insertOne(inQueue("held"))
	e.pause("held", true)
	other := e.insertOne(inQueue("open"))
	e.order("beside a paused queue", jobIDs(e.claim(5, "held", "open")), []int64{other})
	younger := e.insertOne(inQueue("held"))
	e.pause("held", false)
	e.order("after the queue was resumed", jobIDs(e.claim(5, "held", "open")), []int64{held, younger})
}

func claimLimit(e *env) {
	e.insert(copies(25)...)
	for _, n := range []int{0, -1, -100} {
		eq(e, fmt.Sprintf("jobs of a claim with Limit %d", n), len(e.claim(n)), 0)
	}
	seen := map[int64]bool{}
	for _, want := range []int{10, 10, 5, 0, 0} {
		jobs := e.claim(10)
		eq(e, "jobs of a claim with Limit 10", len(jobs), want)
		for _, j := range jobs {
			if seen[j.ID] {
				e.Errorf("job %d was claimed twice", j.ID)
			}
			seen[j.ID] = true
		}
	}
	e.countsAre("at the end", driver.Counts{Processing: 25})
	// Naming a queue or a kind twice changes nothing.
	inserted := e.insert(copies(3)...)
	jobs := e.take(driver.ClaimQuery{Queues: []string{queue1, queue1}, Kinds: []string{"work", "work"}, Limit: 10, Server: server1})
	e.order("claim that names its queue and kind twice", jobIDs(jobs), inserted)
}

func claimFull(e *env) {
	const n = 1200
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = job(inQueue(fmt.Sprintf("q%d", i%4)), ofKind(fmt.Sprintf("k%d", i%3)), withPriority(int16(i%5)))
	}
	e.insert(jobs...)
	queues := []string{"q2", "q0", "q3", "q1"}
	eq(e, "jobs of a claim with Limit 700", len(e.claim(700, queues...)), 700)
	rest := e.take(driver.ClaimQuery{Queues: queues, Kinds: []string{"k0", "k1", "k2", "other"}, Limit: 700, Server: server1})
	eq(e, "jobs of the claim that takes the rest", len(rest), n-700)
	e.countsAre("at the end", driver.Counts{Processing: n})
}

func claimFullBack(e *env) {
	inserted := e.insert(copies(40)...)
	jobs := e.claimExactly(40)
	var outs []driver.Outcome
	for i, j := range jobs {
		switch i % 4 {
		case 0:
			outs = append(outs, driver.Outcome{Ref: j.Ref, State: driver.Enqueued, Refund: true})
		case 1:
			outs = append(outs, driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Reason: "retry"})
		case 2:
			outs = append(outs, driver.Outcome{Ref: j.Ref, State: driver.Failed})
		case 3:
			outs = append(outs, driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: 100 * time.Millisecond})
		}
	}
	e.apply(outs...)
	eq(e, "jobs requeued", e.requeue(driver.Filter{State: driver.Failed}), 10)
	e.pass(150 * time.Millisecond)
	eq(e, "jobs promoted", e.promote(100).Count, 10)
	e.order("one claim of all jobs that came back", jobIDs(e.claim(100)), inserted)
}

func claimQueues(e *env) {
	a, b, c := e.mixed(inQueue("a")), e.mixed(inQueue("b")), e.mixed(inQueue("c"))
	e.insertOne(inQueue("other"), withPriority(100))
	n := len(a)
	e.order("part of the first queue", jobIDs(e.claim(5, "c", "a", "b")), c[:5])
	e.order("the rest of it, and part of the next", jobIDs(e.claim(n, "c", "a", "b")), append(slices.Clone(c[5:]), a[:5]...))
	e.order("the second queue's rest, then the third", jobIDs(e.claim(10*n, "c", "a", "b")), append(slices.Clone(a[5:]), b...))
	e.countsAre("the queue that was not named", driver.Counts{Enqueued: 1, Processing: int64(3 * n)})
	eq(e, "jobs of a queue that nobody used", len(e.claim(10, "missing")), 0)
}

func claimKinds(e *env) {
	a := e.insert(copies(3, ofKind("a"))...)
	b := e.insert(copies(3, ofKind("b"))...)
	c := e.insert(copies(3, ofKind("c"), withPriority(1))...)
	take := func(n int, kinds ...string) []int64 {
		return jobIDs(e.take(driver.ClaimQuery{Queues: []string{queue1}, Kinds: kinds, Limit: n, Server: server1}))
	}
	e.order("a kind that nobody used", take(10, "missing"), []int64{})
	e.order("one kind", take(2, "b"), b[:2])
	e.order("two kinds, by priority and id", take(4, "a", "c"), append(slices.Clone(c), a[0]))
	e.order("the rest of one kind", take(10, "b", "missing"), b[2:])
	e.order("any kind", take(10), a[1:])
}

func claimKindsAhead(e *env) {
	foreign := e.insert(copies(1500, ofKind("foreign"), withPriority(3))...)
	e.insert(copies(500, ofKind("foreign"))...)
	own := e.insert(copies(3, ofKind("own"))...)
	q := driver.ClaimQuery{Queues: []string{queue1}, Kinds: []string{"own"}, Limit: 2, Server: server1}
	e.order("jobs behind 2000 of another kind", jobIDs(e.take(q)), own[:2])
	e.order("the last one", jobIDs(e.take(q)), own[2:])
	e.order("none left", jobIDs(e.take(q)), []int64{})
	younger := e.insertOne(ofKind("own"))
	e.order("one that came after", jobIDs(e.take(q)), []int64{younger})
	e.order("the others are still there", jobIDs(e.take(driver.ClaimQuery{Queues: []string{queue1}, Limit: 1, Server: server1})), foreign[:1])
}

// lookalikes are names that differ for a comparison of bytes and are the same for many collations.
var lookalikes = []string{"mail", "Mail", "MAIL", "mail ", "mail  ", " mail", "máil", "ma\u0301il", "mail\t", "ｍail", "mail\u200b", "maıl", "mail.", "ma_l", "ma%l", "mai"}

func claimBytes(e *env) {
	byQueue, byKind := map[string]int64{}, map[string]int64{}
	for _, name := range lookalikes {
		byQueue[name] = e.insertOne(inQueue(name))
	}
	for _, name := range lookalikes {
		byKind[name] = e.insertOne(inQueue("kinds"), ofKind(name))
	}
	for _, name := range lookalikes {
		e.order(fmt.Sprintf("claim in queue %q", name), jobIDs(e.claim(100, name)), []int64{byQueue[name]})
		jobs := e.take(driver.ClaimQuery{Queues: []string{"kinds"}, Kinds: []string{name}, Limit: 100, Server: server1})
		e.order(fmt.Sprintf("claim of kind %q", name), jobIDs(jobs), []int64{byKind[name]})
	}
}

func claimStamps(e *env) {
	id := e.insertOne()
	created := e.record(id)
	for n := 1; n <= 3; n++ {
		server := fmt.Sprintf("server %d", n)
		e.pass(5 * time.Millisecond)
		before := e.now()
		jobs := e.take(driver.ClaimQuery{Queues: []string{queue1}, Limit: 1, Server: server})
		after := e.now()
		if len(jobs) != 1 {
			e.Fatalf("claim %d returned %d jobs, want 1", n, len(jobs))
		}
		j := jobs[0]
		what := fmt.Sprintf("claim %d: ", n)
		eq(e, what+"ID", j.ID, id)
		eq(e, what+"Attempt", j.Attempt, n)
		eq(e, what+"Claim", j.Claim, int32(n))
		e.between(what+"AttemptedAt", j.AttemptedAt, before, after)
		eq(e, what+"CreatedAt", j.CreatedAt, created.CreatedAt)
		r := e.inState(id, driver.Processing)
		eq(e, what+"Server in the record", r.Server, server)
		e.sameJob(what+"record against the claim", r.Job, j)
		before = e.now()
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled})
		after = e.now()
		r = e.inState(id, driver.Enqueued)
		e.between(what+"RunAt after the retry", r.RunAt, before, after)
		eq(e, what+"AttemptedAt after the retry", r.AttemptedAt, j.AttemptedAt)
		eq(e, what+"Server after the retry: the one that claimed it last", r.Server, server)
	}
}

func claimPaused(e *env) {
	a, b := e.insertOne(inQueue("a")), e.insertOne(inQueue("b"))
	running := e.running(inQueue("a2"))
	e.pause("a", true)
	e.pause("a", true)
	e.pause("empty", true)
	e.order("claim beside a paused queue", jobIDs(e.claim(10, "a", "b")), []int64{b})
	e.order("claim in the paused queue alone", jobIDs(e.claim(10, "a")), []int64{})
	e.inState(a, driver.Enqueued)
	late := e.insertOne(inQueue("a"))
	e.inState(late, driver.Enqueued)
	eq(e, "Paused of a heartbeat that serves other queues", e.beat(driver.ServerInfo{ID: server1, Queues: []string{"b"}}).Paused, []string{"a", "empty"})
	e.pause("a2", true)
	e.apply(driver.Outcome{Ref: running.Ref, State: driver.Scheduled})
	e.order("claim in a queue that was paused while its job ran", jobIDs(e.claim(10, "a2")), []int64{})
	e.pause("a", false)
	e.pause("a", false)
	e.pause("empty", false)
	e.pause("never paused", false)
	e.order("claim after the queue was resumed", jobIDs(e.claim(10, "a")), []int64{a, late})
	eq(e, "Paused at the end", e.beat(driver.ServerInfo{ID: server1}).Paused, []string{"a2"})
	// A pause is of one queue, byte for byte.
	id := e.insertOne(inQueue("mail"))
	for _, name := range lookalikes[1:] {
		e.pause(name, true)
	}
	e.order("claim beside paused queues of similar names", jobIDs(e.claim(10, "mail")), []int64{id})
}

func claimOnlyEnqueued(e *env) {
	for _, state := range []driver.State{driver.Scheduled, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted} {
		id := e.bring(state, inQueue(string(state)))
		e.inState(id, state)
		eq(e, fmt.Sprintf("jobs claimed while the only one is %s", state), len(e.claim(10, string(state))), 0)
		e.inState(id, state)
	}
	// A scheduled job that is due waits for its promotion.
	id := e.insertOne(inQueue("due"), withDelay(20*time.Millisecond))
	e.pass(40 * time.Millisecond)
	eq(e, "jobs claimed while the only one is due and not promoted", len(e.claim(10, "due")), 0)
	e.inState(id, driver.Scheduled)
	// So does a retry.
	j := e.running(inQueue("retry"))
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Delay: 20 * time.Millisecond})
	e.pass(40 * time.Millisecond)
	eq(e, "jobs claimed while the only one is a due retry", len(e.claim(10, "retry")), 0)
	del := e.bring(driver.Enqueued, inQueue("gone"))
	e.delete(driver.Filter{IDs: []int64{del}})
	eq(e, "jobs claimed after the only one was deleted", len(e.claim(10, "gone")), 0)
}

func claimConcurrent(e *env) {
	const total, claimers, size = 2000, 16, 10
	for range 4 {
		e.insert(copies(total / 4)...)
	}
	var (
		taken   atomic.Int64
		mu      sync.Mutex
		claimed = map[int64]int{}
	)
	started := time.Now()
	deadline := started.Add(5 * time.Second * slowdown)
	e.together(claimers, func(i int) error {
		q := driver.ClaimQuery{Queues: []string{queue1}, Limit: size, Server: fmt.Sprintf("server %d", i)}
		for taken.Load() < total && time.Now().Before(deadline) {
			jobs, err := e.s.Claim(e.ctx, q)
			if err != nil {
				return err
			}
			if len(jobs) > size {
				return fmt.Errorf("a claim of %d returned %d jobs", size, len(jobs))
			}
			mu.Lock()
			for _, j := range jobs {
				claimed[j.ID]++
				if j.Claim != 1 || j.Attempt != 1 {
					e.Errorf("job %d came with Claim %d and Attempt %d, want 1 and 1", j.ID, j.Claim, j.Attempt)
				}
			}
			mu.Unlock()
			taken.Add(int64(len(jobs)))
			if i < 2 {
				if err := e.watchCounts(total); err != nil {
					return err
				}
			}
		}
		return nil
	})
	e.budget(started, 5*time.Second)
	eq(e, "different jobs claimed", len(claimed), total)
	for id, n := range claimed {
		if n != 1 {
			e.Errorf("job %d was claimed %d times", id, n)
		}
	}
	e.countsAre("at the end", driver.Counts{Processing: total})
	eq(e, "jobs of a claim at the end", len(e.claim(10)), 0)
}

// watchCounts expects enqueued and processing to be total together, while jobs move from one to the other.
func (e *env) watchCounts(total int64) error {
	c, err := e.s.Counts(e.ctx)
	if err != nil {
		return fmt.Errorf("Counts beside the claims: %w", err)
	}
	if c.Enqueued+c.Processing != total {
		return fmt.Errorf("Counts beside the claims are %+v: enqueued and processing together are not %d, so a moving job was seen twice or not at all", c, total)
	}
	return nil
}

func claimConcurrentPairs(e *env) {
	for range 40 {
		inserted := e.insert(copies(3)...)
		var mu sync.Mutex
		got := map[int64]int{}
		e.together(4, func(i int) error {
			jobs, err := e.s.Claim(e.ctx, driver.ClaimQuery{Queues: []string{queue1}, Limit: 2, Server: fmt.Sprintf("server %d", i)})
			mu.Lock()
			defer mu.Unlock()
			for _, j := range jobs {
				got[j.ID]++
			}
			return err
		})
		for _, j := range e.claim(10) {
			got[j.ID]++
		}
		for _, id := range inserted {
			if got[id] != 1 {
				e.Fatalf("job %d was claimed %d times by four claimers and one after them, want once", id, got[id])
			}
		}
	}
}
