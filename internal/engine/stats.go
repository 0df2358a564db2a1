package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Counters are the totals that a server counts from its start.
type Counters struct {
	Claimed, Succeeded, Failed, Retried, Snoozed, Canceled, Abandoned, Stale, Busy, EmptyFetches uint64
}

// Stats is a server's state at one moment.
type Stats struct {
	Counters
	Running, Capacity, Pending, Stuck int
	HeartbeatAge                      time.Duration
	Leader, Fenced, Listening         bool
}

// Stats reads the server's state.
func (s *Server) Stats() Stats {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{
		Counters: s.stats, Running: s.running, Pending: s.outbox.pending, Stuck: s.stuck,
		Leader: s.leader.valid(now), Fenced: s.fenced, Listening: s.listening,
	}
	for _, p := range s.pools {
		st.Capacity += p.workers
	}
	if s.joined {
		st.HeartbeatAge = now.Sub(s.beatAt)
	}
	return st
}

var (
	errNotRunning = errors.New("kiln: server is not running")
	errFenced     = errors.New("kiln: server has fenced itself off: no heartbeat got through for too long")
)

// Healthy returns nil while the server does its work, and otherwise what is wrong.
func (s *Server) Healthy() error {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch age := now.Sub(s.beatAt); {
	case !s.joined || s.left:
		if s.gone != nil {
			return s.gone
		}
		return errNotRunning
	case s.gone != nil:
		return s.gone
	case s.fenced:
		return errFenced
	case age > s.cfg.DeadAfter/2:
		return fmt.Errorf("kiln: last heartbeat was %s ago, more than %s", age.Round(time.Millisecond), s.cfg.DeadAfter/2)
	}
	if s.outbox.full {
		return fmt.Errorf("kiln: %d results wait to be written, so many that claiming has stopped", s.outbox.pending)
	}
	if at := s.outbox.oldest(); !at.IsZero() && now.Sub(at) > staleOutcomes {
		return fmt.Errorf("kiln: %d results wait to be written, the oldest for %s, more than %s",
			s.outbox.pending, now.Sub(at).Round(time.Millisecond), staleOutcomes)
	}
	return nil
}

// reportGap is the least time between two log messages about the same operation.
const reportGap = 10 * time.Second

// report logs that an operation failed, not more often than once per gap.
func (s *Server) report(now time.Time, operation string, err error) {
	s.mu.Lock()
	last, seen := s.reported[operation]
	quiet := seen && now.Sub(last) < reportGap
	if !quiet {
		s.reported[operation] = now
	}
	if errors.Is(err, driver.ErrGone) {
		s.gone = err
	}
	s.mu.Unlock()
	if !quiet {
		s.cfg.Logger.Error("kiln: a call to the store failed; it will be tried again", "operation", operation, "error", err)
	}
}
