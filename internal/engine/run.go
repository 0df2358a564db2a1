package engine

import (
	"bytes"
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// phase is where a held job stands inside of the server.
type phase uint8

const (
	// ahead: claimed, waiting for a free worker.
	ahead phase = iota
	// running: its handler runs.
	running
	// ended: its outcome is in the outbox.
	ended
)

// Run is one claimed job on its way through the server.
type Run struct {
	server *Server
	pool   *pool
	job    driver.Job
	phase  phase
	ctx    runContext

	// heldAt is when the claim's reply came in.
	heldAt time.Time
	// told is when the run was told to stop, for whatever reason.
	told time.Time
	// lost says that the store gave the job to somebody else, or may have: only a success is still worth reporting.
	lost bool
	// abandoned says that shutdown reported the run for it: whatever it returns is ignored.
	abandoned bool
	// stuck says that it was reported as ignoring its end.
	stuck bool
	// expiry is when the expiry loop must look at it: its timeout, and once told to stop, the moment it counts as stuck.
	expiry time.Time
	// heap is its position in the expiry heap, -1 when not in it.
	heap int
	// goroutine is the id of the goroutine that runs it, to find its stack.
	goroutine atomic.Uint64
	// console is what the handler says, nil until it says something. The lock of the server's consoles guards it.
	console *Console
	// beat is the number of the last heartbeat whose answer listed it.
	beat uint64
}

// Job is the job that runs.
func (r *Run) Job() *driver.Job { return &r.job }

// Context is the context that the run's handler gets.
func (r *Run) Context() context.Context { return &r.ctx }

// runContext is a handler's context. Its deadline is the job's timeout, which the expiry loop enforces for all runs, so that
// none needs a timer of its own.
type runContext struct {
	context.Context
	run      *Run
	deadline time.Time
	timeout  error
	cancel   context.CancelCauseFunc
}

// Deadline is when the run's time limit ends.
func (c *runContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Err is context.DeadlineExceeded after a timeout, as for every other context with a deadline.
func (c *runContext) Err() error {
	err := c.Context.Err()
	if err != nil && context.Cause(c.Context) == c.timeout {
		return context.DeadlineExceeded
	}
	return err
}

// goroutines is the executor of production.
type goroutines struct{}

func (goroutines) Start(r *Run) { go work(r) }

// work runs r, and then the runs that take its place, in one goroutine.
func work(r *Run) {
	id := goroutineID()
	for r != nil {
		r.goroutine.Store(id)
		r = execute(r)
	}
}

// execute runs one handler. A handler that ends its goroutine never comes back from Run; the deferred part then ends the run
// and goes on in a new goroutine.
func execute(r *Run) (next *Run) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if next := r.End(r.server.cfg.Handler.Exited(&r.ctx, &r.job)); next != nil {
			r.server.cfg.Executor.Start(next)
		}
	}()
	out := r.server.cfg.Handler.Run(&r.ctx, &r.job)
	returned = true
	return r.End(out)
}

// start hands a run to the executor's goroutine. The caller holds the lock and starts it on the executor, or returns it to
// the goroutine whose run ended.
func (s *Server) start(r *Run, now time.Time) {
	r.phase = running
	r.pool.running++
	s.running++
	inner, cancel := context.WithCancelCause(s.base)
	r.ctx = runContext{Context: inner, run: r, timeout: s.cfg.Causes.Timeout, cancel: cancel}
	if limit := s.cfg.Handler.Timeout(&r.job); limit > 0 {
		limit = max(limit, time.Millisecond)
		r.ctx.deadline = now.Add(limit)
		s.expiry.set(r, r.ctx.deadline)
	}
}

// End takes a run's outcome in and returns the run that its worker goes on with, if one is waiting.
func (r *Run) End(out driver.Outcome) (next *Run) {
	s := r.server
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiry.remove(r)
	r.ctx.cancel(nil)
	r.pool.running--
	s.running--
	if r.stuck {
		s.stuck--
	}
	r.pool.recent.add(now)
	switch {
	case r.abandoned:
		s.table.remove(r)
	case r.lost && out.State != driver.Succeeded:
		s.doubt = true
		s.table.remove(r)
		s.consoles.drop(r)
	default:
		out.Ref = r.job.Ref
		// What the handler said last is written first: once its outcome is, the job takes no more.
		hold := func() entry { return s.outbox.hold(r, out, now) }
		if !s.consoles.closing(r, hold) {
			s.outbox.send(hold())
		}
	}
	if s.stopping {
		s.stopper.wake.Set()
		return nil
	}
	s.checkFence(now)
	if s.outbox.full {
		// Jobs that wait for a worker would only add to the results that cannot be written.
		s.giveBackAll(now)
	}
	if next = r.pool.next(); next != nil {
		s.start(next, now)
	}
	r.pool.freed(now)
	return next
}

// tell ends a run's context with a cause. Only the first cause counts. The caller holds the lock.
func (s *Server) tell(r *Run, cause error, now time.Time) {
	if r.phase != running || !r.told.IsZero() {
		return
	}
	r.told = now
	r.ctx.cancel(cause)
	s.expiry.set(r, now.Add(s.cfg.KillGrace))
}

// lose gives up a held job whose lease is not this server's any more, or may not be. The caller holds the lock.
func (s *Server) lose(r *Run, now time.Time) {
	switch r.phase {
	case ahead:
		r.pool.drop(r)
		r.pool.freed(now)
		s.table.remove(r)
	case running:
		r.lost = true
		s.tell(r, s.cfg.Causes.Lost, now)
	}
}

// goroutineID reads the id from the header of the goroutine's own stack, "goroutine 12 [running]:". It is only used to find
// the stack of a stuck run.
func goroutineID() uint64 {
	var buf [40]byte
	head := buf[:runtime.Stack(buf[:], false)]
	head = bytes.TrimPrefix(head, []byte("goroutine "))
	if i := bytes.IndexByte(head, ' '); i > 0 {
		id, _ := strconv.ParseUint(string(head[:i]), 10, 64)
		return id
	}
	return 0
}
