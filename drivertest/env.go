package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// env is what a case works with: a test, an empty store of its own, and the time.
type env struct {
	*testing.T
	ctx   context.Context
	s     driver.Store
	clock *clock // nil on the real clock
}

// The names that cases use where they do not matter.
const (
	queue1  = "default"
	server1 = "server-1"
	server2 = "server-2"
)

// job describes a job in queue1, changed by mods.
func job(mods ...func(*driver.InsertParams)) driver.InsertParams {
	p := driver.InsertParams{Kind: "work", Queue: queue1, Args: []byte(`{}`), MaxAttempts: 5}
	for _, mod := range mods {
		mod(&p)
	}
	return p
}

func inQueue(name string) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.Queue = name }
}

func ofKind(kind string) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.Kind = kind }
}

func withPriority(n int16) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.Priority = n }
}

func withDelay(d time.Duration) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.Delay = d }
}

func withRunAt(at time.Time) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.RunAt = at }
}

func withTags(tags ...string) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.Tags = tags }
}

func withArgs(args string) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.Args = []byte(args) }
}

func withAttempts(n int) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.MaxAttempts = n }
}

func withDeadline(at time.Time) func(*driver.InsertParams) {
	return func(p *driver.InsertParams) { p.Deadline = at }
}

// copies is n jobs that are alike.
func copies(n int, mods ...func(*driver.InsertParams)) []driver.InsertParams {
	out := make([]driver.InsertParams, n)
	for i := range out {
		out[i] = job(mods...)
	}
	return out
}

// must stops the case when a call failed.
func (e *env) must(err error, call string, args ...any) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: unexpected error: %v", fmt.Sprintf(call, args...), err)
	}
}

// wantErr expects an error that wraps the sentinel.
func (e *env) wantErr(err, sentinel error, call string, args ...any) {
	e.Helper()
	if !errors.Is(err, sentinel) {
		e.Errorf("%s: got error %v, want one that wraps %q", fmt.Sprintf(call, args...), err, sentinel)
	}
}

// now reads the store's clock.
func (e *env) now() time.Time {
	e.Helper()
	now, err := e.s.Now(e.ctx)
	e.must(err, "Now")
	return now
}

// insertAll inserts and returns the results, one per job.
func (e *env) insertAll(jobs ...driver.InsertParams) []driver.Inserted {
	e.Helper()
	res, err := e.s.Insert(e.ctx, jobs)
	e.must(err, "Insert of %d jobs", len(jobs))
	if len(res) != len(jobs) {
		e.Fatalf("Insert of %d jobs returned %d results", len(jobs), len(res))
	}
	return res
}

// insert inserts and returns the ids.
func (e *env) insert(jobs ...driver.InsertParams) []int64 {
	e.Helper()
	res := e.insertAll(jobs...)
	ids := make([]int64, len(res))
	for i, r := range res {
		ids[i] = r.ID
	}
	return ids
}

// insertOne inserts one job and returns its id.
func (e *env) insertOne(mods ...func(*driver.InsertParams)) int64 {
	e.Helper()
	return e.insert(job(mods...))[0]
}

// take claims. A claim never returns more than asked.
func (e *env) take(q driver.ClaimQuery) []driver.Job {
	e.Helper()
	jobs, err := e.s.Claim(e.ctx, q)
	e.must(err, "Claim(%+v)", q)
	if len(jobs) > max(q.Limit, 0) {
		e.Fatalf("Claim(%+v) returned %d jobs, more than its Limit", q, len(jobs))
	}
	return jobs
}

// claim claims up to n jobs of any kind for server1, from queue1 when no queue is named.
func (e *env) claim(n int, queues ...string) []driver.Job {
	e.Helper()
	if len(queues) == 0 {
		queues = []string{queue1}
	}
	return e.take(driver.ClaimQuery{Queues: queues, Limit: n, Server: server1})
}

// claimExactly claims n jobs and stops the case when there were fewer.
func (e *env) claimExactly(n int, queues ...string) []driver.Job {
	e.Helper()
	jobs := e.claim(n, queues...)
	if len(jobs) != n {
		e.Fatalf("Claim of %d jobs returned %d, though as many are ready and nobody else claims", n, len(jobs))
	}
	return jobs
}

// claimOne claims the one job that comes next.
func (e *env) claimOne(queues ...string) driver.Job {
	e.Helper()
	return e.claimExactly(1, queues...)[0]
}

// running inserts one job and claims it. Nothing else may be ready in its queue.
func (e *env) running(mods ...func(*driver.InsertParams)) driver.Job {
	e.Helper()
	p := job(mods...)
	id := e.insert(p)[0]
	j := e.claimOne(p.Queue)
	if j.ID != id {
		e.Fatalf("Claim in queue %q returned job %d, want the only ready one, %d", p.Queue, j.ID, id)
	}
	return j
}

