package engine

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// TestFenceTiming pins to the nanosecond when a server that cannot reach the store stops itself, and that it leaves nothing
// behind: no run in the heap or the table, no result.
func TestFenceTiming(t *testing.T) {
	r := newRig(t, nil)
	r.insert("a", 3)
	r.turn(r.pools[0].lanes[0])
	if len(r.started) != 2 {
		t.Fatalf("%d jobs started", len(r.started))
	}
	r.fault.SetRule(faultstore.Always(faultstore.Fail(errDown)))
	begin := r.beatAt
	r.now = begin.Add(50 * time.Second)
	if wait := r.turn(r.expiry); wait != time.Nanosecond || r.fenced {
		t.Fatalf("fenced %v at 50s, next look in %s", r.fenced, wait)
	}
	r.now = r.now.Add(time.Nanosecond)
	r.turn(r.expiry)
	for _, run := range r.started {
		if !r.fenced || run.Context().Err() == nil || !run.lost {
			t.Errorf("fenced %v, run's context %v, lost %v", r.fenced, run.Context().Err(), run.lost)
		}
		run.End(driver.Outcome{State: driver.Failed})
	}
	if !r.Empty() || len(r.expiry.runs) != 0 {
		t.Errorf("left behind: %s, %d in the heap", r.Describe(), len(r.expiry.runs))
	}
	if call, wait := r.pools[0].lanes[0].Plan(r.now); call != nil || wait != Never {
		t.Error("a fenced server claims")
	}
	r.fault.SetRule(nil)
	r.now = r.now.Add(time.Second)
	r.turn(r.heartbeat)
	if r.fenced || r.turn(r.pools[0].lanes[0]) != 0 {
		t.Error("the fence was not lifted, or the lane sleeps on")
	}
}

// TestNothingStaysBehind runs many jobs through every kind of end and looks for what they left in the server.
func TestNothingStaysBehind(t *testing.T) {
	r := newRig(t, func(_ *rig, c *Config) { c.Pools[0].Workers = 5 })
	r.insert("a", 200)
	ends := []driver.Outcome{
		{State: driver.Succeeded}, {State: driver.Failed, Error: "x"}, {State: driver.Deleted}, {State: driver.Enqueued, Refund: true},
		{State: driver.Scheduled, Delay: time.Second}, {State: driver.Scheduled, Refund: true},
	}
	for i := 0; i < 2000; i++ {
		r.rest()
		r.now = r.now.Add(20 * time.Millisecond)
		if len(r.started) == 0 {
			continue
		}
		run := r.started[0]
		r.started = r.started[1:]
		switch i % 5 {
		case 0:
			r.mu.Lock()
			r.tell(run, r.cfg.Causes.Timeout, r.now)
			r.mu.Unlock()
		case 1:
			if _, err := r.mem.Delete(t.Context(), driver.Filter{IDs: []int64{run.job.ID}}); err != nil {
				t.Fatal(err)
			}
			r.Hear(driver.Event{Kind: driver.CancelRequested, ID: run.job.ID})
			r.rest()
		}
		if next := run.End(ends[i%len(ends)]); next != nil {
			r.started = append(r.started, next)
		}
	}
	r.BeginStop()
	for _, run := range r.started {
		run.End(driver.Outcome{State: driver.Succeeded})
	}
	r.rest()
	if !r.Empty() || len(r.expiry.runs) != 0 || r.outbox.bytes != 0 || len(r.table.claims) != 0 || r.stuck != 0 {
		t.Errorf("left behind: %s, %d in the heap, %d bytes, %d claims, %d stuck",
			r.Describe(), len(r.expiry.runs), r.outbox.bytes, len(r.table.claims), r.stuck)
	}
	if st := r.Stats(); st.Claimed < 200 || st.Succeeded == 0 || st.Stale != 0 {
		t.Errorf("stats %+v", st)
	}
}
