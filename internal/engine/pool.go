package engine

import (
	"time"
)

const (
	// lookAheadWindow is the time whose finished jobs bound how many jobs a pool takes ahead.
	lookAheadWindow = 50 * time.Millisecond
	// giveBackAfter is how long a job taken ahead may wait for a worker.
	giveBackAfter = 250 * time.Millisecond
	// maxClaim is the most jobs of one claim, so that a claim does not hold the store up for long.
	maxClaim = 2000
)

// pool is a set of queues, the workers that serve it, and the jobs taken for them ahead of time.
type pool struct {
	workers    int
	fetchBatch int
	picker     picker
	running    int
	// queue holds the runs that wait for a worker, oldest first.
	queue []*Run
	// asked is the sum of what the claims in flight may bring.
	asked int
	// more says that work may be waiting: a hint came, or the last claim was full.
	more bool
	// pollAt is when to look without a hint, coolAt when to look again after little was found.
	pollAt, coolAt time.Time
	// idle paces polls while nothing is found and the store does not notify.
	idle backoff
	// parked says that a lane found no room and sleeps until there is some, without a poll to wake it.
	parked bool
	recent rate
	lanes  []*lane
}

// next takes the oldest waiting run if a worker is free.
func (p *pool) next() *Run {
	if len(p.queue) == 0 || p.running >= p.workers {
		return nil
	}
	r := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	return r
}

// drop takes one run out of the waiting line.
func (p *pool) drop(r *Run) {
	for i, q := range p.queue {
		if q == r {
			p.queue = append(p.queue[:i], p.queue[i+1:]...)
			return
		}
	}
}

// lookAhead is how many jobs may wait for a worker: what the pool finished in the window, less one per worker. So it is none
// while handlers take as long as the window or longer, also when many of them end at once, and grows to all that fast ones will
// take in the next one.
func (p *pool) lookAhead(now time.Time) int { return max(p.recent.count(now)-p.workers, 0) }

// room is how many jobs to ask for: the free workers and the look-ahead. It waits until half of what may be taken ahead is
// used up, so that a busy pool claims in batches instead of one by one.
func (p *pool) room(now time.Time) int {
	look := p.lookAhead(now)
	waiting := len(p.queue) + p.asked
	free := p.workers - p.running
	if waiting > free+look/2 {
		return 0
	}
	n := min(free+look-waiting, maxClaim)
	if p.fetchBatch > 0 {
		n = min(n, p.fetchBatch)
	}
	return max(n, 0)
}

// freed wakes the lanes when there is room and one of them has a reason to look, or has to start polling again.
func (p *pool) freed(now time.Time) {
	if (p.more || p.parked) && p.room(now) > 0 {
		p.wake()
	}
}

// hint says that queues may have work, all of them when none is named.
func (p *pool) hint(queues ...string) {
	if p.picker.hint(queues) {
		p.more = true
		p.wake()
	}
}

func (p *pool) wake() {
	for _, l := range p.lanes {
		l.wake.Set()
	}
}

// rate counts events in the window just passed, in buckets of a fifth of it.
type rate struct {
	buckets [5]int
	at      int64
}

const rateBucket = lookAheadWindow / 5

func (r *rate) advance(now time.Time) {
	at := now.UnixNano() / int64(rateBucket)
	for steps := at - r.at; steps > 0; steps-- {
		if steps > int64(len(r.buckets)) {
			steps = int64(len(r.buckets))
		}
		r.buckets[(at-steps+1)%int64(len(r.buckets))] = 0
	}
	r.at = at
}

func (r *rate) add(now time.Time) {
	r.advance(now)
	r.buckets[r.at%int64(len(r.buckets))]++
}

func (r *rate) count(now time.Time) int {
	r.advance(now)
	n := 0
	for _, b := range r.buckets {
		n += b
	}
	return n
}