// finish sends outcomes and returns the results, one per outcome.
func (e *env) finish(outs ...driver.Outcome) []driver.Result {
	e.Helper()
	res, err := e.s.Finish(e.ctx, server1, outs)
	e.must(err, "Finish of %d outcomes", len(outs))
	if len(res) != len(outs) {
		e.Fatalf("Finish of %d outcomes returned %d results", len(outs), len(res))
	}
	return res
}

// apply sends outcomes that all have to be applied.
func (e *env) apply(outs ...driver.Outcome) {
	e.Helper()
	for i, r := range e.finish(outs...) {
		if r != driver.Applied {
			e.Fatalf("Finish: outcome %d (%s of job %d under claim %d) came back %s, want Applied",
				i, outs[i].State, outs[i].ID, outs[i].Claim, resultName(r))
		}
	}
}

// record reads a job that has to exist.
func (e *env) record(id int64) driver.Record {
	e.Helper()
	r, err := e.s.Job(e.ctx, id)
	e.must(err, "Job(%d)", id)
	if r.ID != id {
		e.Fatalf("Job(%d) returned the record of job %d", id, r.ID)
	}
	return r
}

// bring inserts a job and takes it to a state, with a second claim ready in its queue nowhere.
func (e *env) bring(state driver.State, mods ...func(*driver.InsertParams)) int64 {
	e.Helper()
	switch state {
	case driver.Scheduled:
		return e.insertOne(append(mods, withDelay(time.Hour))...)
	case driver.Enqueued:
		return e.insertOne(mods...)
	}
	j := e.running(mods...)
	if state != driver.Processing {
		e.apply(driver.Outcome{Ref: j.Ref, State: state})
	}
	return j.ID
}

func (e *env) counts() driver.Counts {
	e.Helper()
	c, err := e.s.Counts(e.ctx)
	e.must(err, "Counts")
	return c
}

func (e *env) promote(limit int) driver.Promoted {
	e.Helper()
	p, err := e.s.Promote(e.ctx, limit)
	e.must(err, "Promote(%d)", limit)
	return p
}

func (e *env) beat(info driver.ServerInfo) driver.Directives {
	e.Helper()
	d, err := e.s.Heartbeat(e.ctx, info)
	e.must(err, "Heartbeat of %q", info.ID)
	return d
}

func (e *env) delete(f driver.Filter) int {
	e.Helper()
	n, err := e.s.Delete(e.ctx, f)
	e.must(err, "Delete(%+v)", f)
	return n
}

func (e *env) requeue(f driver.Filter) int {
	e.Helper()
	n, err := e.s.Requeue(e.ctx, f)
	e.must(err, "Requeue(%+v)", f)
	return n
}

func (e *env) pause(queue string, paused bool) {
	e.Helper()
	e.must(e.s.PauseQueue(e.ctx, queue, paused), "PauseQueue(%q, %v)", queue, paused)
}

func (e *env) page(q driver.JobQuery) driver.Page {
	e.Helper()
	p, err := e.s.Jobs(e.ctx, q)
	e.must(err, "Jobs(%+v)", q)
	return p
}

func (e *env) queues() []driver.QueueInfo {
	e.Helper()
	q, err := e.s.Queues(e.ctx)
	e.must(err, "Queues")
	return q
}

func (e *env) servers() []driver.ServerInfo {
	e.Helper()
	list, err := e.s.Servers(e.ctx)
	e.must(err, "Servers")
	return list
}

func (e *env) prune(p driver.PruneParams) int {
	e.Helper()
	n, err := e.s.Prune(e.ctx, p)
	e.must(err, "Prune(%+v)", p)
	return n
}

// together calls f n times at once and stops the case at the first error.
func (e *env) together(n int, f func(i int) error) {
	e.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			e.Fatalf("caller %d of %d: %v", i, n, err)
		}
	}
}

// budget fails the case when it took longer than d in real time, which is stretched under the race detector.
func (e *env) budget(started time.Time, d time.Duration) {
	e.Helper()
	if took := time.Since(started); took > d*slowdown {
		e.Errorf("it took %s, want at most %s", took.Round(time.Millisecond), d*slowdown)
	}
}

// series reads statistics.
func (e *env) series(from, to time.Time, step time.Duration) []driver.Point {
	e.Helper()
	points, err := e.s.Series(e.ctx, from, to, step)
	e.must(err, "Series(%s, %s, %s)", clockText(from), clockText(to), step)
	return points
}

// totals adds up the statistics around now.
func (e *env) totals() driver.Point {
	e.Helper()
	var sum driver.Point
	now := e.now()
	for _, p := range e.series(now.Add(-24*time.Hour), now.Add(time.Hour), time.Minute) {
		sum.Succeeded += p.Succeeded
		sum.Failed += p.Failed
		sum.Deleted += p.Deleted
		sum.Retried += p.Retried
	}
	return sum
}
