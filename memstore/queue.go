package memstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// queue is kept while it has rows or a pause.
type queue struct {
	name  string
	lanes map[string]*lane
	// pausedAt is when the pause began, zero when not paused.
	pausedAt time.Time
}

// lane is the rows of one kind in one queue. Ready rows are listed per lane, so that a server never walks over the jobs of
// kinds that it does not know.
type lane struct {
	queue *queue
	kind  string
	ready list
	// rows counts all rows of the lane, states those in each state.
	rows   int
	states [len(driver.States)]int
}

// queue returns the named queue and makes it if it is new.
func (s *Store) queue(name string) *queue {
	q := s.queues[name]
	if q == nil {
		q = &queue{name: name, lanes: make(map[string]*lane)}
		s.queues[name] = q
	}
	return q
}

// lane returns the lane of a kind in a queue and makes it if it is new.
func (s *Store) lane(queue, kind string) *lane {
	q := s.queue(queue)
	l := q.lanes[kind]
	if l == nil {
		l = &lane{queue: q, kind: kind}
		q.lanes[kind] = l
	}
	return l
}

// leave takes a dropped row off its lane's count and forgets what nothing needs any more.
func (s *Store) leave(l *lane) {
	if l.rows--; l.rows == 0 {
		delete(l.queue.lanes, l.kind)
		s.forget(l.queue)
	}
}

func (s *Store) forget(q *queue) {
	if len(q.lanes) == 0 && q.pausedAt.IsZero() {
		delete(s.queues, q.name)
	}
}

// of returns the queue's lanes of the given kinds, or all when none is given.
func (q *queue) of(kinds []string) []*lane {
	var lanes []*lane
	if len(kinds) == 0 {
		for _, l := range q.lanes {
			lanes = append(lanes, l)
		}
		return lanes
	}
	for _, kind := range kinds {
		if l := q.lanes[kind]; l != nil && !slices.Contains(lanes, l) {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// PauseQueue implements driver.Admin.
func (s *Store) PauseQueue(ctx context.Context, queue string, paused bool) error {
	if queue == "" {
		return fmt.Errorf("%w: queue name is empty", driver.ErrInvalid)
	}
	now, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	q := s.queue(queue)
	was := !q.pausedAt.IsZero()
	switch {
	case paused && !was:
		q.pausedAt = now
	case !paused:
		q.pausedAt = time.Time{}
	}
	s.forget(q)
	if paused != was {
		s.publish(driver.Event{Kind: driver.QueueChanged, Queue: queue})
	}
	return nil
}

// paused lists the paused queues, sorted.
func (s *Store) paused() []string {
	var names []string
	for name, q := range s.queues {
		if !q.pausedAt.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
