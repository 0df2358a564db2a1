package engine

import (
	"context"
	"math"
	"time"
)

// Never is the wait of a loop that only a wake ends.
const Never = time.Duration(math.MaxInt64)

// Call asks the store, at most once, without holding a lock. What it returns takes the answer in.
type Call func(ctx context.Context) Apply

// Apply takes an answer into the server's state at now and returns how long to wait before the next Plan.
type Apply func(now time.Time) time.Duration

// Loop is one of a server's cycles.
type Loop interface {
	// Name says which loop it is.
	Name() string
	// Plan returns what to ask the store, or nil and how long to wait. It never blocks.
	Plan(now time.Time) (Call, time.Duration)
	// Wake is the signal that ends a wait early.
	Wake() *Signal
}

// Signal wakes a loop. Setting it twice before the loop looks is the same as setting it once.
type Signal struct{ c chan struct{} }

func newSignal() *Signal { return &Signal{c: make(chan struct{}, 1)} }

// Set wakes the loop.
func (s *Signal) Set() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// Take reports whether the signal was set, and clears it.
func (s *Signal) Take() bool {
	select {
	case <-s.c:
		return true
	default:
		return false
	}
}

// drive runs a loop until ctx ends: the only goroutine code that loops need.
func drive(ctx context.Context, l Loop, now func() time.Time) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		call, wait := l.Plan(now())
		if call != nil {
			wait = call(ctx)(now())
		}
		if wait <= 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-l.Wake().c:
		case <-timer.C:
		}
	}
}

// backoff is the doubling wait of an operation that fails.
type backoff struct{ least, most, next time.Duration }

// wait returns the next wait and doubles the one after it.
func (b *backoff) wait() time.Duration {
	d := max(b.next, b.least)
	b.next = min(2*d, b.most)
	return min(d, b.most)
}

func (b *backoff) reset() { b.next = 0 }
