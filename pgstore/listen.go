package pgstore

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
)

const (
	// quietFor is how long nothing may come before the connection is asked whether it still lives: networks drop idle
	// connections without a word.
	quietFor = 30 * time.Second
	// answerWithin is how long it may take to answer, and a connection to be made.
	answerWithin = 5 * time.Second
)

// listener has the connection that listens for what other processes tell, while anybody in this process wants to know.
type listener struct {
	s       *Store
	config  *pgx.ConnConfig
	wake    chan struct{}
	stopped chan struct{}
	// hears says that what other processes tell arrives.
	hears atomic.Bool
}

func newListener(s *Store, config *pgx.ConnConfig) *listener {
	introduce(config)
	l := &listener{s: s, config: config, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go l.loop()
	return l
}

// poke makes the goroutine look whether there are subscribers.
func (l *listener) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *listener) loop() {
	defer close(l.stopped)
	const first, most = 100 * time.Millisecond, 5 * time.Second
	wait := first
	for l.s.ctx.Err() == nil {
		if !l.s.hub.listened() {
			select {
			case <-l.s.ctx.Done():
				return
			case <-l.wake:
			}
			continue
		}
		if l.listen() {
			wait = first
		}
		// Subscribers hear of this process's own writes also while the connection is lost.
		l.s.hub.welcome()
		if !l.s.hub.listened() {
			continue
		}
		if !pause(l.s.ctx, wait) {
			return
		}
		wait = min(2*wait, most)
	}
}

// listen connects and passes on what it hears until the connection is lost or nobody wants to know any more. It reports
// whether it ever heard.
func (l *listener) listen() bool {
	ctx, cancel := context.WithCancel(l.s.ctx)
	defer cancel()
	conn, err := l.connect(ctx)
	if err != nil {
		return false
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn.Close(ctx)
	}()
	l.hears.Store(true)
	defer l.hears.Store(false)
	// What happened while nobody listened is not known.
	l.s.marks.forget()
	l.s.hub.resync()
	for l.s.hub.listened() {
		l.s.hub.welcome()
		n, err := l.next(ctx, conn)
		if err != nil {
			return true
		}
		if n != nil {
			l.hear(*n)
		}
	}
	return true
}

func (l *listener) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "listen "+strings.TrimSuffix(quoted(l.s.channel()), "."), pgx.QueryExecModeExec); err != nil {
		conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// next waits for a notification; nil when there is something else to look at.
func (l *listener) next(ctx context.Context, conn *pgx.Conn) (*notice, error) {
	wait, cancel := context.WithTimeout(ctx, quietFor)
	defer cancel()
	woken := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(woken)
		select {
		case <-l.wake:
			cancel()
		case <-done:
		}
	}()
	got, err := conn.WaitForNotification(wait)
	close(done)
	<-woken
	switch {
	case err == nil:
		if n, ok := parseNotice(got.Payload); ok {
			return &n, nil
		}
		return &notice{Resync: true}, nil // from a version that says it in other words
	case ctx.Err() != nil || wait.Err() == nil || conn.IsClosed():
		return nil, err
	case wait.Err() == context.DeadlineExceeded:
		ask, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		return nil, conn.Ping(ask)
	}
	return nil, nil
}

// hear passes on what another process has told.
func (l *listener) hear(n notice) {
	if n.Origin == l.s.origin {
		return
	}
	events := n.events()
	l.s.marks.heed(events)
	for _, low := range n.Lowest {
		l.s.marks.lower(map[laneKey]int64{{low.Queue, low.Rank}: low.ID})
	}
	l.s.hub.tell(events)
}

// resync tells subscribers that were there before that anything may have happened.
func (h *hub) resync() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscribers {
		s.resync()
	}
}

func (s *subscriber) resync() {
	s.mu.Lock()
	if s.welcomed {
		s.events = append(s.events[:0], driver.Event{Kind: driver.Resync})
	}
	s.mu.Unlock()
	s.signal()
}
