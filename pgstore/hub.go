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
	// deaf says that other processes are not heard, which every Resync has to be followed by.
	deaf bool
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

// add gives events to the subscriber. When there are too many it has a Resync instead, and add reports it.
func (s *subscriber) add(events []driver.Event) (overflowed bool) {
	s.mu.Lock()
	if overflowed = len(s.events)+len(events) > buffered; overflowed {
		s.events = append(s.events[:0], driver.Event{Kind: driver.Resync})
	} else {
		s.events = append(s.events, events...)
	}
	s.mu.Unlock()
	s.signal()
	return overflowed
}

// resync drops what waits for the subscriber in favour of a Resync.
func (s *subscriber) resync() {
	s.mu.Lock()
	if s.welcomed {
		s.events = append(s.events[:0], driver.Event{Kind: driver.Resync})
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

// welcome tells new subscribers that anything may have happened before.
func (h *hub) welcome() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.arrived {
		s.welcome()
		if h.deaf {
			s.add(deafness)
		}
	}
	h.arrived = nil
}

// deafness tells that other processes are not heard.
var deafness = []driver.Event{{Kind: driver.Deaf}}

// deafen tells subscribers that other processes are not heard until the next resync.
func (h *hub) deafen() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.deaf {
		return
	}
	h.deaf = true
	for s := range h.subscribers {
		s.add(deafness)
	}
}

// isDeaf reports whether other processes are not heard.
func (h *hub) isDeaf() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deaf
}

// resync tells subscribers that were there before that anything may have happened, and that other processes are heard from now on.
func (h *hub) resync() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaf = false
	for s := range h.subscribers {
		s.resync()
	}
}

// tell tells the subscribers of this process.
func (h *hub) tell(events []driver.Event) {
	if len(events) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	resync := slices.Contains(events, driver.Event{Kind: driver.Resync})
	for s := range h.subscribers {
		if overflowed := s.add(events); h.deaf && (overflowed || resync) {
			s.add(deafness)
		}
	}
}
