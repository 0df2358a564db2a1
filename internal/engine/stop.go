package engine

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// stopPhase is how far a shutdown has come.
type stopPhase uint8

const (
	// draining: running jobs may finish.
	draining stopPhase = iota
	// canceling: their contexts have ended with the shutdown cause.
	canceling
	// abandoning: those that ignored it were reported for.
	abandoning
	// flushing: results are still being written, and claims that are under way are heard and given back.
	flushing
	// leaving: the server's row is being removed.
	leaving
	// left: nothing remains to be done.
	left
)

// stopper is the loop that takes a server down, phase by phase. It rests until BeginStop.
type stopper struct {
	s     *Server
	wake  *Signal
	phase stopPhase
	// since is when the phase began.
	since time.Time
	// asked says that a last heartbeat was asked for.
	asked bool
	done  chan struct{}
}

func (p *stopper) Name() string  { return "stop" }
func (p *stopper) Wake() *Signal { return p.wake }

// BeginStop begins the shutdown: no more claims, promotions or leading; jobs that have not started go back.
func (s *Server) BeginStop() {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.stopping = true
	s.stopper.since = now
	s.giveBackAll(now)
	s.wakeAll()
}

// Stopped is closed when the shutdown has come to its end.
func (s *Server) Stopped() <-chan struct{} { return s.stopper.done }

func (p *stopper) Plan(now time.Time) (Call, time.Duration) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		return nil, Never
	}
	for {
		idle := s.running == 0 && len(s.table.claims) == 0
		switch p.phase {
		case draining:
			if wait := p.since.Add(s.cfg.ShutdownTimeout).Sub(now); !idle && wait > 0 {
				return nil, wait
			}
			s.table.eachRunning(func(r *Run) { s.tell(r, s.cfg.Causes.Shutdown, now) })
			p.enter(canceling, now)
		case canceling:
			if wait := p.since.Add(s.cfg.KillGrace).Sub(now); !idle && wait > 0 {
				return nil, wait
			}
			p.abandon(now)
			p.enter(abandoning, now)
		case abandoning:
			if wait := p.since.Add(s.cfg.KillGrace).Sub(now); !idle && wait > 0 {
				return nil, wait
			}
			p.enter(flushing, now)
		case flushing:
			if wait := p.since.Add(flushTimeout).Sub(now); !p.settled() && wait > 0 {
				return nil, wait
			}
			p.lose()
			p.enter(leaving, now)
		case leaving:
			// A heartbeat that is still in flight could bring the row back.
			s.left = true
			if s.heartbeat.busy {
				return nil, Never
			}
			return p.leave, 0
		case left:
			return nil, Never
		}
	}
}

// settled reports whether nothing is left to be heard or written. Where the store may count jobs as the server's that it does not
// hold, a last heartbeat lists them, and they go back before the server's row goes.
func (p *stopper) settled() bool {
	s := p.s
	if len(s.table.claims) > 0 {
		return false
	}
	if s.doubt && !p.asked {
		p.asked = true
		s.heartbeat.soon()
	}
	return !s.doubt && s.outbox.pending == 0
}

func (p *stopper) enter(phase stopPhase, now time.Time) { p.phase, p.since = phase, now }

// abandon reports for the runs that ignored the end of their contexts: they go back to their queues, and what they return
// later is ignored.
func (p *stopper) abandon(now time.Time) {
	s := p.s
	s.table.eachRunning(func(r *Run) {
		r.abandoned = true
		s.stats.Abandoned++
		if r.lost {
			return
		}
		// The table keeps its run, whose goroutine still counts as running; the outbox gets a stand-in.
		stand := &Run{server: s, pool: r.pool, job: driver.Job{Ref: r.job.Ref}, heap: -1}
		s.outbox.add(stand, driver.Outcome{Ref: r.job.Ref, State: driver.Enqueued, Refund: true, Reason: "shutdown"}, now)
	})
}

// lose gives up on the results that could not be written in time.
func (p *stopper) lose() {
	s := p.s
	if s.outbox.pending == 0 {
		return
	}
	var ids []int64
	for _, f := range s.outbox.shards {
		for _, list := range [][]entry{f.writing, f.waiting} {
			for i := range list {
				ids = append(ids, list[i].out.ID)
			}
		}
	}
	s.cfg.Logger.Error("kiln: results could not be written before the server stopped; their jobs will be rescued", "jobs", ids)
}

func (p *stopper) leave(ctx context.Context) Apply {
	s := p.s
	ctx, cancel := context.WithTimeout(ctx, unregisterTimeout)
	defer cancel()
	err := s.cfg.Store.Unregister(ctx, s.cfg.ID)
	return func(now time.Time) time.Duration {
		if err != nil {
			s.report(now, "unregister", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		p.enter(left, now)
		close(p.done)
		return Never
	}
}
