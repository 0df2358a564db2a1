package engine

import (
	"context"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestJumpedLeaseOfAClaimUnderWay pins that a lease is not sent back as lost while the claim that made it is under way, also when
// the store's clock jumps ahead meanwhile, so that the lease looks old.
func TestJumpedLeaseOfAClaimUnderWay(t *testing.T) {
	r := newRig(t, nil)
	id := r.insert("a", 1)[0].ID
	lane := r.pools[0].lanes[0]
	call, _ := lane.Plan(r.now)
	apply := call(context.Background())
	r.skew = time.Hour
	for range 4 {
		r.now = r.now.Add(5 * time.Second)
		r.turn(r.heartbeat)
	}
	apply(r.now)
	r.rest()
	if len(r.started) != 1 || r.stats.Stale != 0 {
		t.Fatalf("%d runs started, stats %+v", len(r.started), r.stats)
	}
	r.started[0].End(driver.Outcome{State: driver.Succeeded})
	r.rest()
	if rec, err := r.mem.Job(t.Context(), id); err != nil || rec.State != driver.Succeeded || rec.Claim != 1 {
		t.Errorf("job %+v, %v: want it succeeded under its first claim", rec, err)
	}
}

// TestLostReply pins when a claim whose reply was lost is sent back, beside claims that are under way all the time.
func TestLostReply(t *testing.T) {
	r := newRig(t, nil)
	id := r.insert("a", 1)[0].ID
	if jobs, err := r.mem.Claim(t.Context(), driver.ClaimQuery{Queues: []string{"a"}, Limit: 1, Server: "server"}); err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	lane := r.pools[0].lanes[0]
	for waited := time.Duration(0); ; waited += time.Second {
		rec, err := r.mem.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if rec.State == driver.Enqueued {
			if waited <= 10*time.Second || waited > 16*time.Second || rec.Attempt != 0 {
				t.Errorf("sent back after %s with attempt %d, want after two heartbeats, within three, with none", waited, rec.Attempt)
			}
			return
		}
		if waited > time.Minute {
			t.Fatalf("not sent back after %s", waited)
		}
		r.now = r.now.Add(time.Second)
		call, _ := lane.Plan(r.now) // of another queue's jobs, as far as the store is concerned
		r.turn(r.heartbeat)
		r.turn(r.outbox.shards[0])
		if call != nil {
			if rec, _ := r.mem.Job(t.Context(), id); rec.State == driver.Processing {
				call(context.Background())(r.now)
			}
		}
	}
}
