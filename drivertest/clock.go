package drivertest

import (
	"sync"
	"time"
)

// clock is the time of one case when the suite owns it. It goes on by a microsecond with every reading, so that a store that
// reads it twice where the contract promises one instant is found out. It answers in a zone that is not UTC and with
// nanoseconds, since a store has to bring instants into UTC by itself.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

const clockTick = time.Microsecond

var clockZone = time.FixedZone("suite", 5*3600+1800)

func newClock() *clock {
	return &clock{now: time.Date(2031, time.May, 14, 9, 26, 53, 589793238, clockZone)}
}

// read is what the store is given as its clock.
func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(clockTick)
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// pass lets time go by on the store's clock. It is the suite's only wait: on the real clock it sleeps.
func (e *env) pass(d time.Duration) {
	if e.clock != nil {
		e.clock.advance(d)
		return
	}
	time.Sleep(d)
}

// jump lets a long time go by, if the suite owns the clock. It is false where that would mean to really wait.
func (e *env) jump(d time.Duration) bool {
	if e.clock == nil {
		return false
	}
	e.clock.advance(d)
	return true
}
