package engine

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// heartbeatLeast is the first wait after a heartbeat that failed.
const heartbeatLeast = 100 * time.Millisecond

// heartbeat is the loop that tells the store that the server lives, and learns which jobs the store thinks it runs.
type heartbeat struct {
	s    *Server
	wake *Signal
	// join paces attempts of the first heartbeat, failing those of later ones.
	join, failing backoff
	// dueAt is when the next heartbeat is due without a reason to hurry.
	dueAt time.Time
	// hurry says that an event asked for one at once.
	hurry bool
	// number counts heartbeats, to mark the runs that an answer lists.
	number uint64
	// busy says that one is in flight.
	busy bool
	// strays are the leases of no local job that the last answer listed, with the time at which one first did.
	strays map[driver.Ref]time.Time
	// certain says that since it began no claim can have brought anything: the server is stopping, and none was under way.
	certain bool
}

func (h *heartbeat) Name() string  { return "heartbeat" }
func (h *heartbeat) Wake() *Signal { return h.wake }

// soon asks for a heartbeat now. The caller holds the lock.
func (h *heartbeat) soon() {
	h.hurry = true
	h.wake.Set()
}

func (h *heartbeat) Plan(now time.Time) (Call, time.Duration) {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return nil, Never
	}
	if wait := h.dueAt.Sub(now); wait > 0 && !h.hurry {
		return nil, wait
	}
	h.hurry = false
	h.busy = true
	h.certain = s.stopping && len(s.table.claims) == 0
	h.number++
	info := s.info()
	s.table.settled = map[driver.Ref]struct{}{}
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.heartbeatTimeout())
		defer cancel()
		d, err := s.cfg.Store.Heartbeat(ctx, info)
		return func(applied time.Time) time.Duration { return h.apply(now, applied, d, err) }
	}, 0
}

func (h *heartbeat) apply(began, now time.Time, d driver.Directives, err error) time.Duration {
	s := h.s
	s.mu.Lock()
	h.busy = false
	defer func() {
		s.table.settled = nil
		if s.stopping {
			s.stopper.wake.Set()
		}
		s.mu.Unlock()
		if err != nil {
			s.report(now, "heartbeat", err)
		}
	}()
	if err != nil {
		wait := s.backOff(&h.failing)
		if !s.joined {
			wait = h.join.wait()
		}
		h.dueAt = now.Add(wait)
		return wait
	}
	h.dueAt = began.Add(s.cfg.HeartbeatInterval)
	h.failing.reset()
	s.beatAt = began
	s.lift()
	h.pause(d.Paused, now)
	h.reconcile(began, now, d.Leases)
	if !s.joined {
		s.joined = true
		close(s.join)
		s.wakeAll()
	}
	return h.dueAt.Sub(now)
}

// pause takes in which queues are paused.
func (h *heartbeat) pause(names []string, now time.Time) {
	paused := make(map[string]bool, len(names))
	for _, name := range names {
		paused[name] = true
	}
	for _, p := range h.s.pools {
		opened, closed := p.picker.pause(paused)
		if closed {
			h.s.giveBackQueue(p, now, func(r *Run) bool { return paused[r.job.Queue] })
		}
		if opened {
			p.hint()
		}
	}
}

// reconcile compares what the store thinks this server runs with what it holds. A lease that no job here belongs to may be that of a
// claim whose reply is still to come. That is not the case when every claim under way began after such a lease was first seen;
// its age alone says little, since the store's clock may have jumped.
func (h *heartbeat) reconcile(began, now time.Time, leases []driver.Lease) {
	s := h.s
	strays := map[driver.Ref]time.Time{}
	for _, l := range leases {
		if r := s.table.find(l.Ref); r != nil {
			r.beat = h.number
			if l.Cancel {
				h.cancel(r, now)
			}
			continue
		}
		if _, ok := s.table.settled[l.Ref]; ok || s.table.held[l.ID] != nil {
			continue
		}
		first, again := h.strays[l.Ref]
		if h.certain || again && l.Age > 2*s.cfg.HeartbeatInterval && s.table.claimingSince(first) {
			s.lostLease(l.Ref, now)
			continue
		}
		if !again {
			first = now
		}
		strays[l.Ref] = first
	}
	h.strays = strays
	s.doubt = s.doubt && !h.certain
	unlisted := func(r *Run) bool { return r.phase != ended && r.beat != h.number && r.heldAt.Before(began) }
	for _, r := range s.table.runs(unlisted) {
		s.lose(r, now)
	}
}

// cancel ends a job whose deletion was asked for. One that has not started is reported at once.
func (h *heartbeat) cancel(r *Run, now time.Time) {
	if r.phase == ahead {
		r.pool.drop(r)
		r.pool.freed(now)
		h.s.outbox.add(r, driver.Outcome{Ref: r.job.Ref, State: driver.Deleted, Reason: "canceled"}, now)
		return
	}
	h.s.tell(r, h.s.cfg.Causes.Canceled, now)
}

// lostLease sends back a job that the store says this server runs and that it does not: the reply of its claim was lost.
func (s *Server) lostLease(ref driver.Ref, now time.Time) {
	r := &Run{server: s, job: driver.Job{Ref: ref}, heldAt: now, heap: -1}
	s.table.add(r)
	s.outbox.add(r, driver.Outcome{Ref: ref, State: driver.Enqueued, Refund: true, Reason: "lost"}, now)
}

// checkFence fences the server when its heartbeats have failed for so long that others may soon take its jobs. Besides the
// expiry loop, everything that is about to start a job asks it, since a process that stood still may wake up anywhere. The
// caller holds the lock.
func (s *Server) checkFence(now time.Time) {
	if s.joined && !s.fenced && now.Sub(s.beatAt) > s.cfg.fenceAfter() {
		s.fence(now)
	}
}

// fence stops claiming and ends all runs: the store has not heard from this server for so long that it may soon give its jobs
// to others. The caller holds the lock.
func (s *Server) fence(now time.Time) {
	s.fenced = true
	s.leader.wake.Set()
	s.giveBackAll(now)
	s.table.eachRunning(func(r *Run) { s.lose(r, now) })
}

// lift lets the server go on after a heartbeat got through. The caller holds the lock.
func (s *Server) lift() {
	if s.fenced || s.gone != nil {
		s.fenced, s.gone = false, nil
		s.wakeAll()
	}
}

func (s *Server) info() driver.ServerInfo {
	info := driver.ServerInfo{
		ID: s.cfg.ID, Host: s.cfg.Host, PID: s.cfg.PID, Version: s.cfg.Version,
		Kinds: s.cfg.Kinds, Running: s.running, StartedAt: s.startedAt,
	}
	for _, p := range s.cfg.Pools {
		info.Queues = append(info.Queues, p.Queues...)
		info.Workers += p.Workers
	}
	return info
}
