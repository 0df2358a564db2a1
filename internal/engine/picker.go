package engine

import (
	"math"
	"slices"
	"time"
)

// picker decides in which order a claim asks a pool's queues, and for how many jobs. Strict pools ask in their own order.
// Weighted pools keep for each queue what it was given divided by its weight, and draw the queue that is furthest behind.
type picker struct {
	queues []*pooledQueue
	// weighted says that the pool is shared by weight.
	weighted bool
	// probe is how long an empty queue is left alone when nothing is heard of it.
	probe time.Duration
	// level is the share of the queue in work that is furthest behind: where a queue joins in that was idle or paused.
	level float64
	// heard counts the hints.
	heard uint64
}

type pooledQueue struct {
	name   string
	weight float64
	paused bool
	// share is the jobs given divided by the weight.
	share float64
	// idle says that a claim found the queue empty and nothing has been heard of it since: it lends its share to the others,
	// until idleUntil.
	idle      bool
	idleUntil time.Time
	// heard is the number of the last hint about it.
	heard uint64
}

func newPicker(c PoolConfig, probe time.Duration) picker {
	p := picker{weighted: c.Weights != nil, probe: probe}
	for _, name := range c.Queues {
		weight := 1
		if w, ok := c.Weights[name]; ok {
			weight = w
		}
		p.queues = append(p.queues, &pooledQueue{name: name, weight: float64(weight)})
	}
	return p
}

// draw returns the queues to ask in order and how many jobs to ask for, at most n. The first queue is the drawn one, and the
// limit of a weighted pool is that queue's part of n; the others stand behind it for what it does not have.
func (p *picker) draw(n int, now time.Time) (queues []string, limit int) {
	open := p.open()
	if len(open) == 0 {
		return nil, 0
	}
	if !p.weighted {
		return names(open), n
	}
	for _, q := range open {
		if q.idle && !now.Before(q.idleUntil) {
			p.activate(q)
		}
	}
	busy := slices.DeleteFunc(slices.Clone(open), func(q *pooledQueue) bool { return q.idle })
	if len(busy) == 0 {
		busy = open
	}
	first, quota := part(busy, n)
	slices.SortStableFunc(open, func(a, b *pooledQueue) int {
		switch {
		case a == first:
			return -1
		case b == first:
			return 1
		case a.share < b.share:
			return -1
		case a.share > b.share:
			return 1
		}
		return 0
	})
	return names(open), quota
}

// part deals n jobs to the queues by share and returns the queue that is dealt the first, and how many it gets.
func part(queues []*pooledQueue, n int) (first *pooledQueue, quota int) {
	shares := make([]float64, len(queues))
	for i, q := range queues {
		shares[i] = q.share
	}
	for range n {
		least := 0
		for i, share := range shares {
			if share < shares[least] {
				least = i
			}
		}
		shares[least] += 1 / queues[least].weight
		if first == nil {
			first = queues[least]
		}
		if first == queues[least] {
			quota++
		}
	}
	return first, quota
}

// took notes what a claim brought: got counts jobs by queue; short says that it brought less than it asked for, which means
// that every queue it asked is empty, unless it was heard of again since: later than the hint of that number.
func (p *picker) took(asked []string, got map[string]int, short bool, since uint64, now time.Time) {
	if !p.weighted {
		return
	}
	for _, q := range p.queues {
		if n := got[q.name]; n > 0 {
			p.activate(q)
			q.share += float64(n) / q.weight
		}
	}
	for i, name := range asked {
		// The drawn queue is empty when others had to step in for it; all are when even they could not.
		steppedIn := i == 0 && len(got) > 0 && (got[name] == 0 || len(got) > 1)
		if q := p.find(name); q != nil && q.heard <= since && (short || steppedIn) {
			q.idle = true
			q.idleUntil = now.Add(p.probe)
		}
	}
	p.raise()
}

// raise moves the level up to the queue in work that is furthest behind, or to the one furthest ahead when none is in work.
func (p *picker) raise() {
	least, most := math.Inf(1), 0.0
	for _, q := range p.queues {
		most = max(most, q.share)
		if !q.idle && !q.paused {
			least = min(least, q.share)
		}
	}
	p.level = max(p.level, min(least, most))
}

// activate ends a queue's idleness.
func (p *picker) activate(q *pooledQueue) {
	if q.idle {
		q.idle = false
		p.join(q)
	}
}

// join lets a queue take part again, level with the others, so that the time in which it took none earns no claim on the future.
func (p *picker) join(q *pooledQueue) { q.share = max(q.share, p.level) }

// hint says that queues may have work, all of them when none is named, and reports whether one of them is the pool's.
func (p *picker) hint(queues []string) bool {
	p.heard++
	known := false
	for _, q := range p.queues {
		if len(queues) == 0 || slices.Contains(queues, q.name) {
			q.heard = p.heard
			p.activate(q)
			known = true
		}
	}
	return known
}

// pause sets which queues are paused, all others being open, and reports whether one was opened or closed.
func (p *picker) pause(paused map[string]bool) (opened, closed bool) {
	for _, q := range p.queues {
		switch now := paused[q.name]; {
		case now && !q.paused:
			closed = true
			q.paused = true
		case !now && q.paused:
			opened = true
			q.paused = false
			p.join(q)
		}
	}
	return opened, closed
}

func (p *picker) open() []*pooledQueue {
	open := make([]*pooledQueue, 0, len(p.queues))
	for _, q := range p.queues {
		if !q.paused {
			open = append(open, q)
		}
	}
	return open
}

func (p *picker) find(name string) *pooledQueue {
	for _, q := range p.queues {
		if q.name == name {
			return q
		}
	}
	return nil
}

func names(queues []*pooledQueue) []string {
	out := make([]string, len(queues))
	for i, q := range queues {
		out[i] = q.name
	}
	return out
}
