package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestRateAgainstModel compares the buckets with a list of all events, while time passes in small and large steps.
func TestRateAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var r rate
		var events []time.Time
		now := time.Unix(1_700_000_000, rng.Int64N(1e9))
		for range 300 {
			switch rng.IntN(3) {
			case 0:
				now = now.Add(time.Duration(rng.IntN(20_000)) * time.Microsecond)
			case 1:
				if rng.IntN(20) == 0 {
					now = now.Add(time.Duration(rng.IntN(200)) * time.Millisecond)
				}
			}
			if rng.IntN(2) == 0 {
				r.add(now)
				events = append(events, now)
			}
			least, most := 0, 0
			for _, at := range events {
				if now.Sub(at) < lookAheadWindow {
					most++
				}
				if now.Sub(at) <= lookAheadWindow-rateBucket {
					least++
				}
			}
			if n := r.count(now); n < least || n > most {
				t.Fatalf("%d events counted; %d are in the window, %d of them not in its oldest bucket", n, most, least)
			}
		}
	}
}

// TestRoomIsBounded pins that what is asked for never exceeds the free workers and the look-ahead, that a pool with a free worker
// and nothing on its way to it always asks, and the caps of a claim.
func TestRoomIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	now := time.Unix(1_700_000_000, 0)
	for range 20_000 {
		p := pool{workers: 1 + rng.IntN(50), fetchBatch: max(rng.IntN(20)-10, 0)}
		p.running = rng.IntN(p.workers + 1)
		p.asked = rng.IntN(20)
		p.queue = make([]*Run, rng.IntN(20))
		finished := rng.IntN(3) * rng.IntN(3000)
		for range finished {
			p.recent.add(now)
		}
		free, look, n := p.workers-p.running, max(finished-p.workers, 0), p.room(now)
		if p.lookAhead(now) != look {
			t.Fatalf("look-ahead %d after %d finished jobs with %d workers", p.lookAhead(now), finished, p.workers)
		}
		waiting := p.asked + len(p.queue)
		switch {
		case n < 0 || n > maxClaim || p.fetchBatch > 0 && n > p.fetchBatch:
			t.Fatalf("asks for %d, FetchBatch %d", n, p.fetchBatch)
		case n > 0 && waiting+n > free+look:
			t.Fatalf("asks for %d with %d on their way to %d free workers and a look-ahead of %d", n, waiting, free, look)
		case n == 0 && free > 0 && waiting == 0:
			t.Fatalf("asks for nothing with %d free workers", free)
		}
	}
}

// TestBackoffDoubles pins the waits of an operation that fails.
func TestBackoffDoubles(t *testing.T) {
	b := backoff{least: 10 * time.Millisecond, most: 5 * time.Second}
	for range 2 {
		want := b.least
		for range 20 {
			if got := b.wait(); got != want {
				t.Fatalf("wait %s, want %s", got, want)
			}
			want = min(2*want, b.most)
		}
		b.reset()
	}
	if b := (backoff{least: time.Second, most: time.Millisecond}); b.wait() != time.Millisecond {
		t.Error("a wait is longer than the longest")
	}
}

// TestExpiryHeapAgainstModel moves runs in and out of the heap and compares their order with a sorted list's.
func TestExpiryHeapAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	now := time.Unix(1_700_000_000, 0)
	e := &expiry{wake: newSignal()}
	runs := make([]*Run, 60)
	for i := range runs {
		runs[i] = &Run{heap: -1}
	}
	for range 20_000 {
		r := runs[rng.IntN(len(runs))]
		if rng.IntN(3) == 0 {
			e.remove(r)
		} else {
			e.set(r, now.Add(time.Duration(rng.IntN(1000))*time.Millisecond))
		}
		in := slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.heap < 0 })
		if len(in) != len(e.runs) {
			t.Fatalf("%d runs think that they are in the heap of %d", len(in), len(e.runs))
		}
		if len(in) == 0 {
			continue
		}
		first := slices.MinFunc(in, func(a, b *Run) int { return a.expiry.Compare(b.expiry) })
		if !e.runs[0].expiry.Equal(first.expiry) || e.planned.After(first.expiry) {
			t.Fatalf("first %s, planned %s, want %s", e.runs[0].expiry, e.planned, first.expiry)
		}
		for i, r := range e.runs {
			if r.heap != i {
				t.Fatalf("the run at %d thinks that it is at %d", i, r.heap)
			}
		}
	}
}
