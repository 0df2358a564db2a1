package pgstore

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

const (
	// coalesce is how long events are collected before other processes are told, all by one statement.
	coalesce = 5 * time.Millisecond
	// mostTold is how many queues and jobs are told of one by one; more become one Resync.
	mostTold = 50
	// mostPayload is what PostgreSQL takes in one notification, less a byte.
	mostPayload = 7999
)

// tell tells of a transaction that has been committed: first the marks, then the subscribers of this process, then other
// processes.
func (s *Store) tell(w *work) {
	s.marks.lower(w.lowest)
	s.marks.heed(w.events.List)
	if w.unfinished {
		s.finishLater()
	}
	if len(w.events.List) == 0 {
		return
	}
	s.hub.tell(w.events.List)
	s.notifier.add(w.events.List, w.lowest)
}

// Subscribe implements driver.Notifier. It carries the events of this store's own writes at once and those of other processes by
// LISTEN. While the listening connection is lost, other processes' events are missed, which a Resync makes up for when it is back.
func (s *Store) Subscribe(ctx context.Context, fn func(driver.Event)) error {
	if ctx.Err() != nil {
		return nil
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	sub := newSubscriber()
	s.hub.join(sub)
	defer s.hub.leave(sub)
	for {
		for _, e := range sub.fetch() {
			if ctx.Err() != nil {
				return nil
			}
			fn(e)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.ctx.Done():
			return errClosed
		case <-sub.wake:
		}
	}
}

// notice is what one notification says, as JSON: from whom, and events in short form.
type notice struct {
	Origin string `json:"o"`
	// Ready and Scheduled are the queues that gained jobs, Changed those that were paused or resumed, Cancel the jobs to cancel.
	Ready     []string `json:"r,omitempty"`
	Scheduled []string `json:"s,omitempty"`
	Changed   []string `json:"q,omitempty"`
	Cancel    []int64  `json:"c,omitempty"`
	Resync    bool     `json:"a,omitempty"`
	// Lowest are the lowest new ids of lanes.
	Lowest []lowest `json:"l,omitempty"`
}

type lowest struct {
	Queue string `json:"q"`
	Rank  int32  `json:"r"`
	ID    int64  `json:"i"`
}

func (n *notice) events() (list []driver.Event) {
	if n.Resync {
		return []driver.Event{{Kind: driver.Resync}}
	}
	for _, queue := range n.Ready {
		list = append(list, driver.Event{Kind: driver.JobsReady, Queue: queue})
	}
	for _, queue := range n.Scheduled {
		list = append(list, driver.Event{Kind: driver.JobsScheduled, Queue: queue})
	}
	for _, queue := range n.Changed {
		list = append(list, driver.Event{Kind: driver.QueueChanged, Queue: queue})
	}
	for _, id := range n.Cancel {
		list = append(list, driver.Event{Kind: driver.CancelRequested, ID: id})
	}
	return list
}

// payload writes events as the text of a notification, as a Resync when they are too many.
func payload(origin string, events []driver.Event, lanes lowestIDs) string {
	n := notice{Origin: origin}
	for _, e := range events {
		switch e.Kind {
		case driver.JobsReady:
			n.Ready = append(n.Ready, e.Queue)
		case driver.JobsScheduled:
			n.Scheduled = append(n.Scheduled, e.Queue)
		case driver.QueueChanged:
			n.Changed = append(n.Changed, e.Queue)
		case driver.CancelRequested:
			n.Cancel = append(n.Cancel, e.ID)
		default:
			n.Resync = true
		}
	}
	for lane, id := range lanes {
		n.Lowest = append(n.Lowest, lowest{lane.queue, lane.rank, id})
	}
	text, err := json.Marshal(n)
	if err != nil || len(events) > mostTold || len(n.Lowest) > mostTold || len(text) > mostPayload {
		text, _ = json.Marshal(notice{Origin: origin, Resync: true})
	}
	return string(text)
}

// notifier tells other processes, in a goroutine of its own, so that no write waits for it.
type notifier struct {
	s *Store

	mu      sync.Mutex
	pending storekit.EventSet
	lowest  lowestIDs

	wake    chan struct{}
	stopped chan struct{}
}

func newNotifier(s *Store) *notifier {
	n := &notifier{s: s, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go n.loop()
	return n
}

func (n *notifier) add(events []driver.Event, lanes lowestIDs) {
	n.mu.Lock()
	for _, e := range events {
		n.pending.Add(e)
	}
	n.lowest.noteAll(lanes)
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// channel is what the processes of one installation listen on.
func (s *Store) channel() string { return "kiln_" + s.schema }

// loop tells what has come together since the last time, at once after a quiet while.
func (n *notifier) loop() {
	defer close(n.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-n.s.ctx.Done():
			return
		case <-timer.C:
		}
		select {
		case <-n.s.ctx.Done():
			return
		case <-n.wake:
			n.send()
			timer.Reset(coalesce)
		}
	}
}

func (n *notifier) send() {
	n.mu.Lock()
	events, lanes := n.pending.List, n.lowest
	n.pending, n.lowest = storekit.EventSet{}, nil
	n.mu.Unlock()
	if len(events) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(n.s.ctx, 5*time.Second)
	defer cancel()
	// Events are hints: one that is lost is made up for by the next poll.
	_ = n.s.notify(ctx, payload(n.s.origin, events, lanes))
}

// notify tells all processes that listen, this one too.
func (s *Store) notify(ctx context.Context, payload string) error {
	_, err := s.pool.Exec(ctx, "select pg_notify($1, $2)", s.channel(), payload)
	return err
}

func parseNotice(text string) (n notice, ok bool) {
	ok = json.NewDecoder(strings.NewReader(text)).Decode(&n) == nil
	return n, ok
}
