package drivertest

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// refused expects an Insert to be ErrInvalid and to leave nothing of the call behind.
func (e *env) refused(what string, jobs ...driver.InsertParams) {
	e.Helper()
	before := e.counts()
	res, err := e.s.Insert(e.ctx, jobs)
	e.wantErr(err, driver.ErrInvalid, "Insert with %s", what)
	if err != nil && len(res) != 0 {
		e.Errorf("Insert with %s: results %+v beside an error", what, res)
	}
	if after := e.counts(); after != before {
		e.Errorf("Insert with %s: Counts were %+v and are %+v: a refused call stores nothing", what, before, after)
	}
}

func insertInvalid(e *env) {
	limited := func(change func(p *driver.InsertParams)) driver.InsertParams {
		return job(func(p *driver.InsertParams) { p.LimitKey, p.LimitMax = "key", 1 }, change)
	}
	meta := func(k, v string) driver.InsertParams {
		return job(func(p *driver.InsertParams) { p.Meta = map[string]string{k: v} })
	}
	cases := []struct {
		what string
		p    driver.InsertParams
	}{
		{"an empty kind", job(ofKind(""))},
		{"an empty queue", job(inQueue(""))},
		{"a NUL byte in the kind", job(ofKind("a\x00"))},
		{"a queue that is not UTF-8", job(inQueue("a\xff"))},
		{"MaxAttempts 0", job(withAttempts(0))},
		{"MaxAttempts -1", job(withAttempts(-1))},
		{"no args", job(withArgs(""))},
		{"broken args", job(withArgs(`{"a":`))},
		{"args followed by more", job(withArgs(`{} {}`))},
		{"args that are only space", job(withArgs("  "))},
		{"an empty meta key", meta("", "v")},
		{"a NUL byte in a meta key", meta("a\x00", "v")},
		{"a NUL byte in a meta value", meta("a", "v\x00")},
		{"a meta key that is not UTF-8", meta("a\xff", "v")},
		{"a meta value that is not UTF-8", meta("a", "v\xff")},
		{"a limit key with neither max nor rate", limited(func(p *driver.InsertParams) { p.LimitMax = 0 })},
		{"a NUL byte in the limit key", limited(func(p *driver.InsertParams) { p.LimitKey = "a\x00" })},
		{"a negative LimitMax", limited(func(p *driver.InsertParams) { p.LimitMax = -1 })},
		{"a negative LimitMax without a key", job(func(p *driver.InsertParams) { p.LimitMax = -1 })},
		{"a negative LimitRate", limited(func(p *driver.InsertParams) { p.LimitRate = -1 })},
		{"a negative LimitPer without a rate", limited(func(p *driver.InsertParams) { p.LimitPer = -1 })},
		{"a negative LimitBurst without a key", job(func(p *driver.InsertParams) { p.LimitBurst = -1 })},
		{"a rate without LimitPer", limited(func(p *driver.InsertParams) { p.LimitRate, p.LimitBurst = 1, 1 })},
		{"a rate without LimitBurst", limited(func(p *driver.InsertParams) { p.LimitRate, p.LimitPer = 1, time.Second })},
		{"a negative BatchID", job(func(p *driver.InsertParams) { p.BatchID = -1 })},
		{"a negative AfterBatch", job(func(p *driver.InsertParams) { p.AfterBatch = -1 })},
		{"AfterBatch equal to BatchID", job(func(p *driver.InsertParams) { p.BatchID, p.AfterBatch = 7, 7 })},
		{"a parent without a mask", job(func(p *driver.InsertParams) { p.Parents = []driver.Parent{{ID: 1}} })},
		{"a parent with an unknown mask only", job(func(p *driver.InsertParams) { p.Parents = []driver.Parent{{ID: 1, On: 8}} })},
		{"UniqueReplace together with UniqueDebounce", job(func(p *driver.InsertParams) {
			p.UniqueKey, p.UniqueReplace, p.UniqueDebounce = []byte("k"), true, time.Second
		})},
	}
	for _, c := range cases {
		e.refused(c.what, c.p)
		e.refused(c.what+" behind a valid job", job(), c.p)
		e.refused(c.what+" before a valid job", c.p, job())
	}
	e.countsAre("after all refused calls", driver.Counts{})
	eq(e, "queues after all refused calls", len(e.queues()), 0)
}

func depsInvalid(e *env) {
	waits := func(parents ...driver.Parent) driver.InsertParams {
		return job(func(p *driver.InsertParams) { p.Parents = parents })
	}
	on := func(index int) driver.Parent { return driver.Parent{Index: index, On: driver.OnSucceeded} }
	e.refused("a job that waits for itself", waits(on(0)))
	e.refused("a second job that waits for itself", job(), waits(on(1)))
	e.refused("two jobs that wait for each other", waits(on(1)), waits(on(0)))
	e.refused("three jobs that wait in a circle", waits(on(1)), waits(on(2)), waits(on(0)))
	e.refused("a circle behind a valid chain", job(), waits(on(0)), waits(on(1), on(3)), waits(on(2)))
	e.refused("a parent index behind the call", job(), waits(on(2)))
	e.refused("a negative parent index", job(), waits(on(-1)))
	e.refused("a negative parent id", job(), waits(driver.Parent{ID: -1, On: driver.OnSucceeded}))
	long := make([]driver.InsertParams, 2000)
	for i := range long {
		long[i] = waits(on((i + 1) % len(long)))
	}
	e.refused(fmt.Sprintf("a circle of %d jobs", len(long)), long...)
	e.countsAre("after all refused calls", driver.Counts{})
}
