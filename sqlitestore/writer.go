package sqlitestore

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// mostCalls and mostDrafts bound one transaction, so that nobody waits long for others.
	mostCalls  = 512
	mostDrafts = 20_000
	// courtesy is the pause between two transactions while somebody else writes too. Without it two processes starved each
	// other for seconds, since the one that commits is the first to begin again.
	courtesy = time.Millisecond
	// company is how long somebody else's write is remembered.
	company = 100 * time.Millisecond
)

// writer is the one goroutine that writes. It merges the calls that arrive while the transaction before is written into
// the next one.
type writer struct {
	s       *Store
	session *session

	mu sync.Mutex
	// queue holds calls that write, reads those that only read.
	queue, reads []*call
	closed       bool

	wake    chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	stopped chan struct{}

	// blockedSince is when the transaction that is waited for was first met, in microseconds of the wall clock, or 0.
	blockedSince atomic.Int64
	// otherAt is when somebody else's write was last noticed.
	otherAt time.Time
	watch   watcher
}

func newWriter(s *Store) *writer {
	ctx, cancel := context.WithCancel(context.Background())
	return &writer{s: s, wake: make(chan struct{}, 1), ctx: ctx, cancel: cancel, stopped: make(chan struct{})}
}

func (w *writer) add(c *call) bool {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false
	}
	if c.look != nil {
		w.reads = append(w.reads, c)
	} else {
		w.queue = append(w.queue, c)
	}
	w.mu.Unlock()
	w.poke()
	return true
}

// poke makes the goroutine look around.
func (w *writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// next takes calls from the queue, in order, up to what one transaction should hold.
func (w *writer) next() []*call {
	w.mu.Lock()
	defer w.mu.Unlock()
	drafts, n := 0, 0
	for n < len(w.queue) && n < mostCalls && drafts < mostDrafts {
		drafts += len(w.queue[n].drafts)
		n++
	}
	calls := w.queue[:n:n]
	if n == len(w.queue) {
		w.queue = nil
	} else {
		w.queue = w.queue[n:]
	}
	return calls
}

// loop is the writer's goroutine.
func (w *writer) loop() {
	defer close(w.stopped)
	defer w.shut()
	timer := time.NewTimer(watchEvery)
	defer timer.Stop()
	for {
		var tick <-chan time.Time
		if w.s.hub.listened() {
			tick = timer.C
		}
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
		case <-tick:
			timer.Reset(watchEvery)
		}
		for busy := true; busy && w.ctx.Err() == nil; {
			// Callers that were just answered come back at once; a moment later their next calls share a transaction.
			runtime.Gosched()
			calls := w.next()
			w.write(calls)
			busy = len(calls) > 0
			w.look(busy)
			w.serve()
		}
	}
}

// shut answers the calls that are left and gives the connection back.
func (w *writer) shut() {
	w.mu.Lock()
	w.closed = true
	left := append(w.queue, w.reads...)
	w.queue, w.reads = nil, nil
	w.mu.Unlock()
	for _, c := range left {
		c.finish(errClosed)
	}
	if w.session != nil {
		w.session.close()
	}
}

// write writes calls: neighbours that can be merged in one transaction, the others alone.
func (w *writer) write(calls []*call) {
	for len(calls) > 0 {
		n := 1
		if calls[0].lent == nil {
			for n < len(calls) && calls[n].lent == nil {
				n++
			}
		}
		w.transact(calls[:n])
		calls = calls[n:]
	}
}

// transact writes calls in one transaction, and each alone when that fails: one of them may be at fault, or the disk may
// have room for some of them only, and none is to suffer for another.
func (w *writer) transact(calls []*call) {
	for _, c := range w.attempt(calls) {
		for alone := []*call{c}; len(alone) > 0; {
			alone = w.attempt(alone)
		}
	}
}

// attempt tries to write calls in one transaction and returns those that have to be tried again.
func (w *writer) attempt(calls []*call) []*call {
	calls = w.begin(calls)
	if len(calls) == 0 {
		return nil
	}
	work := w.s.newWork(context.Background(), w.session, w.s.origin)
	fate, err := undone, w.runAll(work, calls)
	if err == nil {
		fate, err = w.commit(work)
	} else {
		w.rollback(err)
	}
	if fate != undone {
		// Events are hints: those of a commit that perhaps did not happen do no harm.
		w.s.hub.publish(work.events.List)
		if fate == done {
			w.watch.wrote(work)
		}
		for _, c := range calls {
			c.finish(err)
		}
		return nil
	}
	busy := isBusy(err)
	if busy {
		w.otherAt = time.Now()
	}
	if len(calls) == 1 && (!busy || calls[0].lent != nil) {
		calls[0].finish(err)
		return nil
	}
	for _, c := range calls {
		c.state.Store(pending)
	}
	return calls
}

