package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
	"github.com/kilnjobs/kiln/memstore"
)

var errDown = errors.New("the database is down")

// rig is a server whose loops a test turns by hand, on a clock that it moves.
type rig struct {
	*Server
	t   *testing.T
	now time.Time
	// skew is how far the store's clock is ahead.
	skew  time.Duration
	mem   *memstore.Store
	fault *faultstore.Store
	// started are the runs whose handlers have begun.
	started []*Run
}

// tuned is a store that says how many calls in flight pay.
type tuned struct {
	*faultstore.Store
	tuning driver.Tuning
}

func (s tuned) Tuning() driver.Tuning { return s.tuning }

// newRig makes a server that has joined. Change the configuration in edit.
func newRig(t *testing.T, edit func(r *rig, c *Config)) *rig {
	r := &rig{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return r.now }
	r.mem = memstore.New(memstore.Clock(func() time.Time { return r.now.Add(r.skew) }))
	t.Cleanup(r.mem.Close)
	r.fault = faultstore.Wrap(r.mem, nil)
	cfg := Config{
		Store: r.fault, ID: "server", Kinds: []string{"job"},
		Pools:        []PoolConfig{{Queues: []string{"a", "b"}, Workers: 2}},
		PollInterval: time.Second, FetchCooldown: 5 * time.Millisecond,
		ShutdownTimeout: 30 * time.Second, KillGrace: 5 * time.Second,
		HeartbeatInterval: 5 * time.Second, DeadAfter: time.Minute, LeaderTTL: 15 * time.Second,
		Retention: driver.Retention{Succeeded: -1, Deleted: -1, Failed: -1},
		Handler:   r, Executor: r,
		Causes: Causes{
			Timeout: errors.New("timeout"), Canceled: errors.New("canceled"), Shutdown: errors.New("shutdown"), Lost: errors.New("lost"),
		},
		RescueDelay: func(int) time.Duration { return time.Minute },
		Now:         clock, Random: func() float64 { return 0.5 },
	}
	if edit != nil {
		edit(r, &cfg)
	}
	r.Server = New(cfg)
	r.turn(r.heartbeat)
	return r
}

// turn takes a loop through plan, call and apply, and returns how long it then wants to wait.
func (r *rig) turn(l Loop) time.Duration {
	r.t.Helper()
	call, wait := l.Plan(r.now)
	if call != nil {
		wait = call(context.Background())(r.now)
	}
	if err := r.Check(); err != nil {
		r.t.Fatalf("after a turn of %s: %v", l.Name(), err)
	}
	return wait
}

// rest turns every loop whose time has come or that was woken until none has anything left to do.
func (r *rig) rest() {
	r.t.Helper()
	for busy := true; busy; {
		busy = false
		for _, l := range r.Loops() {
			l.Wake().Take()
			if r.turn(l) <= 0 {
				busy = true
			}
		}
	}
}

// insert stores jobs.
func (r *rig) insert(queue string, n int) []driver.Inserted {
	r.t.Helper()
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = driver.InsertParams{Kind: "job", Queue: queue, Args: []byte("{}"), MaxAttempts: 3}
	}
	out, err := r.mem.Insert(context.Background(), jobs)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// Start takes note of a run.
func (r *rig) Start(run *Run) { r.started = append(r.started, run) }

// Run is never called: tests end runs themselves.
func (r *rig) Run(context.Context, *driver.Job) driver.Outcome { panic("handlers do not run") }

// Exited is never called.
func (r *rig) Exited(context.Context, *driver.Job) driver.Outcome { panic("handlers do not run") }

// Timeout is no limit.
func (r *rig) Timeout(*driver.Job) time.Duration { return 0 }
