package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

const (
	recurEvery = time.Second
	recurLimit = 100
	// unreadableFor is how long a recurring job is left alone that cannot be read, or whose jobs the store refuses.
	unreadableFor = time.Minute
)

// recurrer is the loop that fires recurring jobs while this server leads. A pass lists what is due, computes what that fires, and
// writes all of it as one block.
type recurrer struct {
	s       *Server
	wake    *Signal
	failing backoff
	dueAt   time.Time
	// fires are the steps that were computed and are to be written next.
	fires []driver.Fire
	// more says that the listing was full, or that a step left something due.
	more bool
	// storeNow is the store's time of the last listing, listedAt the server's when it had come in.
	storeNow, listedAt time.Time
	// unreadable are the recurring jobs that are left alone, with the moment until when.
	unreadable map[string]time.Time
	// coming are the next runs that this server knows of, by its own clock.
	coming map[string]time.Time
}

func newRecurrer(s *Server) *recurrer {
	return &recurrer{s: s, wake: newSignal(), failing: choreFailing, unreadable: map[string]time.Time{}, coming: map[string]time.Time{}}
}

func (r *recurrer) Name() string  { return "recur" }
func (r *recurrer) Wake() *Signal { return r.wake }

func (r *recurrer) Plan(now time.Time) (Call, time.Duration) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leader.valid(now) {
		r.fires, r.more = nil, false
		clear(r.coming)
		return nil, Never
	}
	if len(r.fires) > 0 {
		return r.write(r.fires), 0
	}
	if wait := r.dueAt.Sub(now); wait > 0 {
		return nil, wait
	}
	r.expire(now)
	return r.list(recurLimit + len(r.unreadable)), 0
}

// expire forgets what is over.
func (r *recurrer) expire(now time.Time) {
	for _, times := range []map[string]time.Time{r.unreadable, r.coming} {
		for id, at := range times {
			if !at.After(now) {
				delete(times, id)
			}
		}
	}
}

// list asks for more than a block by those that are left alone, so that these never keep others from their turn.
func (r *recurrer) list(limit int) Call {
	s := r.s
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		due, at, err := s.cfg.Store.Due(ctx, limit)
		return func(now time.Time) time.Duration {
			if err != nil {
				s.report(now, "recur", err)
			}
			fires, bad := r.compute(due, at)
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				return r.failed(now)
			}
			for _, id := range bad {
				r.unreadable[id] = now.Add(unreadableFor)
			}
			r.fires, r.more = fires, len(due) >= limit
			r.storeNow, r.listedAt = at, now
			if len(r.fires) > 0 {
				return 0
			}
			return r.rest(now)
		}
	}
}

// compute turns due recurring jobs into steps. One that cannot be read is reported and never stops the others. It is called without
// the lock, since schedules can take their time.
func (r *recurrer) compute(due []driver.Recurring, at time.Time) (fires []driver.Fire, bad []string) {
	for i := range due {
		d := &due[i]
		if r.leftAlone(d.ID) {
			continue
		}
		f, differs, err := step(d, at)
		if err != nil {
			r.complain(d.ID, err)
			bad = append(bad, d.ID)
			continue
		}
		if differs {
			r.s.cfg.Logger.Warn("kiln: the next run of a recurring job is no time of its schedule here; it is fired all the same. "+
				"Servers may have different time zone data", "recurring", d.ID, "spec", d.Spec, "location", d.Location, "next", d.NextRunAt)
		}
		fires = append(fires, f)
	}
	return fires, bad
}

func (r *recurrer) leftAlone(id string) bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	_, bad := r.unreadable[id]
	return bad
}

func (r *recurrer) complain(id string, err error) {
	r.s.cfg.Logger.Error("kiln: a recurring job cannot be fired; it will be tried again in a minute, and others are not affected",
		"recurring", id, "error", err)
}

func (r *recurrer) write(fires []driver.Fire) Call {
	s := r.s
	return func(ctx context.Context) Apply {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		results, err := s.fireAll(ctx, fires)
		if err == nil && len(results) != len(fires) {
			err = fmt.Errorf("kiln: the store answered %d steps with %d results", len(fires), len(results))
		}
		return func(now time.Time) time.Duration { return r.apply(now, fires, results, err) }
	}
}

func (r *recurrer) apply(now time.Time, fires []driver.Fire, results []driver.FireResult, err error) time.Duration {
	s := r.s
	if err != nil {
		s.report(now, "recur", err)
	}
	var bad []string
	if err == nil {
		bad = r.refused(fires, results)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.fires = nil
	if err != nil {
		return r.failed(now)
	}
	for _, id := range bad {
		r.unreadable[id] = now.Add(unreadableFor)
	}
	for i := range fires {
		if results[i].Err == nil {
			r.expect(fires[i].ID, fires[i].NextRunAt)
		}
	}
	return r.rest(now)
}

// refused reports the steps whose jobs the store or the middleware does not take. Where somebody else fired, changed or removed the
// recurring job, the next listing shows what is left to do.
func (r *recurrer) refused(fires []driver.Fire, results []driver.FireResult) (bad []string) {
	for i := range results {
		if err := results[i].Err; err != nil && !errors.Is(err, driver.ErrConflict) && !errors.Is(err, driver.ErrNotFound) {
			r.complain(fires[i].ID, err)
			bad = append(bad, fires[i].ID)
		}
	}
	return bad
}

// expect notes when a recurring job is due next. The caller holds the lock.
func (r *recurrer) expect(id string, next time.Time) {
	if next.IsZero() {
		return
	}
	wait := next.Sub(r.storeNow)
	if wait <= 0 {
		r.more = true
		return
	}
	r.coming[id] = r.listedAt.Add(wait)
}

// failed paces calls that fail. The caller holds the lock.
func (r *recurrer) failed(now time.Time) time.Duration {
	r.dueAt = now.Add(min(r.s.backOff(&r.failing), recurEvery))
	return r.dueAt.Sub(now)
}

// rest waits for the next known run, or for a while. The caller holds the lock.
func (r *recurrer) rest(now time.Time) time.Duration {
	r.failing.reset()
	if r.more {
		r.more = false
		r.dueAt = now
		return 0
	}
	r.dueAt = now.Add(r.s.jitter(recurEvery))
	for _, at := range r.coming {
		if at.Before(r.dueAt) {
			r.dueAt = at
		}
	}
	return r.dueAt.Sub(now)
}
