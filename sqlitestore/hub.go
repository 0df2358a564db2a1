package sqlitestore

import (
	"sync"

	"github.com/kilnjobs/kiln/driver"
)

// buffered is how many events may wait for a subscriber that is slow; more become one Resync.
const buffered = 256

// hub gives events to the subscribers of this process.
type hub struct {
	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
	// bus, when there is one, gets the store's own events too.
	bus *busPublisher
	// changed is called when the first subscriber comes.
	changed func()
}

// subscriber is one Subscribe call. Its events wait here until the call fetches them.
type subscriber struct {
	mu     sync.Mutex
	events []driver.Event
	wake   chan struct{}
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
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscriber) fetch() []driver.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.events
	s.events = nil
	return events
}

func (h *hub) join(s *subscriber) {
	h.mu.Lock()
	if h.subscribers == nil {
		h.subscribers = map[*subscriber]struct{}{}
	}
	h.subscribers[s] = struct{}{}
	first := len(h.subscribers) == 1
	h.mu.Unlock()
	if first {
		h.changed()
	}
}

func (h *hub) leave(s *subscriber) {
	h.mu.Lock()
	delete(h.subscribers, s)
	h.mu.Unlock()
}

// listened reports whether anybody wants events.
func (h *hub) listened() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subscribers) > 0
}

// publish tells of the store's own writes.
func (h *hub) publish(events []driver.Event) {
	if len(events) == 0 {
		return
	}
	h.tell(events)
	if h.bus != nil {
		h.bus.add(events)
	}
}

// tell tells the subscribers of this process.
func (h *hub) tell(events []driver.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscribers {
		s.add(events)
	}
}
