package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

const (
	// maxFlush is the most outcomes of one write.
	maxFlush = 2000
	// maxPending and maxPendingBytes bound what waits to be written. At the bound the server stops claiming.
	maxPending      = 20_000
	maxPendingBytes = 64 << 20
	// staleOutcomes is how long an outcome may wait before the server counts as unhealthy.
	staleOutcomes = 30 * time.Second
)

// outbox holds the outcomes that wait to be written, in shards by job id, each with a flusher of its own, so that no job has
// two writes in flight.
type outbox struct {
	s      *Server
	shards []*flusher
	// pending and bytes measure what waits or is being written.
	pending, bytes int
	// held and heldBytes are the part of it that waits for something else to be written first.
	held, heldBytes int
	full            bool
}

type entry struct {
	run *Run
	out driver.Outcome
	at  time.Time
	// rejected says that the outcome already stands for one that the store refused.
	rejected bool
}

func (e *entry) size() int { return len(e.out.Output) + len(e.out.Error) + len(e.out.Trace) }

func newOutbox(s *Server, shards int) *outbox {
	o := &outbox{s: s}
	for range shards {
		o.shards = append(o.shards, &flusher{
			s: s, wake: newSignal(), failing: backoff{least: 10 * time.Millisecond, most: 5 * time.Second},
		})
	}
	return o
}

// add queues an outcome. The caller holds the server's lock.
func (o *outbox) add(r *Run, out driver.Outcome, now time.Time) { o.send(o.hold(r, out, now)) }

// hold takes an outcome in that is not to be written yet, until send. The caller holds the server's lock.
func (o *outbox) hold(r *Run, out driver.Outcome, now time.Time) entry {
	r.phase = ended
	e := entry{run: r, out: out, at: now}
	o.pending++
	o.bytes += e.size()
	o.held++
	o.heldBytes += e.size()
	o.full = o.full || o.pending >= maxPending || o.bytes >= maxPendingBytes
	return e
}

// send queues an outcome that was held. The caller holds the server's lock.
func (o *outbox) send(e entry) {
	o.held--
	o.heldBytes -= e.size()
	f := o.shards[uint64(e.out.ID)%uint64(len(o.shards))]
	f.waiting = append(f.waiting, e)
	f.wake.Set()
}

// settle forgets an outcome that was written or given up.
func (o *outbox) settle(e *entry) {
	o.pending--
	o.bytes -= e.size()
	if o.full && o.pending <= maxPending/2 && o.bytes <= maxPendingBytes/2 {
		o.full = false
		o.s.wakePools()
	}
	o.s.table.remove(e.run)
	if o.pending == 0 && o.s.stopping {
		o.s.stopper.wake.Set()
	}
}

// oldest is when the outcome that has waited longest was queued, zero when none waits.
func (o *outbox) oldest() time.Time {
	var at time.Time
	for _, f := range o.shards {
		for _, list := range [][]entry{f.writing, f.waiting} {
			if len(list) > 0 && (at.IsZero() || list[0].at.Before(at)) {
				at = list[0].at
			}
		}
	}
	return at
}

// flusher is the loop that writes one shard's outcomes.
type flusher struct {
	s       *Server
	wake    *Signal
	failing backoff
	// waiting is what came in; writing is the batch that is being written, the same until the store has answered for it.
	waiting, writing []entry
	retryAt          time.Time
}

func (f *flusher) Name() string  { return "finish" }
func (f *flusher) Wake() *Signal { return f.wake }

func (f *flusher) Plan(now time.Time) (Call, time.Duration) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if wait := f.retryAt.Sub(now); wait > 0 {
		return nil, wait
	}
	if len(f.writing) == 0 {
		n := min(len(f.waiting), maxFlush)
		if n == 0 {
			return nil, Never
		}
		f.writing = f.waiting[:n:n]
		f.waiting = f.waiting[n:]
	}
	outs := make([]driver.Outcome, len(f.writing))
	for i := range f.writing {
		outs[i] = f.writing[i].out
	}
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		results, err := f.s.cfg.Store.Finish(ctx, f.s.cfg.ID, outs)
		if err == nil && len(results) != len(outs) {
			err = fmt.Errorf("kiln: the store answered %d outcomes with %d results", len(outs), len(results))
		}
		return func(now time.Time) time.Duration { return f.apply(now, results, err) }
	}, 0
}

func (f *flusher) apply(now time.Time, results []driver.Result, err error) time.Duration {
	s := f.s
	s.mu.Lock()
	if err != nil {
		wait := s.backOff(&f.failing)
		f.retryAt = now.Add(wait)
		s.mu.Unlock()
		s.report(now, "finish", err)
		return wait
	}
	var dropped []int64
	var again []entry
	for i := range f.writing {
		e := &f.writing[i]
		switch results[i] {
		case driver.Busy:
			s.stats.Busy++
			again = append(again, *e)
		case driver.Rejected:
			if !e.rejected {
				stand := rejected(e)
				s.outbox.bytes += stand.size() - e.size()
				again = append(again, stand)
				continue
			}
			dropped = append(dropped, e.out.ID)
			s.outbox.settle(e)
		case driver.Stale:
			s.stats.Stale++
			s.outbox.settle(e)
		default:
			s.wrote(e, now)
			s.outbox.settle(e)
		}
	}
	f.writing = nil
	if len(again) > 0 {
		f.waiting = append(again, f.waiting...)
	}
	var wait time.Duration
	if len(again) > 0 && len(again) == len(results) {
		wait = s.backOff(&f.failing)
		f.retryAt = now.Add(wait)
	} else {
		f.failing.reset()
	}
	s.mu.Unlock()
	for _, id := range dropped {
		s.cfg.Logger.Error("kiln: the store refused a result twice; the job will be rescued", "job", id)
	}
	return wait
}

// rejected rewrites a refused outcome as a failure that any store can keep.
func rejected(e *entry) entry {
	return entry{run: e.run, at: e.at, rejected: true, out: driver.Outcome{
		Ref: e.out.Ref, State: driver.Failed, Reason: "rejected",
		Error: fmt.Sprintf("kiln: the store refused the result %s/%s", e.out.State, e.out.Reason),
	}}
}

// wrote counts an applied outcome and wakes whoever has work because of it.
func (s *Server) wrote(e *entry, now time.Time) {
	switch out := &e.out; out.State {
	case driver.Succeeded:
		s.stats.Succeeded++
	case driver.Failed:
		s.stats.Failed++
	case driver.Deleted:
		s.stats.Canceled++
	case driver.Scheduled:
		if out.Refund {
			s.stats.Snoozed++
		} else {
			s.stats.Retried++
		}
		if out.Delay > 0 {
			s.promoter.due(now.Add(out.Delay), now)
		} else {
			s.requeued(e.run)
		}
	case driver.Enqueued:
		s.requeued(e.run)
	}
	if e.run.job.LimitKey != "" {
		s.promoter.due(now, now)
	}
}

// requeued tells the pool of a job that went straight back to its queue.
func (s *Server) requeued(r *Run) {
	if r.pool == nil || s.stopping {
		return
	}
	r.pool.hint(r.job.Queue)
}
