package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/engine"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

const (
	heartbeat = 5 * time.Second
	deadAfter = time.Minute
	killGrace = 5 * time.Second
)

var (
	errTimeout  = fmt.Errorf("sim: timeout")
	errCanceled = fmt.Errorf("sim: canceled")
	errShutdown = fmt.Errorf("sim: shutdown")
	errLost     = fmt.Errorf("sim: lost")
)

var queues = []string{"a", "b", "c"}

// node is one server of the cluster.
type node struct {
	id     string
	engine *engine.Server
	loops  []*looper
	// running are the runs whose handlers run.
	running []*running
	// began and speed make the server's own clock.
	began       time.Time
	speed       float64
	frozenUntil time.Time
	// unregisteredAt is when an operator last removed the server's row.
	unregisteredAt time.Time
	stopping       bool
	world          *world
}

// looper is a loop and how far its current cycle has come.
type looper struct {
	loop  engine.Loop
	dueAt time.Time
	call  engine.Call
	apply engine.Apply
}

type running struct {
	run   *engine.Run
	endAt time.Time
}

// spawn starts a server.
func (w *world) spawn() {
	w.born++
	n := &node{id: fmt.Sprintf("server-%d", w.born), world: w, began: w.now, speed: 1}
	if w.cfg.Faults.Skew {
		n.speed = 0.5 + 1.5*w.rng.Float64()
	}
	store := faultstore.Wrap(recorded{w.store, w}, nil)
	store.SetRule(w.rule(n))
	n.engine = engine.New(engine.Config{
		Store: &quirky{store, w}, ID: n.id, Kinds: []string{"job"},
		Pools: []engine.PoolConfig{
			{Queues: []string{"a", "b"}, Workers: 1 + w.rng.IntN(4), Weights: w.cfg.Shape.Weights},
			{Queues: []string{"c"}, Workers: 1 + w.rng.IntN(4)},
		},
		PollInterval: time.Second, FetchCooldown: 5 * time.Millisecond, FetchBatch: w.cfg.Shape.FetchBatch,
		ShutdownTimeout: time.Duration(w.rng.IntN(30)) * time.Second, KillGrace: killGrace,
		HeartbeatInterval: heartbeat, DeadAfter: deadAfter, LeaderTTL: 15 * time.Second,
		Retention: w.cfg.Shape.Retention,
		Logger:    slog.New(slog.DiscardHandler),
		Handler:   n, Executor: n,
		Causes:      engine.Causes{Timeout: errTimeout, Canceled: errCanceled, Shutdown: errShutdown, Lost: errLost},
		RescueDelay: func(attempt int) time.Duration { return time.Duration(attempt) * 20 * time.Second },
		Now:         n.now, Random: w.rng.Float64,
	})
	for _, l := range n.engine.Loops() {
		n.loops = append(n.loops, &looper{loop: l, dueAt: w.now})
	}
	w.nodes = append(w.nodes, n)
	w.logf("%s starts at speed %.2f", n.id, n.speed)
}

// now is the server's own clock.
func (n *node) now() time.Time {
	return n.began.Add(time.Duration(float64(n.world.now.Sub(n.began)) * n.speed))
}

// later is the world's time when d has passed on the server's clock.
func (n *node) later(d time.Duration) time.Time {
	if d >= 1000*time.Hour {
		return n.world.now.Add(1000 * time.Hour)
	}
	// One nanosecond more than the division gives, so that the server's clock is there and not just before.
	return n.world.now.Add(time.Duration(float64(d)/n.speed) + 1)
}

func (n *node) frozen(w *world) bool { return w.now.Before(n.frozenUntil) }

// ready adds what the server can do now and returns when it can do more.
func (n *node) ready(w *world, do *[]func() error) time.Time {
	if n.frozen(w) {
		return n.frozenUntil
	}
	next := w.now.Add(1000 * time.Hour)
	for _, l := range n.loops {
		switch {
		case l.apply != nil || l.call != nil || !l.dueAt.After(w.now) || l.loop.Wake().Take():
			l.dueAt = w.now
			*do = append(*do, func() error { return n.advance(w, l) })
		case l.dueAt.Before(next):
			next = l.dueAt
		}
	}
	for _, r := range n.running {
		if at := r.due(w); at.After(w.now) {
			if at.Before(next) {
				next = at
			}
		} else {
			*do = append(*do, func() error { return n.end(w, r) })
		}
	}
	select {
	case <-n.engine.Stopped():
		*do = append(*do, func() error { return n.leave(w) })
	default:
	}
	return next
}

