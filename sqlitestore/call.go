package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// call is one caller's write on its way through the writer.
//
// What it works on belongs to the writer from the moment it is submitted: a caller whose context ends goes away, and must
// not share memory with it then. So inputs are copied before, and outputs are read only after done is closed.
type call struct {
	ctx context.Context
	// drafts are the jobs of a plain Insert, which the writer stores together with those of other calls.
	drafts []draft
	// run does everything else. An error means that the transaction is of no use any more.
	run func(w *work) error
	// lent, when not nil, makes the call alone in its transaction: the caller's own goroutine gets the work from it and
	// gives the verdict back on returned.
	lent     chan *work
	returned chan error
	// look, when not nil, reads on the writer's connection, outside of any transaction that writes; of all that it reads it
	// sees the same state if same is set.
	look func(r *reader) error
	same bool

	state atomic.Int32
	// blockedSince is the writer's when the call met somebody else's transaction.
	blockedSince atomic.Int64

	err  error
	done chan struct{}
}

// The states of a call. A caller may leave a pending call; a running one is waited for a moment.
const (
	pending int32 = iota
	running
	abandoned
)

// grace is how long a caller whose context has ended waits for its call when that is being written just now.
const grace = time.Second

func (c *call) finish(err error) {
	c.err = err
	close(c.done)
}

// take claims the call for the writer; false when its caller has left.
func (c *call) take() bool { return c.state.CompareAndSwap(pending, running) }

// ended reports whether nobody waits for the call any more.
func (c *call) ended() bool {
	return c.state.Load() == abandoned || c.state.Load() == pending && c.ctx.Err() != nil
}

// do sends a call through the writer and waits for it.
func (s *Store) do(ctx context.Context, run func(w *work) error) error {
	return s.submit(&call{ctx: ctx, run: func(w *work) error {
		if err := run(w); err != nil {
			return err
		}
		return w.conclude()
	}})
}

// doUnlessRefused is do for a write that refuses, with ErrNotFound or ErrClosed, what it finds before it has written anything: that
// is no reason to write again the calls that share its transaction.
func (s *Store) doUnlessRefused(ctx context.Context, run func(w *work) error) error {
	var refused error
	err := s.do(ctx, func(w *work) error {
		refused = run(w)
		if errors.Is(refused, driver.ErrNotFound) || errors.Is(refused, driver.ErrClosed) {
			return nil
		}
		return refused
	})
	if err == nil {
		err = refused
	}
	return err
}

// start hands the call to the writer.
func (s *Store) start(c *call) error {
	if err := s.usable(c.ctx); err != nil {
		return err
	}
	c.done = make(chan struct{})
	if !s.writer.add(c) {
		return errClosed
	}
	return nil
}

func (s *Store) submit(c *call) error {
	if err := s.start(c); err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-c.ctx.Done():
		if c.state.CompareAndSwap(pending, abandoned) {
			return s.waited(c)
		}
		if c.look != nil {
			<-c.done // a read shares memory with its caller
			return c.err
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-c.done:
		case <-timer.C:
			return fmt.Errorf("%w: the write was under way: %w", driver.ErrUnknown, c.ctx.Err())
		}
	}
	return c.err
}

// errClosed is what calls get after Close.
var errClosed = errors.New("sqlitestore: the store is closed")

// usable fails when the context has ended, the store is closed, or its file is known to be gone.
func (s *Store) usable(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.closed.Load():
		return errClosed
	}
	return s.file.gone()
}

// waited explains why a call that never began ran out of time.
func (s *Store) waited(c *call) error {
	err := c.ctx.Err()
	since := c.blockedSince.Load()
	if since == 0 {
		since = s.writer.blockedSince.Load()
	}
	if since == 0 {
		return err
	}
	return fmt.Errorf("sqlitestore: waited for the database's write lock, which a transaction has held for %s; "+
		"if the calling goroutine itself has one open, end it first or insert through Tx: %w",
		time.Since(time.UnixMicro(since)).Round(time.Millisecond), err)
}
