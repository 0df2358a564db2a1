package engine

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

const (
	sweepEvery = time.Second
	sweepLimit = 1000
	pruneEvery = time.Minute
	pruneLimit = 5000
)

// choreFailing paces the calls of a chore that fail.
var choreFailing = backoff{least: 500 * time.Millisecond, most: 30 * time.Second}

// chore is a loop that repeats one store call while this server leads: sweep and prune.
type chore struct {
	s     *Server
	name  string
	wake  *Signal
	every time.Duration
	limit int
	do    func(ctx context.Context, s driver.Store) (int, error)
	dueAt time.Time
	// failing paces calls that fail.
	failing backoff
}

func newSweep(s *Server) *chore {
	return &chore{s: s, name: "sweep", wake: newSignal(), every: sweepEvery, limit: sweepLimit, failing: choreFailing,
		do: func(ctx context.Context, store driver.Store) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			return store.Sweep(ctx, sweepLimit)
		}}
}

func newPrune(s *Server) *chore {
	params := driver.PruneParams{Retention: s.cfg.Retention, Limit: pruneLimit}
	return &chore{s: s, name: "prune", wake: newSignal(), every: pruneEvery, limit: pruneLimit, failing: choreFailing,
		do: func(ctx context.Context, store driver.Store) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, pruneTimeout)
			defer cancel()
			return store.Prune(ctx, params)
		}}
}

func (c *chore) Name() string  { return c.name }
func (c *chore) Wake() *Signal { return c.wake }

func (c *chore) Plan(now time.Time) (Call, time.Duration) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leader.valid(now) {
		return nil, Never
	}
	if wait := c.dueAt.Sub(now); wait > 0 {
		return nil, wait
	}
	return func(ctx context.Context) Apply {
		n, err := c.do(ctx, s.cfg.Store)
		return func(now time.Time) time.Duration { return c.apply(now, n, err) }
	}, 0
}

func (c *chore) apply(now time.Time, n int, err error) time.Duration {
	if err != nil {
		c.s.report(now, c.name, err)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	switch {
	case err != nil:
		c.dueAt = now.Add(min(c.s.backOff(&c.failing), c.every))
	case n >= c.limit:
		c.dueAt = now
	default:
		c.dueAt = now.Add(c.s.jitter(c.every))
	}
	if err == nil {
		c.failing.reset()
	}
	return c.dueAt.Sub(now)
}
