package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
	"github.com/kilnjobs/kiln/memstore"
)

// Faults says what may go wrong.
type Faults struct {
	// Fail is the chance that a call fails before it reaches the store, Lose that its answer is lost.
	Fail, Lose float64
	// Freeze lets servers stand still, for up to three times DeadAfter.
	Freeze bool
	// Kill lets servers die and others start.
	Kill bool
	// Stop lets servers shut down and others start.
	Stop bool
	// Skew lets each server's clock run at half to double speed.
	Skew bool
	// Jump lets the store's clock jump by up to an hour, there and back.
	Jump bool
	// Rush lets the store's clock run at double speed.
	Rush bool
	// Unregister lets an operator remove the rows of servers that are alive.
	Unregister bool
	// Refuse is the chance that a result comes back busy or rejected.
	Refuse float64
}

// Shape says what the cluster and its jobs are like.
type Shape struct {
	// Deaf servers hear nothing from the store.
	Deaf bool
	// Fast handlers let pools take jobs ahead.
	Fast bool
	// FetchBatch caps claims.
	FetchBatch int
	// Lanes is how many claims of a pool, and finishes of a server, may be under way at once.
	Lanes int
	// Retention is how long ended jobs are kept.
	Retention driver.Retention
	// Deadlines gives some jobs a deadline.
	Deadlines bool
	// Flows gives some jobs parents and batches.
	Flows bool
	// Keys gives some jobs unique keys and limits.
	Keys bool
	// Schedules gives the cluster recurring jobs.
	Schedules bool
	// Weights are those of the queues in the shared pool.
	Weights map[string]int
}

// Config is what a simulation is made of.
type Config struct {
	Seed    uint64
	Servers int
	Jobs    int
	Faults  Faults
	Shape   Shape
	// Chaos is the virtual time with faults. After it the faults end.
	Chaos time.Duration
	// Log, if not nil, is told every step.
	Log func(format string, args ...any)
}

// Report is what a simulation did.
type Report struct {
	Steps, Runs                int
	Succeeded, Failed, Deleted int
	// Fired is how many jobs came from recurring jobs.
	Fired int
	// Elapsed is the virtual time that passed.
	Elapsed time.Duration
}

var errInjected = errors.New("sim: injected fault")

// world is one simulation.
type world struct {
	cfg   Config
	rng   *rand.Rand
	store *memstore.Store
	start time.Time
	now   time.Time
	calm  bool
	// calmAt is when the faults ended.
	calmAt time.Time
	nodes  []*node
	born   int
	jobs   map[int64]*jobRecord
	order  []int64
	left   int
	steps  int
	runs   int
	// ahead is how far the store's clock has jumped, jumpedAt when it last did.
	ahead    time.Duration
	jumpedAt time.Time
	// batches are all that were opened, in order, the first sealed of them are sealed.
	batches []int64
	sealed  int
	// schedules are the recurring jobs by their ids.
	schedules map[string]*schedule
}

// Run runs one simulation and returns the first rule that was broken.
func Run(cfg Config) (Report, error) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &world{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)), start: start, now: start,
		jobs: map[int64]*jobRecord{}, left: cfg.Jobs,
	}
	w.store = memstore.New(memstore.Clock(w.storeNow))
	defer w.store.Close()
	w.plan()
	for range cfg.Servers {
		w.spawn()
	}
	if err := w.chaos(); err != nil {
		return w.report(), w.explain(err)
	}
	w.settle()
	if err := w.rest(); err != nil {
		return w.report(), w.explain(err)
	}
	return w.report(), nil
}

// storeNow is the store's clock.
func (w *world) storeNow() time.Time {
	passed := w.now.Sub(w.start)
	if w.cfg.Faults.Rush {
		passed *= 2
	}
	return w.start.Add(passed + w.ahead)
}

func (w *world) explain(err error) error {
	return fmt.Errorf("seed %d, after %s and %d steps: %w", w.cfg.Seed, w.now.Sub(w.start), w.steps, err)
}

