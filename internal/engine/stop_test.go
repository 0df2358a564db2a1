package engine

import (
	"context"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestStopWaitsForClaims pins that a server with short grace times does not remove its row while a claim is still under way:
// what that brings is given back, instead of being left to the rescuer at the price of an attempt.
func TestStopWaitsForClaims(t *testing.T) {
	r := newRig(t, func(_ *rig, c *Config) { c.ShutdownTimeout, c.KillGrace = time.Second, time.Second })
	id := r.insert("a", 1)[0].ID
	lane := r.pools[0].lanes[0]
	call, _ := lane.Plan(r.now)
	apply := call(context.Background())
	r.BeginStop()
	for range 8 {
		r.rest()
		r.now = r.now.Add(time.Second)
	}
	select {
	case <-r.Stopped():
		t.Error("the server left while a claim was under way")
	default:
	}
	apply(r.now)
	r.rest()
	select {
	case <-r.Stopped():
	default:
		t.Error("the server has not left after the claim's answer")
	}
	if rec, err := r.mem.Job(t.Context(), id); err != nil || rec.State != driver.Enqueued || rec.Attempt != 0 {
		t.Errorf("job %+v, %v: want it enqueued with no attempt used", rec, err)
	}
}
