package engine

import (
	"context"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Server runs jobs. Its loops share the state below, under one lock that no call to the store ever holds.
type Server struct {
	cfg Config

	mu    sync.Mutex
	base  context.Context
	table *table
	pools []*pool
	// running counts the handlers that run, stuck those of them that ignore their end.
	running, stuck int
	outbox         *outbox
	stats          Counters
	reported       map[string]time.Time

	startedAt time.Time
	// joined says that a heartbeat got through; join is closed then.
	joined bool
	join   chan struct{}
	// beatAt is when the last heartbeat that got through began.
	beatAt time.Time
	// doubt says that the store may think that the server holds a job that it does not: the answer to a claim was lost, or the
	// result of a run was dropped.
	doubt bool
	// fenced says that heartbeats failed for so long that the server has stopped itself.
	fenced bool
	// gone is set while the store says that it was taken away.
	gone error
	// listening says that the store tells of changes.
	listening bool
	// stopping says that the shutdown has begun, left that the server's row is being removed.
	stopping, left bool

	expiry    *expiry
	heartbeat *heartbeat
	promoter  *promoter
	leader    *leader
	rescuer   *rescuer
	recurrer  *recurrer
	consoles  *consoles
	chores    []*chore
	stopper   *stopper
}

// New makes a server that has done nothing yet.
func New(cfg Config) *Server {
	cfg.fill()
	now := cfg.Now()
	s := &Server{
		cfg: cfg, base: context.Background(), table: newTable(), reported: map[string]time.Time{},
		startedAt: now, join: make(chan struct{}),
	}
	tuning := driver.Tuning{}
	if t, ok := cfg.Store.(driver.Tuner); ok {
		tuning = t.Tuning()
	}
	s.outbox = newOutbox(s, lanes(tuning.FinishLanes, 2))
	s.expiry = &expiry{s: s, wake: newSignal()}
	s.heartbeat = &heartbeat{s: s, wake: newSignal(),
		join:    backoff{least: heartbeatLeast, most: cfg.HeartbeatInterval},
		failing: backoff{least: heartbeatLeast, most: min(cfg.HeartbeatInterval, time.Second)},
	}
	s.promoter = &promoter{s: s, wake: newSignal(), failing: backoff{least: 100 * time.Millisecond, most: 5 * time.Second}}
	s.leader = &leader{s: s, wake: newSignal()}
	s.rescuer = &rescuer{s: s, wake: newSignal()}
	s.recurrer = newRecurrer(s)
	s.consoles = newConsoles(s)
	s.chores = []*chore{newSweep(s), newPrune(s)}
	s.stopper = &stopper{s: s, wake: newSignal(), done: make(chan struct{})}
	for _, pc := range cfg.Pools {
		p := &pool{workers: pc.Workers, fetchBatch: cfg.FetchBatch, picker: newPicker(pc, cfg.PollInterval), more: true}
		p.idle = backoff{least: idleLeast, most: cfg.PollInterval * time.Duration(len(cfg.Pools))}
		s.pools = append(s.pools, p)
	}
	for _, p := range s.pools {
		for range lanes(tuning.ClaimLanes, 1) {
			p.lanes = append(p.lanes, newLane(s, p))
		}
	}
	return s
}

func lanes(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return min(n, 16)
}

// Loops returns every loop of the server.
func (s *Server) Loops() []Loop {
	loops := []Loop{s.heartbeat, s.expiry, s.promoter, s.leader, s.rescuer, s.recurrer, s.consoles, s.stopper}
	for _, c := range s.chores {
		loops = append(loops, c)
	}
	for _, f := range s.outbox.shards {
		loops = append(loops, f)
	}
	for _, p := range s.pools {
		for _, l := range p.lanes {
			loops = append(loops, l)
		}
	}
	return loops
}

// Run runs the server until ctx ends and the shutdown is through. The contexts of handlers carry ctx's values, not its end.
func (s *Server) Run(ctx context.Context) {
	s.base = context.WithoutCancel(ctx)
	calls, cancel := context.WithCancel(s.base)
	defer cancel()
	var loops sync.WaitGroup
	for _, l := range s.Loops() {
		loops.Go(func() { drive(calls, l, s.cfg.Now) })
	}
	select {
	case <-ctx.Done():
		select {
		case <-s.join:
		default:
			cancel()
			loops.Wait()
			return
		}
	case <-s.join:
		listening, mute := context.WithCancel(calls)
		loops.Go(func() { s.listen(listening) })
		<-ctx.Done()
		mute()
	}
	s.BeginStop()
	<-s.Stopped()
	cancel()
	loops.Wait()
}

// working reports whether the server takes part: it has joined, is not fenced, and is not stopping. The caller holds the lock.
func (s *Server) working() bool { return s.joined && !s.fenced && !s.stopping && s.gone == nil }

// claiming reports whether claims may be made. The caller holds the lock.
func (s *Server) claiming() bool { return s.working() && !s.outbox.full }

// hintPools says that queues may have work, all of them when none is named. The caller holds the lock.
func (s *Server) hintPools(queues ...string) {
	for _, p := range s.pools {
		p.hint(queues...)
	}
}

// wakePools lets every pool look whether it may claim. The caller holds the lock.
func (s *Server) wakePools() {
	for _, p := range s.pools {
		p.wake()
	}
}

// wakeAll lets every loop look at the server's state. The caller holds the lock.
func (s *Server) wakeAll() {
	for _, l := range s.Loops() {
		l.Wake().Set()
	}
}

// backOff is the next wait of an operation that fails, up to a fifth shorter, so that servers whose store went away together
// do not come back together.
func (s *Server) backOff(b *backoff) time.Duration {
	return time.Duration(float64(b.wait()) * (0.8 + 0.2*s.cfg.Random()))
}

// jitter spreads a wait over ±10 %, so that servers that started together do not stay together.
func (s *Server) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*s.cfg.Random()))
}
