package dashboard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// How old the answers may be that everybody shares: numbers that people watch, and what changes slowly.
const (
	liveFor = time.Second
	slowFor = 5 * time.Second
)

// staleFor is how old an answer may be that stands in for one that could not be read.
const staleFor = 10 * time.Second

// recentFor is how old an answer may be that is only there for convenience.
const recentFor = time.Minute

// readTimeout ends a read that nobody can be waiting for any more.
const readTimeout = 10 * time.Second

// cache holds what every page shows, so that many open pages cost the store as much as one. It reads when somebody asks, so it
// stops when nobody looks.
type cache struct {
	counts   shared[countsView]
	overview shared[overviewView]
	queues   shared[[]driver.QueueInfo]
	problems shared[problemsView]
	series   map[string]*shared[seriesView]
}

func newCache(h *handler) *cache {
	seen := newFirstSeen()
	c := &cache{series: make(map[string]*shared[seriesView])}
	c.counts = shared[countsView]{keep: liveFor, read: h.loadCounts}
	c.queues = shared[[]driver.QueueInfo]{keep: slowFor, read: h.store.Queues}
	c.overview = shared[overviewView]{keep: liveFor, read: h.loadOverview}
	c.problems = shared[problemsView]{keep: slowFor, read: func(ctx context.Context) (problemsView, error) {
		return h.loadProblems(ctx, seen)
	}}
	for name, span := range spans {
		c.series[name] = &shared[seriesView]{keep: slowFor, read: func(ctx context.Context) (seriesView, error) {
			return h.loadSeries(ctx, span)
		}}
	}
	return c
}

// forget drops every answer, so that who has just changed something sees it.
func (c *cache) forget() {
	c.counts.forget()
	c.overview.forget()
	c.queues.forget()
	c.problems.forget()
	for _, s := range c.series {
		s.forget()
	}
}

// shared is an answer of the store that everybody who asks within a while shares, those who ask while it is read included.
type shared[T any] struct {
	keep time.Duration
	read func(context.Context) (T, error)

	mu     sync.Mutex
	value  T
	at     time.Time // when the read of value began, zero when there is none
	flight *flight[T]
}

// flight is one read of the store.
type flight[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// warm begins to read an answer that somebody is about to ask for.
func (s *shared[T]) warm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight == nil && (s.at.IsZero() || time.Since(s.at) >= s.keep) {
		s.flight = &flight[T]{done: make(chan struct{})}
		go s.fly(s.flight)
	}
}

// recent returns an answer that was read lately, however old by the rules of get.
func (s *shared[T]) recent() (value T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, !s.at.IsZero() && time.Since(s.at) < recentFor
}

// get returns the answer. It waits no longer than ctx does, which does not end the read for others.
func (s *shared[T]) get(ctx context.Context) (T, error) {
	s.mu.Lock()
	if !s.at.IsZero() && time.Since(s.at) < s.keep {
		defer s.mu.Unlock()
		return s.value, nil
	}
	f := s.flight
	if f == nil {
		f = &flight[T]{done: make(chan struct{})}
		s.flight = f
		go s.fly(f)
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// fly reads. What was forgotten meanwhile is told to those who wait for it, and to nobody else.
func (s *shared[T]) fly(f *flight[T]) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	value, err := guarded(ctx, s.read)
	s.mu.Lock()
	defer s.mu.Unlock()
	f.value, f.err = value, err
	if s.flight == f {
		s.flight = nil
		if err == nil {
			s.value, s.at = value, began
		}
	}
	if err != nil && !s.at.IsZero() && time.Since(s.at) < staleFor {
		f.value, f.err = s.value, nil
	}
	close(f.done)
}

// forget makes the next get read anew.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.flight = time.Time{}, nil
}

// guarded reads on a goroutine of ours, where a panic of the store would end the program.
func guarded[T any](ctx context.Context, read func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("read panicked: %v", v)
		}
	}()
	return read(ctx)
}
