package memstore

import (
	"context"
	"slices"

	"github.com/kilnjobs/kiln/driver"
)

// hints collects what a call has to tell, each event once.
type hints struct {
	events []driver.Event
	seen   map[driver.Event]bool
}

// note tells of a row that was just written.
func (h *hints) note(r *row) {
	e := driver.Event{Queue: r.Queue}
	switch r.State {
	case driver.Enqueued:
		e.Kind = driver.JobsReady
	case driver.Scheduled:
		e.Kind = driver.JobsScheduled
	default:
		return
	}
	if n := len(h.events); n > 0 && h.events[n-1] == e || h.seen[e] {
		return
	}
	if h.seen == nil {
		h.seen = make(map[driver.Event]bool)
	}
	h.seen[e] = true
	h.events = append(h.events, e)
}

// queues lists the queues of the events of one kind, sorted.
func (h *hints) queues(kind driver.EventKind) []string {
	var names []string
	for _, e := range h.events {
		if e.Kind == kind {
			names = append(names, e.Queue)
		}
	}
	slices.Sort(names)
	return names
}

// subscriber is one Subscribe call. Its events wait under the store's mutex until the call fetches them.
type subscriber struct {
	events []driver.Event
	wake   chan struct{}
}

// buffered is how many events may wait for a subscriber that is slow; what comes then replaces them all by one Resync.
const buffered = 256

// publish gives events to every subscriber. The caller holds the lock and has written what they tell of.
func (s *Store) publish(events ...driver.Event) {
	if len(events) == 0 {
		return
	}
	for _, sub := range s.subscribers {
		if len(sub.events)+len(events) > buffered {
			sub.events = append(sub.events[:0], driver.Event{Kind: driver.Resync})
		} else {
			sub.events = append(sub.events, events...)
		}
		sub.signal()
	}
}

func (sub *subscriber) signal() {
	select {
	case sub.wake <- struct{}{}:
	default:
	}
}

// Subscribe implements driver.Notifier. It starts no goroutine: fn is called from this one, without the store's lock, so it
// may call the store.
func (s *Store) Subscribe(ctx context.Context, fn func(driver.Event)) error {
	if ctx.Err() != nil {
		return nil
	}
	sub := &subscriber{
		events: []driver.Event{{Kind: driver.Resync}},
		wake:   make(chan struct{}, 1),
	}
	s.mu.Lock()
	s.subscribers = append(s.subscribers, sub)
	s.mu.Unlock()
	defer s.unsubscribe(sub)
	for {
		events, err := s.fetch(sub)
		if err != nil {
			return err
		}
		for _, e := range events {
			if ctx.Err() != nil {
				return nil
			}
			fn(e)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-sub.wake:
		}
	}
}

func (s *Store) fetch(sub *subscriber) ([]driver.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	events := sub.events
	sub.events = nil
	return events, nil
}

func (s *Store) unsubscribe(sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = slices.DeleteFunc(s.subscribers, func(other *subscriber) bool { return other == sub })
}
