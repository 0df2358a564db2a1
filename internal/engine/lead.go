package engine

import (
	"context"
	"time"
)

const leaseName = "kiln.leader"

// leader is the loop that stands for leader: one server of all does what needs doing once.
type leader struct {
	s    *Server
	wake *Signal
	// leads says that this server holds the lease, held for how long without a break, by the store's clock.
	leads bool
	held  time.Duration
	// renewedAt is when the last successful renewal began.
	renewedAt time.Time
	dueAt     time.Time
}

func (l *leader) Name() string  { return "lead" }
func (l *leader) Wake() *Signal { return l.wake }

// valid reports whether the lease can still be trusted. The caller holds the lock.
func (l *leader) valid(now time.Time) bool {
	return l.leads && !l.s.stopping && !l.s.fenced && now.Sub(l.renewedAt) < l.s.cfg.LeaderTTL
}

func (l *leader) Plan(now time.Time) (Call, time.Duration) {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.DisableMaintenance || !s.joined {
		return nil, Never
	}
	if s.stopping || s.fenced {
		return l.planResign()
	}
	if wait := l.dueAt.Sub(now); wait > 0 {
		return nil, wait
	}
	third := s.cfg.LeaderTTL / 3
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, max(third, 100*time.Millisecond))
		defer cancel()
		held, ok, err := s.cfg.Store.Lead(ctx, leaseName, s.cfg.ID, s.cfg.LeaderTTL)
		return func(applied time.Time) time.Duration { return l.apply(now, applied, held, ok, err) }
	}, 0
}

func (l *leader) apply(began, now time.Time, held time.Duration, ok bool, err error) time.Duration {
	s := l.s
	if err != nil {
		s.report(now, "lead", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.dueAt = began.Add(s.jitter(s.cfg.LeaderTTL / 3))
	switch {
	case err != nil:
		if l.leads && now.Sub(l.renewedAt) >= s.cfg.LeaderTTL {
			l.leads = false
		}
	case !ok:
		l.leads = false
	default:
		// A lease that was not renewed in time was given up by the duties, even if nobody else took it.
		won := !l.valid(now)
		l.leads, l.held, l.renewedAt = true, held, began
		s.renewed(won, now)
	}
	return max(l.dueAt.Sub(now), time.Millisecond)
}

// soon renews the lease now. The caller holds the lock.
func (l *leader) soon(now time.Time) {
	l.dueAt = now
	l.wake.Set()
}

// renewed tells the leader's duties that the lease holds. Those that begin anew with it are due at once. All look again, since
// one may have found the lease run out just before. The caller holds the lock.
func (s *Server) renewed(won bool, now time.Time) {
	if won {
		s.rescuer.dueAt, s.recurrer.dueAt = time.Time{}, time.Time{}
	}
	s.rescuer.renewed(now)
	s.recurrer.wake.Set()
	for _, c := range s.chores {
		if won {
			c.dueAt = time.Time{}
		}
		c.wake.Set()
	}
}

// planResign gives the lease up when the server stops, so that another takes over while this one still waits for its jobs, and
// when it is fenced, since it does none of the leader's duties then.
func (l *leader) planResign() (Call, time.Duration) {
	if !l.leads {
		return nil, Never
	}
	l.leads = false
	s := l.s
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, unregisterTimeout)
		defer cancel()
		err := s.cfg.Store.Resign(ctx, leaseName, s.cfg.ID)
		return func(now time.Time) time.Duration {
			if err != nil {
				s.report(now, "resign", err)
			}
			return Never
		}
	}, 0
}
