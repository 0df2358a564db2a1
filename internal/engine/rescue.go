package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

const (
	rescueLimit = 1000
	// unsilent is a silence that no server reaches: with it a pass finds only jobs whose server has no row at all.
	unsilent = 100 * 365 * 24 * time.Hour
)

// rescuer is the loop that sends the jobs of dead servers back to their queues, while this server leads. A pass goes on, one
// store call at a time, until no orphan is left.
type rescuer struct {
	s     *Server
	wake  *Signal
	dueAt time.Time
	// begin says that the lease was just renewed for a pass to begin.
	begin bool
	// outs are the outcomes of the orphans just found, to be written by the next call.
	outs []driver.Outcome
	// more says that the listing was full, so that there may be others.
	more bool
}

func (r *rescuer) Name() string  { return "rescue" }
func (r *rescuer) Wake() *Signal { return r.wake }

func (r *rescuer) Plan(now time.Time) (Call, time.Duration) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leader.valid(now) {
		r.outs, r.more, r.begin = nil, false, false
		return nil, Never
	}
	if len(r.outs) > 0 {
		return r.write(r.outs), 0
	}
	if !r.begin && !r.more {
		wait := r.dueAt.Sub(now)
		if wait <= 0 {
			s.leader.soon(now)
			wait = Never
		}
		return nil, wait
	}
	r.begin = false
	r.dueAt = now.Add(s.cfg.HeartbeatInterval)
	// A new leader has not watched the others for long enough to call one silent: heartbeats may have failed for all.
	silence := s.cfg.DeadAfter
	if s.leader.held < s.cfg.DeadAfter+s.cfg.HeartbeatInterval {
		silence = unsilent
	}
	return r.list(silence), 0
}

// renewed begins a pass that is due, or nearly so, right behind a renewal of the lease. When the store's clock jumps, all servers
// look silent until their next heartbeat; but the jump has ended the lease too, and the renewal says so. The caller holds the
// lock.
func (r *rescuer) renewed(now time.Time) {
	r.begin = r.begin || !r.dueAt.After(now.Add(r.s.cfg.HeartbeatInterval/5))
	r.wake.Set()
}

func (r *rescuer) list(silence time.Duration) Call {
	s := r.s
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		orphans, err := s.cfg.Store.Orphans(ctx, silence, rescueLimit)
		return func(now time.Time) time.Duration {
			if err != nil {
				s.report(now, "rescue", err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			r.more = err == nil && len(orphans) >= rescueLimit
			for i := range orphans {
				r.outs = append(r.outs, s.rescue(&orphans[i]))
			}
			if len(r.outs) > 0 {
				return 0
			}
			return r.rest(now)
		}
	}
}

func (r *rescuer) write(outs []driver.Outcome) Call {
	s := r.s
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		results, err := s.cfg.Store.Finish(ctx, s.cfg.ID, outs)
		return func(now time.Time) time.Duration {
			if err != nil {
				s.report(now, "rescue", err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			r.outs = nil
			applied := 0
			for _, result := range results {
				if result == driver.Applied {
					applied++
				}
			}
			if applied > 0 {
				s.hintPools()
			}
			// A pass that moved nothing would find the same orphans again at once.
			if r.more && applied > 0 {
				return 0
			}
			r.more = false
			return r.rest(now)
		}
	}
}

func (r *rescuer) rest(now time.Time) time.Duration {
	r.dueAt = now.Add(r.s.cfg.HeartbeatInterval)
	return r.s.cfg.HeartbeatInterval
}

// rescue says what becomes of an orphan. It needs only what the row stores, since this server may not know the job's kind.
func (s *Server) rescue(o *driver.Orphan) driver.Outcome {
	out := driver.Outcome{
		Ref: o.Ref, State: driver.Enqueued, Reason: "orphaned",
		Error: fmt.Sprintf("kiln: server %s stopped responding while it ran attempt %d", o.Server, o.Attempt),
	}
	switch {
	case o.Cancel:
		out.State = driver.Deleted
	case o.Attempt >= o.MaxAttempts:
		out.State = driver.Failed
	case o.LastReason == "orphaned":
		// Twice in a row: the job may be what takes servers down.
		out.State = driver.Scheduled
		out.Delay = s.cfg.RescueDelay(o.Attempt)
	}
	return out
}
