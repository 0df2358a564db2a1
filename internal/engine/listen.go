package engine

import (
	"context"
	"errors"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Hear takes an event in. It never blocks.
func (s *Server) Hear(e driver.Event) {
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case driver.Resync:
		s.listening = true
		s.hintPools()
		s.promoter.hint(now)
		s.heartbeat.soon()
	case driver.Deaf:
		s.listening = false
		s.hintPools()
		s.promoter.hint(now)
	case driver.JobsReady:
		s.hintPools(e.Queue)
		s.promoter.hint(now)
	case driver.JobsScheduled:
		s.promoter.hint(now)
	case driver.QueueChanged:
		s.heartbeat.soon()
	case driver.CancelRequested:
		// The event is a hint that names no claim; the heartbeat's leases say which run is meant.
		if r := s.table.held[e.ID]; r != nil && r.phase != ended {
			s.heartbeat.soon()
		}
	}
}

// listen subscribes to the store's events until ctx ends, and again whenever the subscription breaks.
func (s *Server) listen(ctx context.Context) {
	notifier, ok := s.cfg.Store.(driver.Notifier)
	if !ok {
		return
	}
	failing := backoff{least: 100 * time.Millisecond, most: 30 * time.Second}
	for ctx.Err() == nil {
		err := notifier.Subscribe(ctx, func(e driver.Event) {
			if e.Kind == driver.Resync {
				failing.reset()
			}
			s.Hear(e)
		})
		s.mu.Lock()
		s.listening = false
		s.wakePools()
		s.mu.Unlock()
		if errors.Is(err, errors.ErrUnsupported) || ctx.Err() != nil {
			return
		}
		if err != nil {
			s.report(s.cfg.Now(), "subscribe", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.jitter(failing.wait())):
		}
	}
}
