package engine

import (
	"container/heap"
	"time"
)

// expiry is the loop that enforces time limits without asking the store: timeouts, jobs taken ahead that did not start, runs
// that ignore their end, and the fence. One heap serves all runs.
type expiry struct {
	s    *Server
	wake *Signal
	runs runHeap
	// planned is when the loop will look next.
	planned time.Time
}

func (e *expiry) Name() string  { return "expiry" }
func (e *expiry) Wake() *Signal { return e.wake }

// at makes the loop look no later than t.
func (e *expiry) at(t time.Time) {
	if e.planned.IsZero() || t.Before(e.planned) {
		e.planned = t
		e.wake.Set()
	}
}

// set makes the loop look at a run at t, instead of when it would have.
func (e *expiry) set(r *Run, t time.Time) {
	r.expiry = t
	if r.heap >= 0 {
		heap.Fix(&e.runs, r.heap)
	} else {
		heap.Push(&e.runs, r)
	}
	e.at(t)
}

func (e *expiry) remove(r *Run) {
	if r.heap >= 0 {
		heap.Remove(&e.runs, r.heap)
	}
}

func (e *expiry) Plan(now time.Time) (Call, time.Duration) {
	s := e.s
	s.mu.Lock()
	stuck := e.expire(now)
	e.giveBack(now)
	s.checkFence(now)
	wait := e.plan(now)
	s.mu.Unlock()
	if len(stuck) == 0 {
		return nil, wait
	}
	all := allStacks()
	for _, r := range stuck {
		s.cfg.Logger.Warn("kiln: a job ignores that its context has ended", "job", r.job.ID, "kind", r.job.Kind,
			"stack", stackOf(r.goroutine.Load(), all))
	}
	return nil, wait
}

// expire handles the runs whose time has come: their limit, or, when they were told to stop before, the end of our patience.
// It returns those that turned out to be stuck.
func (e *expiry) expire(now time.Time) (stuck []*Run) {
	for len(e.runs) > 0 && !e.runs[0].expiry.After(now) {
		r := e.runs[0]
		e.remove(r)
		if r.told.IsZero() {
			e.s.tell(r, e.s.cfg.Causes.Timeout, now)
		} else if !r.stuck {
			r.stuck = true
			e.s.stuck++
			stuck = append(stuck, r)
		}
	}
	return stuck
}

// giveBack returns the jobs that were taken ahead and found no worker in time.
func (e *expiry) giveBack(now time.Time) {
	cut := now.Add(-giveBackAfter)
	for _, p := range e.s.pools {
		if len(p.queue) > 0 && !p.queue[0].heldAt.After(cut) {
			e.s.giveBackQueue(p, now, func(r *Run) bool { return !r.heldAt.After(cut) })
		}
	}
}

// plan returns how long the loop may wait.
func (e *expiry) plan(now time.Time) time.Duration {
	s := e.s
	e.planned = time.Time{}
	next := func(t time.Time) {
		if e.planned.IsZero() || t.Before(e.planned) {
			e.planned = t
		}
	}
	if len(e.runs) > 0 {
		next(e.runs[0].expiry)
	}
	for _, p := range s.pools {
		if len(p.queue) > 0 {
			next(p.queue[0].heldAt.Add(giveBackAfter))
		}
	}
	if s.joined && !s.fenced {
		next(s.beatAt.Add(s.cfg.fenceAfter() + time.Nanosecond))
	}
	if e.planned.IsZero() {
		return Never
	}
	return e.planned.Sub(now)
}

// runHeap orders runs by expiry.
type runHeap []*Run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, k int) bool { return h[i].expiry.Before(h[k].expiry) }
func (h runHeap) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].heap, h[k].heap = i, k
}

func (h *runHeap) Push(x any) {
	r := x.(*Run)
	r.heap = len(*h)
	*h = append(*h, r)
}

func (h *runHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	r.heap = -1
	return r
}
