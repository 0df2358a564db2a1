package kiln

import (
	"errors"
	"time"
)

// Stats is what a server has done since its start, and what it does now.
type Stats struct {
	// Running is how many handlers run, Capacity how many may.
	Running, Capacity int
	// Claimed counts the jobs taken from the store. The others count outcomes that were stored, by what they became:
	// Succeeded; Failed for good; Retried later; Snoozed; Canceled, that is deleted. Abandoned counts runs that ignored a
	// shutdown, Stale and Busy outcomes that the store answered so, EmptyFetches claims that found nothing.
	Claimed, Succeeded, Failed, Retried, Snoozed, Canceled, Abandoned, Stale, Busy, EmptyFetches uint64
	// Pending is how many outcomes wait to be stored.
	Pending int
	// Stuck is how many running handlers have ignored the end of their context for longer than KillGrace.
	Stuck int
	// HeartbeatAge is the time since the last heartbeat that got through, 0 before the first.
	HeartbeatAge time.Duration
	// Leader says that this server does the maintenance of all, Fenced that it has stopped itself because the store could not
	// be reached, Listening that the store tells it of changes.
	Leader, Fenced, Listening bool
}

// Stats returns the server's numbers. Before Run they are zero.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	e := s.engine
	s.mu.Unlock()
	if e == nil {
		capacity := 0
		for _, p := range s.cfg.Pools {
			capacity += p.Workers
		}
		return Stats{Capacity: capacity}
	}
	st := e.Stats()
	return Stats{
		Running: st.Running, Capacity: st.Capacity,
		Claimed: st.Claimed, Succeeded: st.Succeeded, Failed: st.Failed, Retried: st.Retried, Snoozed: st.Snoozed,
		Canceled: st.Canceled, Abandoned: st.Abandoned, Stale: st.Stale, Busy: st.Busy, EmptyFetches: st.EmptyFetches,
		Pending: st.Pending, Stuck: st.Stuck, HeartbeatAge: st.HeartbeatAge,
		Leader: st.Leader, Fenced: st.Fenced, Listening: st.Listening,
	}
}

// Healthy returns nil while the server does its work. It returns an error while it is not running, has fenced itself off, has
// not got a heartbeat through for half of DeadAfter, has results that wait for more than 30 seconds or so many that it stopped
// claiming, or while its store was taken away. It suits readiness and liveness probes.
func (s *Server) Healthy() error {
	s.mu.Lock()
	e := s.engine
	s.mu.Unlock()
	if e == nil {
		return errors.New("kiln: server is not running")
	}
	return e.Healthy()
}
