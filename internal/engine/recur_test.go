package engine

import (
	"context"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// leading is a rig whose server leads, with recurring jobs that are due every minute.
func leading(t *testing.T, ids ...string) *rig {
	t.Helper()
	r := newRig(t, nil)
	r.turn(r.leader)
	for _, id := range ids {
		err := r.mem.PutRecurring(context.Background(), driver.Recurring{
			ID: id, Spec: "* * * * *", Location: "UTC", Overlap: true, NextRunAt: r.now,
			Template: driver.InsertParams{Kind: "job", Queue: "a", Args: []byte("{}"), MaxAttempts: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) definition(id string) driver.Recurring {
	r.t.Helper()
	def, err := r.mem.Recurring(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return def
}

func TestRecurListsThenFires(t *testing.T) {
	r := leading(t, "x", "y")
	if wait := r.turn(r.recurrer); wait != 0 || len(r.recurrer.fires) != 2 || r.definition("x").Version != 1 {
		t.Fatalf("after the listing: wait %s, %d steps", wait, len(r.recurrer.fires))
	}
	wait := r.turn(r.recurrer)
	if r.definition("x").Version != 2 || r.definition("y").Version != 2 || r.fault.Calls("FireMany") != 1 {
		t.Errorf("after the write: %+v", r.definition("x"))
	}
	if wait <= 0 || wait > 1100*time.Millisecond {
		t.Errorf("then it waits %s", wait)
	}
	// The next run is known, so it comes on time although the listing before it was earlier.
	r.now = r.now.Add(59*time.Second + 500*time.Millisecond)
	r.turn(r.leader)
	if wait := r.turn(r.recurrer); wait != 500*time.Millisecond {
		t.Errorf("half a second before the next run it waits %s", wait)
	}
}

// TestRecurDropsStepsWithTheLease pins that steps which were computed under a lease are not written after it.
func TestRecurDropsStepsWithTheLease(t *testing.T) {
	r := leading(t, "x")
	r.turn(r.recurrer)
	r.now = r.now.Add(15 * time.Second)
	if wait := r.turn(r.recurrer); wait != Never || len(r.recurrer.fires) != 0 || r.fault.Calls("FireMany") != 0 {
		t.Errorf("without the lease: wait %s, %d steps", wait, len(r.recurrer.fires))
	}
	// With the lease it begins anew.
	r.turn(r.leader)
	r.rest()
	if r.definition("x").Version != 2 {
		t.Errorf("after the renewal: %+v", r.definition("x"))
	}
}

// TestRecurConflict pins that a step which somebody else took is nobody's trouble.
func TestRecurConflict(t *testing.T) {
	r := leading(t, "x", "y")
	r.turn(r.recurrer)
	if _, err := r.mem.Fire(context.Background(), driver.Fire{ID: "x", Version: 1, NextRunAt: r.now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	r.turn(r.recurrer)
	if r.definition("x").Version != 2 || r.definition("y").Version != 2 || len(r.recurrer.unreadable) != 0 {
		t.Errorf("x %+v, y %+v, left alone %v", r.definition("x"), r.definition("y"), r.recurrer.unreadable)
	}
}

// TestRecurFailing pins that a listing and a write that fail come again soon, and what they were about with them.
func TestRecurFailing(t *testing.T) {
	r := leading(t, "x")
	r.fault.SetRule(faultstore.On("Due", faultstore.Nth(1, faultstore.Fail(errDown))))
	if wait := r.turn(r.recurrer); wait < 100*time.Millisecond || wait > time.Second {
		t.Errorf("after a listing that failed it waits %s", wait)
	}
	r.fault.SetRule(faultstore.On("FireMany", faultstore.Always(faultstore.Lose(errDown))))
	r.now = r.now.Add(time.Second)
	r.turn(r.recurrer)
	if wait := r.turn(r.recurrer); wait < 100*time.Millisecond || wait > time.Second {
		t.Errorf("after a write that failed it waits %s", wait)
	}
	r.fault.SetRule(nil)
	r.now = r.now.Add(time.Second)
	r.rest()
	if def := r.definition("x"); def.Version != 2 {
		t.Errorf("a fire whose answer was lost was done again: %+v", def)
	}
}

// TestRecurLeavesAlone pins that what cannot be read is tried again after a minute, and is listed beside a full block of others.
func TestRecurLeavesAlone(t *testing.T) {
	r := leading(t, "x", "y")
	bad := r.definition("x")
	bad.Spec = "bad"
	if err := r.mem.PutRecurring(context.Background(), bad); err != nil {
		t.Fatal(err)
	}
	r.rest()
	if r.definition("y").Version != 2 || len(r.recurrer.unreadable) != 1 {
		t.Fatalf("y %+v, left alone %v", r.definition("y"), r.recurrer.unreadable)
	}
	bad.Version, bad.Spec = 2, "* * * * *"
	if err := r.mem.PutRecurring(context.Background(), bad); err != nil {
		t.Fatal(err)
	}
	for range 59 {
		r.now = r.now.Add(time.Second)
		r.rest()
	}
	if r.definition("x").Version != 3 {
		t.Errorf("tried again too early: %+v", r.definition("x"))
	}
	r.now = r.now.Add(2 * time.Second)
	r.rest()
	if r.definition("x").Version != 4 || len(r.recurrer.unreadable) != 0 {
		t.Errorf("after a minute: %+v, left alone %v", r.definition("x"), r.recurrer.unreadable)
	}
}
