package engine

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// leads reports who has the lease.
func (r *rig) leads(other string) bool {
	_, ok, err := r.mem.Lead(r.t.Context(), leaseName, other, time.Millisecond)
	if err != nil {
		r.t.Fatal(err)
	}
	return !ok
}

// TestFencedServerDoesNotLead pins that a server which fenced itself, and so does none of a leader's duties, leaves the lease
// to others, even if the store takes its renewals.
func TestFencedServerDoesNotLead(t *testing.T) {
	r := newRig(t, nil)
	r.rest()
	if !r.leads("other") {
		t.Fatal("the only server does not lead")
	}
	r.fault.SetRule(faultstore.On("Heartbeat", faultstore.Always(faultstore.Fail(errDown))))
	for range 55 {
		r.now = r.now.Add(time.Second)
		r.rest()
	}
	if !r.Stats().Fenced {
		t.Fatal("not fenced")
	}
	if r.leads("other") {
		t.Error("a fenced server holds the lease")
	}
	r.fault.SetRule(nil)
	r.now = r.now.Add(10 * time.Second)
	r.rest()
	if st := r.Stats(); st.Fenced || !st.Leader {
		t.Errorf("stats %+v after the fence was lifted", st)
	}
}

// TestEveryRenewalWakesTheDuties pins that a duty which found the lease run out a moment before its renewal does not sleep on:
// whoever reads the clock first need not be first to get the lock.
func TestEveryRenewalWakesTheDuties(t *testing.T) {
	r := newRig(t, nil)
	r.rest()
	r.now = r.now.Add(14 * time.Second)
	call, _ := r.leader.Plan(r.now)
	apply := call(t.Context())
	late := r.now.Add(2 * time.Second)
	for _, l := range []Loop{r.rescuer, r.chores[0], r.chores[1]} {
		l.Wake().Take()
		if _, wait := l.Plan(late); wait != Never {
			t.Fatalf("%s does not sleep without a lease", l.Name())
		}
	}
	apply(r.now)
	for _, l := range []Loop{r.rescuer, r.chores[0], r.chores[1]} {
		if !l.Wake().Take() {
			t.Errorf("%s sleeps on", l.Name())
		}
	}
}

// TestFailingDutiesAreRepeatedSoon pins that a duty which fails is not put off for its whole period.
func TestFailingDutiesAreRepeatedSoon(t *testing.T) {
	r := newRig(t, nil)
	failing := faultstore.Always(faultstore.Fail(errDown))
	r.fault.SetRule(faultstore.First(faultstore.On("Prune", func(c faultstore.Call) faultstore.Fault {
		if c.Number > 5 {
			return faultstore.Fault{}
		}
		return failing(c)
	}), faultstore.On("Orphans", faultstore.Nth(1, faultstore.Fail(errDown)))))
	begin := r.now
	for r.fault.Calls("Prune") < 6 && r.now.Sub(begin) < time.Hour {
		r.now = r.now.Add(100 * time.Millisecond)
		r.rest()
	}
	if took := r.now.Sub(begin); took > 30*time.Second || took < 5*time.Second {
		t.Errorf("pruning got through %s after five failures, want it within 30s and not at once", took)
	}
}

// TestSilenceIsJudgedByAFreshLease pins that when the store's clock jumps, all servers look silent until their next heartbeat,
// and the leader, whose lease the jump ended, judges none of them.
func TestSilenceIsJudgedByAFreshLease(t *testing.T) {
	r := newRig(t, nil)
	r.rest()
	if _, err := r.mem.Heartbeat(t.Context(), driver.ServerInfo{ID: "other"}); err != nil {
		t.Fatal(err)
	}
	id := r.insert("c", 1)[0].ID
	if _, err := r.mem.Claim(t.Context(), driver.ClaimQuery{Queues: []string{"c"}, Limit: 1, Server: "other"}); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		r.now = r.now.Add(time.Second)
		if _, err := r.mem.Heartbeat(t.Context(), driver.ServerInfo{ID: "other"}); err != nil {
			t.Fatal(err)
		}
		r.rest()
	}
	r.skew = time.Hour
	r.now = r.now.Add(5 * time.Second)
	for range 2 { // the rescuer looks before anybody else
		r.turn(r.rescuer)
		r.turn(r.rescuer)
		r.rest()
	}
	if rec, err := r.mem.Job(t.Context(), id); err != nil || rec.State != driver.Processing {
		t.Errorf("job of a live server is %s after a jump of the store's clock: %+v", rec.State, rec.History)
	}
}
