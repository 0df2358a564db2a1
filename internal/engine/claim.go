package engine

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// idleLeast is the first wait of a pool that found nothing and that no notification will wake.
const idleLeast = 5 * time.Millisecond

// lane is a loop that claims for one pool. A pool has as many as the store says that claims in flight pay.
type lane struct {
	s    *Server
	pool *pool
	wake *Signal
	// failing paces claims that fail, the next of which is due at retryAt.
	failing backoff
	retryAt time.Time
	// heard is the number of the last hint before the claim that is under way.
	heard uint64
}

func newLane(s *Server, p *pool) *lane {
	return &lane{s: s, pool: p, wake: newSignal(), failing: backoff{least: 10 * time.Millisecond, most: 5 * time.Second}}
}

func (l *lane) Name() string  { return "claim" }
func (l *lane) Wake() *Signal { return l.wake }

func (l *lane) Plan(now time.Time) (Call, time.Duration) {
	s, p := l.s, l.pool
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.claiming() {
		return nil, Never
	}
	n := p.room(now)
	p.parked = n == 0
	if p.parked {
		return nil, Never
	}
	if wait := max(p.coolAt.Sub(now), l.retryAt.Sub(now)); wait > 0 {
		return nil, wait
	}
	if wait := p.pollAt.Sub(now); wait > 0 && !p.more {
		return nil, wait
	}
	queues, limit := p.picker.draw(n, now)
	if limit == 0 {
		return nil, Never
	}
	l.heard = p.picker.heard
	// The pool's other lanes leave polling to this one while it asks.
	p.pollAt = now.Add(callTimeout)
	p.asked += limit
	s.table.claims[l] = now
	q := driver.ClaimQuery{Queues: queues, Kinds: s.cfg.Kinds, Limit: limit, Server: s.cfg.ID}
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		jobs, err := s.cfg.Store.Claim(ctx, q)
		return func(now time.Time) time.Duration { return l.apply(now, q, jobs, err) }
	}, 0
}

func (l *lane) apply(now time.Time, q driver.ClaimQuery, jobs []driver.Job, err error) time.Duration {
	s, p := l.s, l.pool
	s.mu.Lock()
	p.asked -= q.Limit
	delete(s.table.claims, l)
	if s.stopping {
		s.stopper.wake.Set()
	}
	if err != nil {
		p.more = true
		s.doubt = true
		wait := s.backOff(&l.failing)
		l.retryAt = now.Add(wait)
		s.mu.Unlock()
		s.report(now, "claim", err)
		return wait
	}
	l.failing.reset()
	s.checkFence(now)
	var begin []*Run
	got := map[string]int{}
	for i := range jobs {
		got[jobs[i].Queue]++
		if r := s.take(p, jobs[i], now); r != nil {
			begin = append(begin, r)
		}
	}
	s.stats.Claimed += uint64(len(jobs))
	short := len(jobs) < q.Limit
	p.picker.took(q.Queues, got, short, l.heard, now)
	if short {
		p.more = p.picker.heard != l.heard
		p.coolAt = now.Add(s.cfg.FetchCooldown)
	} else {
		p.more = true
		p.coolAt = time.Time{}
	}
	if len(jobs) == 0 {
		s.stats.EmptyFetches++
	} else {
		p.idle.reset()
	}
	p.pollAt = now.Add(l.pollWait())
	s.mu.Unlock()
	for _, r := range begin {
		s.cfg.Executor.Start(r)
	}
	return 0
}

// pollWait is how long to wait without a hint. Where the store notifies, polls are a safety net, and the pools and the
// promoter of a server share one per PollInterval.
func (l *lane) pollWait() time.Duration {
	s := l.s
	if s.listening {
		return s.jitter(s.cfg.PollInterval * time.Duration(len(s.pools)+1))
	}
	return s.jitter(l.pool.idle.wait())
}

// take puts a claimed job into the table and returns it if a worker is free to start it. Otherwise it waits, or goes back at
// once when the server has stopped claiming meanwhile. The caller holds the lock.
func (s *Server) take(p *pool, job driver.Job, now time.Time) *Run {
	r := &Run{server: s, pool: p, job: job, heldAt: now, heap: -1}
	if older := s.table.add(r); older != nil {
		s.lose(older, now)
	}
	if s.stopping || s.fenced || s.outbox.full {
		s.giveBack(r, now)
		return nil
	}
	if len(p.queue) == 0 && p.running < p.workers {
		s.start(r, now)
		return r
	}
	p.queue = append(p.queue, r)
	s.expiry.at(now.Add(giveBackAfter))
	return nil
}

// giveBack returns a job that has not started to the store: the attempt is refunded and the history says nothing. The caller
// holds the lock and has taken the run out of its pool's line.
func (s *Server) giveBack(r *Run, now time.Time) {
	s.outbox.add(r, driver.Outcome{Ref: r.job.Ref, State: driver.Enqueued, Refund: true}, now)
}

// giveBackAll gives back every job that has not started.
func (s *Server) giveBackAll(now time.Time) {
	for _, p := range s.pools {
		s.giveBackQueue(p, now, func(*Run) bool { return true })
	}
}

// giveBackQueue gives back the jobs of a pool that have not started and for which which says so.
func (s *Server) giveBackQueue(p *pool, now time.Time, which func(*Run) bool) {
	kept := p.queue[:0]
	for _, r := range p.queue {
		if which(r) {
			s.giveBack(r, now)
		} else {
			kept = append(kept, r)
		}
	}
	clear(p.queue[len(kept):])
	p.queue = kept
	p.freed(now)
}
