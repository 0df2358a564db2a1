//go:build unix

package process

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
)

func signalTo(t *testing.T, cmd *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// TestOneOfTwoIsKilled kills one of two processes on one file again and again. Every job must end succeeded; one that ran more
// often than once must have been running in a process that was killed.
func TestOneOfTwoIsKilled(t *testing.T) {
	r := newRig(t)
	kills := 8
	if testing.Short() {
		kills = 3
	}
	ids := r.enqueue(400*kills, work{Milliseconds: 5}, kiln.MaxAttempts(20))
	r.start("default", 2)
	dead := map[int]bool{}
	for k := range kills {
		victim := r.start("default", 4)
		target := int64(len(ids) * (k + 1) / (kills + 2))
		r.await("the share of this kill is done", func() bool { n, _ := r.counts(); return n >= target })
		<-time.After(time.Duration(rand.IntN(5000)) * time.Microsecond)
		dead[victim.Process.Pid] = true
		if err := victim.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := victim.Wait(); err == nil {
			t.Fatal("the victim ended by itself")
		}
	}
	r.await("every job has ended", func() bool { _, live := r.counts(); return live == 0 })
	if n, _ := r.counts(); n != int64(len(ids)) {
		t.Errorf("%d of %d jobs succeeded", n, len(ids))
	}
	starts := map[int64][]line{}
	for _, l := range r.lines() {
		if l.what == "start" {
			starts[l.id] = append(starts[l.id], l)
		}
	}
	again := 0
	for _, id := range ids {
		runs := starts[id]
		if len(runs) == 0 {
			t.Errorf("job %d succeeded without having run", id)
			continue
		}
		for _, earlier := range runs[:len(runs)-1] {
			again++
			if !dead[earlier.pid] {
				t.Errorf("job %d ran again after a run in a process that was not killed: %+v", id, runs)
			}
		}
	}
	t.Logf("%d kills, %d jobs, %d runs cut short and repeated", kills, len(ids), again)
}

// freeze stops a process in its tracks, but not inside of a transaction: SQLite's write lock would stay taken, and nobody could
// take over anything until it goes on.
func (r *rig) freeze(cmd *exec.Cmd) {
	r.t.Helper()
	r.await("the process is frozen outside of a transaction", func() bool {
		signalTo(r.t, cmd, syscall.SIGSTOP)
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		if r.client.PauseQueue(ctx, "probe") == nil {
			return true
		}
		signalTo(r.t, cmd, syscall.SIGCONT)
		return false
	})
}

// TestFrozenPastDeadAfter freezes a process past DeadAfter while it runs a job. Another one takes the job over; what the frozen
// one reports when it wakes up changes nothing, and it goes on with other work.
func TestFrozenPastDeadAfter(t *testing.T) {
	r := newRig(t)
	frozen := r.start("default", 1)
	id := r.enqueue(1, work{Milliseconds: 10, First: 60_000}, kiln.MaxAttempts(5))[0]
	r.await("the job runs", func() bool { return r.wrote("start", id) })
	first := r.job(id).Server
	r.freeze(frozen)
	r.start("default", 1)
	r.await("the other process has done the job", func() bool { return r.job(id).State == kiln.Succeeded })
	after := r.job(id)
	if after.Server == first || after.Attempt != 2 {
		t.Errorf("done by %s at attempt %d, first claimed by %s", after.Server, after.Attempt, first)
	}
	signalTo(t, frozen, syscall.SIGCONT)
	more := r.enqueue(200, work{Milliseconds: 20})
	r.await("both work again", func() bool {
		servers := map[string]bool{}
		for _, id := range more {
			rec := r.job(id)
			if rec.State != kiln.Succeeded {
				return false
			}
			servers[rec.Server] = true
		}
		return len(servers) == 2
	})
	if now := r.job(id); now.State != kiln.Succeeded || now.Server != after.Server || now.Claim != after.Claim || !now.FinalizedAt.Equal(after.FinalizedAt) {
		t.Errorf("the process that woke up changed the job: %+v, then %+v", after, now)
	}
}

// TestTerminated sends SIGTERM at random moments of claims and finishes: the process must exit cleanly, and leave nothing behind.
func TestTerminated(t *testing.T) {
	r := newRig(t)
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	ids := r.enqueue(300*rounds, work{Milliseconds: 1}, kiln.MaxAttempts(1))
	for k := range rounds {
		before, _ := r.counts()
		cmd := r.start("default", 8)
		r.await("it works", func() bool { n, _ := r.counts(); return n > before+int64(rand.IntN(100)) })
		<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
		signalTo(t, cmd, syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("round %d: %v", k, err)
		}
		n, err := r.store.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		servers, err := r.store.Servers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Processing != 0 || len(servers) != 0 {
			t.Fatalf("round %d: %d jobs processing and %d servers after a clean exit", k, n.Processing, len(servers))
		}
	}
	r.start("default", 8)
	r.await("every job has ended", func() bool { _, live := r.counts(); return live == 0 })
	// MaxAttempts is 1: a single attempt used up by a stop would show as a failure.
	if n, _ := r.counts(); n != int64(len(ids)) {
		t.Errorf("%d of %d jobs succeeded", n, len(ids))
	}
	runs := map[int64]int{}
	for _, l := range r.lines() {
		if l.what == "end" {
			runs[l.id]++
		}
	}
	for _, id := range ids {
		if runs[id] != 1 {
			t.Errorf("job %d ended %d times", id, runs[id])
		}
	}
}

// TestHandlersThatIgnoreTheStop pins that a process exits in time although a handler ignores the stop or never returns, and that
// the job goes back at no cost.
func TestHandlersThatIgnoreTheStop(t *testing.T) {
	r := newRig(t)
	stubborn := r.enqueue(1, work{Milliseconds: 3_600_000, Stubborn: true}, kiln.MaxAttempts(1))[0]
	obedient := r.enqueue(1, work{Milliseconds: 3_600_000}, kiln.MaxAttempts(1))[0]
	cmd := r.start("default", 2)
	r.await("both run", func() bool { return r.wrote("start", stubborn) && r.wrote("start", obedient) })
	signalTo(t, cmd, syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("exit: %v", err)
	}
	for _, id := range []int64{stubborn, obedient} {
		rec := r.job(id)
		if rec.State != kiln.Enqueued || rec.Attempt != 0 || len(rec.History) != 1 || rec.History[0].Reason != "shutdown" {
			t.Errorf("job %d: %s, attempt %d, history %+v", id, rec.State, rec.Attempt, rec.History)
		}
	}
	if !r.wrote("interrupted", obedient) || r.wrote("interrupted", stubborn) {
		t.Errorf("ledger %+v", r.lines())
	}
}