// begin opens a transaction that may write, and returns the calls that still wait for one. While somebody else holds the
// lock it tries again, for as long as there are callers.
func (w *writer) begin(calls []*call) []*call {
	if time.Since(w.otherAt) < company {
		w.pause(courtesy)
	}
	for wait := courtesy; ; {
		calls = w.waiting(calls)
		if len(calls) == 0 {
			w.unblock()
			return nil
		}
		err := w.open()
		if err == nil {
			break
		}
		if !isBusy(err) {
			w.blockedSince.Store(0)
			for _, c := range calls {
				c.finish(err)
			}
			return nil
		}
		w.otherAt = time.Now()
		w.blockedSince.CompareAndSwap(0, w.otherAt.UnixMicro())
		for _, c := range calls {
			c.blockedSince.Store(w.blockedSince.Load())
		}
		if !w.pause(wait) {
			for _, c := range calls {
				c.finish(errClosed)
			}
			return nil
		}
		wait = min(wait+courtesy, 5*courtesy)
		w.look(false)
		w.serve()
	}
	w.blockedSince.Store(0)
	taken := calls[:0:0]
	for _, c := range calls {
		if c.take() {
			taken = append(taken, c)
		}
	}
	if len(taken) == 0 {
		w.rollback(nil)
	}
	return taken
}

// unblock forgets the transaction that was waited for when nobody waits any more. Calls that wait in the queue meet it next.
func (w *writer) unblock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.blockedSince.Store(0)
	}
}

// waiting leaves out the calls whose callers have left or whose contexts have ended.
func (w *writer) waiting(calls []*call) []*call {
	left := calls[:0:0]
	for _, c := range calls {
		if c.ended() {
			c.finish(w.s.waited(c))
			continue
		}
		left = append(left, c)
	}
	return left
}

// connect takes a connection for the writer out of the pool.
func (w *writer) connect(ctx context.Context) error {
	session, err := openSession(ctx, w.s.db)
	if err != nil {
		return fmt.Errorf("sqlitestore: the writer's connection: %w", err)
	}
	w.session = session
	w.watch.forget()
	_ = forgetStats(ctx, session, w.s.tables) // somebody else writes just now; the next heartbeat tries again
	return nil
}

// open begins a transaction on the writer's connection, a new one if need be, and looks whether the file is still there.
func (w *writer) open() error {
	fresh := w.session == nil
	if fresh {
		if err := w.connect(w.ctx); err != nil {
			return err
		}
	}
	if _, err := w.session.ExecContext(context.Background(), "begin immediate"); err != nil {
		if isBusy(err) {
			return err
		}
		// Whatever is wrong with the connection, a new one may do better, and nothing has been written.
		w.drop()
		if !fresh {
			return w.open()
		}
		return fmt.Errorf("sqlitestore: begin: %w", err)
	}
	if err := w.s.file.check(); err != nil {
		w.rollback(err)
		return err
	}
	return nil
}

func (w *writer) drop() {
	w.session.discard()
	w.session = nil
}

// runAll runs the calls of one transaction: first all plain inserts as one, then the others.
func (w *writer) runAll(work *work, calls []*call) error {
	if err := insertMerged(work, calls); err != nil {
		return err
	}
	for _, c := range calls {
		switch {
		case c.lent != nil:
			if err := w.lend(work, c); err != nil {
				return err
			}
		case c.run != nil:
			if err := c.run(work); err != nil {
				return err
			}
		}
	}
	return nil
}

// lend lets the caller's own goroutine write the transaction and waits for its verdict.
func (w *writer) lend(work *work, c *call) error {
	w.blockedSince.Store(time.Now().UnixMicro())
	defer w.blockedSince.Store(0)
	c.lent <- work
	if err := <-c.returned; err != nil {
		return err
	}
	return work.conclude()
}

// pause waits, and is false when the store is closed.
func (w *writer) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
