package pgstore

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// quietFor is how long nothing may come before the store tells itself something, to see whether that arrives: networks drop idle
	// connections without a word, and poolers in transaction mode deliver nothing.
	quietFor = 30 * time.Second
	// answerWithin is how long that may take, and a connection to be made.
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
	// echo is what the store has told itself and not heard yet, if anything.
	echo   *echo
	asking sync.WaitGroup
}

// echo is a notification without events. It has been sent when sent is set.
type echo struct{ sent atomic.Bool }

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
	defer l.asking.Wait()
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
		// Subscribers hear of this process's own writes also while the connection is lost, and look for those of others more often.
		l.s.hub.deafen()
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
	l.ask()
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

// ask tells this process something by way of the database.
func (l *listener) ask() {
	e := &echo{}
	l.echo = e
	l.asking.Go(func() {
		ctx, cancel := context.WithTimeout(l.s.ctx, answerWithin)
		defer cancel()
		if l.s.notify(ctx, payload(l.s.origin, nil, nil)) == nil {
			e.sent.Store(true)
		}
	})
}

// quiet looks at what it means that nothing has come for a while. Its error is that of a connection that is lost.
func (l *listener) quiet(ctx context.Context, conn *pgx.Conn) error {
	e := l.echo
	if e == nil {
		l.ask()
		return nil
	}
	l.echo = nil
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := conn.Ping(ctx); err != nil {
		return err
	}
	if e.sent.Load() {
		l.s.hub.deafen() // the connection lives, and delivers nothing
	}
	return nil
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
	patience := quietFor
	if l.echo != nil {
		patience = answerWithin
	}
	wait, cancel := context.WithTimeout(ctx, patience)
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
		return nil, l.quiet(ctx, conn)
	}
	return nil, nil
}

// hear passes on what another process has told. What this one has told itself says that it hears.
func (l *listener) hear(n notice) {
	// A pooler hands out what has come meanwhile with the answer to a ping, which is no sign that it will come by itself next time.
	if l.echo != nil && l.s.hub.isDeaf() {
		l.s.marks.forget()
		l.s.hub.resync()
	}
	l.echo = nil
	if n.Origin == l.s.origin {
		return
	}
	events := n.events()
	l.s.marks.heed(events)
	var lanes lowestIDs
	for _, low := range n.Lowest {
		lanes.note(laneKey{low.Queue, low.Rank}, low.ID)
	}
	l.s.marks.lower(lanes)
	l.s.hub.tell(events)
}
