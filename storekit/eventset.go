package storekit

import (
	"maps"
	"slices"

	"github.com/kilnjobs/kiln/driver"
)

// EventSet collects what a transaction has to tell after its commit, each event once. The zero value is empty.
type EventSet struct {
	// List are the events in the order in which they came first.
	List []driver.Event
	seen map[driver.Event]bool
}

// Add adds an event that is not there yet.
func (s *EventSet) Add(e driver.Event) {
	if n := len(s.List); n > 0 && s.List[n-1] == e || s.seen[e] {
		return
	}
	if s.seen == nil {
		s.seen = map[driver.Event]bool{}
	}
	s.seen[e] = true
	s.List = append(s.List, e)
}

// Clone is a copy that stays as it is when s grows.
func (s EventSet) Clone() EventSet {
	return EventSet{List: slices.Clip(s.List), seen: maps.Clone(s.seen)}
}