// chaos runs with faults.
func (w *world) chaos() error {
	for w.now.Sub(w.start) < w.cfg.Chaos {
		if w.rng.IntN(40) == 0 {
			w.client()
		}
		if w.rng.IntN(400) == 0 {
			w.disturb()
			w.disorder()
		}
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

// settle ends the faults: frozen servers go on, queues are open, and there is at least one server to do the rest.
func (w *world) settle() {
	w.calm, w.calmAt = true, w.now
	w.unplan()
	for w.left > 0 {
		w.insert()
	}
	w.seal()
	alive := 0
	for _, n := range w.nodes {
		n.frozenUntil = time.Time{}
		if !n.stopping {
			alive++
		}
	}
	if alive == 0 {
		w.spawn()
	}
	for _, q := range queues {
		_ = w.store.PauseQueue(context.Background(), q, false)
	}
}

// patience is how long a calm cluster may take. The longest wait is the backoff of a job that was rescued again and again.
const patience = 6 * time.Hour

// rest runs without faults until everything has come to its end.
func (w *world) rest() error {
	calm := w.now
	for !w.done() {
		if w.now.Sub(calm) > patience {
			return fmt.Errorf("jobs are not done %s after the faults ended: %s", patience, w.unfinished()+w.cluster())
		}
		if err := w.step(); err != nil {
			return err
		}
		if w.steps%1000 == 0 {
			w.clear()
		}
	}
	w.clear()
	for _, n := range w.nodes {
		n.begin(w, "stop")
		n.stopping = true
		n.engine.BeginStop()
	}
	for calm = w.now; len(w.nodes) > 0; {
		if w.now.Sub(calm) > 5*time.Minute {
			return fmt.Errorf("%d servers have not stopped after 5 calm minutes", len(w.nodes))
		}
		if err := w.step(); err != nil {
			return err
		}
	}
	return w.verdict()
}

func (w *world) done() bool {
	for _, id := range w.order {
		if !w.jobs[id].final(w) {
			return false
		}
	}
	for _, n := range w.nodes {
		if !n.engine.Empty() {
			return false
		}
	}
	return true
}

func (w *world) unfinished() string {
	for _, id := range w.order {
		if r, err := w.store.Job(context.Background(), id); err != nil || !r.State.Final() {
			if w.pruned(err) {
				continue
			}
			return fmt.Sprintf("job %d is %s, attempt %d of %d, server %q, history %+v", id, r.State, r.Attempt, r.MaxAttempts, r.Server, r.History)
		}
	}
	return "a server still holds jobs"
}

// cluster describes the servers, for the report of a failure.
func (w *world) cluster() string {
	var b strings.Builder
	for _, n := range w.nodes {
		fmt.Fprintf(&b, "\n%s: stopping %v, health %v, %+v\n  %s", n.id, n.stopping, n.engine.Healthy(), n.engine.Stats(), n.engine.Describe())
		for _, l := range n.loops {
			fmt.Fprintf(&b, "\n  %s: due in %s, calling %v, answered %v", l.loop.Name(), l.dueAt.Sub(w.now), l.call != nil, l.apply != nil)
		}
	}
	return b.String()
}

// step does one thing that can be done now, or moves the clock to when something can.
func (w *world) step() error {
	w.steps++
	var ready []func() error
	next := w.now.Add(time.Hour)
	for _, n := range w.nodes {
		at := n.ready(w, &ready)
		if at.Before(next) {
			next = at
		}
	}
	if len(ready) == 0 {
		w.now = next
		return nil
	}
	// Things take time: the clock also moves while there is something to do.
	if w.rng.IntN(4) == 0 {
		w.now = w.now.Add(time.Duration(w.rng.IntN(20_000)) * time.Microsecond)
	}
	if err := ready[w.rng.IntN(len(ready))](); err != nil {
		return err
	}
	if w.steps%500 == 0 {
		return w.check()
	}
	return nil
}

// check holds every server and the store to their invariants.
func (w *world) check() error {
	for _, n := range w.nodes {
		if err := n.engine.Check(); err != nil {
			return fmt.Errorf("server %s: %w", n.id, err)
		}
	}
	if err := w.prompt(); err != nil {
		return err
	}
	if err := w.checkLimits(); err != nil {
		return err
	}
	return w.store.Check(context.Background())
}

func (w *world) logf(format string, args ...any) {
	if w.cfg.Log != nil {
		w.cfg.Log("%12s  "+format, append([]any{w.now.Sub(w.start)}, args...)...)
	}
}

// rule decides what goes wrong with a server's calls.
func (w *world) rule(n *node) faultstore.Rule {
	return func(c faultstore.Call) faultstore.Fault {
		if w.calm {
			return faultstore.Fault{}
		}
		switch p := w.rng.Float64(); {
		case p < w.cfg.Faults.Fail:
			w.logf("%s: %s fails", n.id, c.Method)
			return faultstore.Fail(errInjected)
		case p < w.cfg.Faults.Fail+w.cfg.Faults.Lose:
			w.logf("%s: the answer to %s is lost", n.id, c.Method)
			return faultstore.Lose(errInjected)
		}
		return faultstore.Fault{}
	}
}

// hear passes an event to every server that can hear it; events are hints, so some are lost.
func (w *world) hear(e driver.Event) {
	if w.cfg.Shape.Deaf {
		return
	}
	for _, n := range w.nodes {
		if !n.frozen(w) && w.rng.IntN(3) > 0 {
			n.engine.Hear(e)
		}
	}
}
