package engine

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

const (
	promoteLimit = 1000
	// promoteGap is the least time between promotions that only a hint asks for.
	promoteGap = 50 * time.Millisecond
)

// promoter is the loop that moves due jobs to their queues. Every server runs one.
type promoter struct {
	s       *Server
	wake    *Signal
	failing backoff
	// dueAt is when to promote next.
	dueAt time.Time
	// last is when the last promotion began.
	last time.Time
}

func (p *promoter) Name() string  { return "promote" }
func (p *promoter) Wake() *Signal { return p.wake }

// due makes the promoter look no later than t. The caller holds the lock.
func (p *promoter) due(t, now time.Time) {
	if t.Before(p.dueAt) {
		p.dueAt = t
		p.wake.Set()
	}
}

// hint says that a job may be due earlier than the promoter knows. Hints are taken together, so that a stream of them costs
// no more than one promotion per gap. The caller holds the lock.
func (p *promoter) hint(now time.Time) {
	t := p.last.Add(promoteGap)
	if t.Before(now) {
		t = now
	}
	p.due(t, now)
}

func (p *promoter) Plan(now time.Time) (Call, time.Duration) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.working() {
		return nil, Never
	}
	if wait := p.dueAt.Sub(now); wait > 0 {
		return nil, wait
	}
	p.last = now
	// Until the answer says more, look again after a poll; a hint that comes during the call brings it forward.
	p.dueAt = now.Add(p.period())
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		done, err := s.cfg.Store.Promote(ctx, promoteLimit)
		return func(now time.Time) time.Duration { return p.apply(now, done, err) }
	}, 0
}

func (p *promoter) apply(now time.Time, done driver.Promoted, err error) time.Duration {
	s := p.s
	if err != nil {
		s.report(now, "promote", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		p.dueAt = now.Add(s.backOff(&p.failing))
		return p.dueAt.Sub(now)
	}
	p.failing.reset()
	if len(done.Queues) > 0 {
		s.hintPools(done.Queues...)
	}
	switch {
	case done.Count >= promoteLimit:
		p.dueAt = now
	case done.Next > 0:
		p.due(now.Add(done.Next), now)
	}
	return p.dueAt.Sub(now)
}

// period is the wait while nothing is known to come due. Where the store notifies, the pools and the promoter share one poll
// per PollInterval.
func (p *promoter) period() time.Duration {
	s := p.s
	if s.listening {
		return s.jitter(s.cfg.PollInterval * time.Duration(len(s.pools)+1))
	}
	return s.jitter(s.cfg.PollInterval)
}