// advance takes a loop one phase further: plan, call, apply.
func (n *node) advance(w *world, l *looper) error {
	switch {
	case l.apply != nil:
		apply := l.apply
		l.apply = nil
		l.dueAt = n.later(apply(n.now()))
	case l.call != nil:
		call := l.call
		l.call = nil
		l.apply = call(context.Background())
	default:
		call, wait := l.loop.Plan(n.now())
		if call != nil {
			l.call = call
		} else {
			l.dueAt = n.later(wait)
		}
	}
	return nil
}

// Start is the executor: a handler begins to run.
func (n *node) Start(r *engine.Run) {
	w := n.world
	w.runs++
	w.jobs[r.Job().ID].started(w, n, r)
	length := time.Duration(w.rng.IntN(200)) * time.Millisecond
	if w.cfg.Shape.Fast {
		length /= 100
	}
	switch w.rng.IntN(20) {
	case 0:
		length = time.Duration(w.rng.IntN(90)) * time.Second
	case 1, 2:
		length = 0
	}
	n.running = append(n.running, &running{run: r, endAt: w.now.Add(length)})
}

// due is when the run ends: soon after it was told to stop, unless it is one that does not listen.
func (r *running) due(w *world) time.Time {
	select {
	case <-r.run.Context().Done():
		if r.run.Job().ID%7 != 0 {
			return w.now
		}
	default:
	}
	return r.endAt
}

// end ends a run with an outcome that the seed draws.
func (n *node) end(w *world, r *running) error {
	for i := range n.running {
		if n.running[i] == r {
			n.running = append(n.running[:i], n.running[i+1:]...)
			break
		}
	}
	job := r.run.Job()
	rec := w.jobs[job.ID]
	out := rec.outcome(w, r.run.Context(), job)
	rec.ended(n, r.run, out)
	if next := r.run.End(out); next != nil {
		n.Start(next)
	}
	return rec.broken
}

// leave takes a server that has shut down out of the cluster. Without faults it leaves nothing behind: no lease and no row.
func (n *node) leave(w *world) error {
	w.remove(n)
	w.logf("%s has left", n.id)
	f := w.cfg.Faults
	if f.Stop, f.Skew, f.Rush = false, false, false; f != (Faults{}) {
		return nil
	}
	page, err := w.store.Jobs(context.Background(), driver.JobQuery{State: driver.Processing, Limit: 500})
	if err != nil {
		return err
	}
	for _, r := range page.Records {
		if r.Server == n.id {
			return fmt.Errorf("%s shut down without a fault and left job %d processing", n.id, r.ID)
		}
	}
	servers, err := w.store.Servers(context.Background())
	for _, s := range servers {
		if s.ID == n.id {
			return fmt.Errorf("%s shut down without a fault and is still registered", n.id)
		}
	}
	return err
}

func (n *node) begin(w *world, what string) { w.logf("%s: %s", n.id, what) }

func (w *world) remove(n *node) {
	for i := range w.nodes {
		if w.nodes[i] == n {
			w.nodes = append(w.nodes[:i], w.nodes[i+1:]...)
			return
		}
	}
}

// Run is never called: the world draws outcomes itself.
func (n *node) Run(context.Context, *driver.Job) driver.Outcome { panic("sim: handlers do not run") }

// Exited is never called.
func (n *node) Exited(context.Context, *driver.Job) driver.Outcome {
	panic("sim: handlers do not run")
}

// Timeout gives every fifth job a time limit that some runs exceed.
func (n *node) Timeout(job *driver.Job) time.Duration {
	if job.ID%5 == 0 {
		return 30 * time.Second
	}
	return 0
}
