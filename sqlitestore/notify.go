package sqlitestore

import (
	"context"
	"errors"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Subscribe implements driver.Notifier. It carries the events of this store's own writes at once, those of other processes
// that share the file within about ten milliseconds, and those of the Bus, if there is one.
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
	lost := make(chan error, 1)
	if s.bus != nil {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { lost <- s.bus.Subscribe(ctx, func(e driver.Event) { sub.add([]driver.Event{e}) }) }()
	}
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
		case <-s.writer.stopped:
			return errClosed
		case err := <-lost:
			// Without the bus the store still sees what happens in its file.
			if err != nil && !errors.Is(err, errors.ErrUnsupported) && ctx.Err() == nil {
				return err
			}
			lost = nil
		case <-sub.wake:
		}
	}
}

// busPublisher publishes the store's events on a bus, in a goroutine of its own, so that no write waits for a network.
type busPublisher struct {
	bus     driver.Bus
	pending *subscriber
	cancel  context.CancelFunc
	stopped chan struct{}
}

// busTimeout is how long one Publish may take.
const busTimeout = 5 * time.Second

func newBusPublisher(bus driver.Bus) *busPublisher {
	ctx, cancel := context.WithCancel(context.Background())
	p := &busPublisher{bus: bus, pending: &subscriber{wake: make(chan struct{}, 1), welcomed: true}, cancel: cancel, stopped: make(chan struct{})}
	go p.loop(ctx)
	return p
}

func (p *busPublisher) add(events []driver.Event) { p.pending.add(events) }

func (p *busPublisher) loop(ctx context.Context) {
	defer close(p.stopped)
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.pending.wake:
		}
		if events := p.pending.fetch(); len(events) > 0 {
			ctx, cancel := context.WithTimeout(ctx, busTimeout)
			_ = p.bus.Publish(ctx, events) // events are hints; a lost one is found by the next poll
			cancel()
		}
	}
}

func (p *busPublisher) close() {
	p.cancel()
	<-p.stopped
}
