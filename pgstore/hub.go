package pgstore

import (
	"slices"
	"sync"

	"github.com/kilnjobs/kiln/driver"
)

// buffered is how many events may wait for a subscriber that is slow; more become one Resync.
const buffered = 256

// hub gives events to the subscribers of this process.
type hub struct {
	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
	// arrived are the subscribers that have not been welcomed.
	arrived []*subscriber
	// changed is called when a subscriber comes, and when the last one has left.
	changed func()
}

// subscriber is one Subscribe call. Its events wait here until the call fetches them.
type subscriber struct {
	mu     sync.Mutex
	events []driver.Event
	wake   chan struct{}
	// welcomed says that the first Resync was sent; other events wait for it.
	welcomed bool
}

func newSubscriber() *subscriber { return &subscriber{wake: make(chan struct{}, 1)} }

func (s *subscriber) add(events []driver.Event) {
	s.mu.Lock()
	if len(s.events)+len(events) > buffered {
		s.events = append(s.events[:0], driver.Event{Kind: driver.Resync})
	} else {
		s.events = append(s.events, events...)
	}
	s.mu.Unlock()
	s.signal()
}

// welcome puts a Resync before everything else.
func (s *subscriber) welcome() {
	s.mu.Lock()
	s.events = append([]driver.Event{{Kind: driver.Resync}}, s.events...)
	s.welcomed = true
	s.mu.Unlock()
	s.signal()
}

func (s *subscriber) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscriber) fetch() []driver.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.welcomed {
		return nil
	}
	events := s.events
	s.events = nil
	return events
}

// join adds a subscriber. Its first event is the Resync that welcomes it.
func (h *hub) join(s *subscriber) {
	h.mu.Lock()
	if h.subscribers == nil {
		h.subscribers = map[*subscriber]struct{}{}
	}
	h.subscribers[s] = struct{}{}
	h.arrived = append(h.arrived, s)
	h.mu.Unlock()
	h.changed()
}

func (h *hub) leave(s *subscriber) {
	h.mu.Lock()
	delete(h.subscribers, s)
	h.arrived = slices.DeleteFunc(h.arrived, func(a *subscriber) bool { return a == s })
	last := len(h.subscribers) == 0
	h.mu.Unlock()
	if last {
		h.changed()
	}
}

// listened reports whether anybody wants events.
func (h *hub) listened() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subscribers) > 0
}

// arrivals reports whether there are subscribers to be welcomed, and whether there are any.
func (h *hub) arrivals() (arrived, listened bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.arrived) > 0, len(h.subscribers) > 0
}

// welcome tells new subscribers that anything may have happened before.
func (h *hub) welcome() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.arrived {
		s.welcome()
	}
	h.arrived = nil
}

// tell tells the subscribers of this process.
func (h *hub) tell(events []driver.Event) {
	if len(events) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscribers {
		s.add(events)
	}
}
