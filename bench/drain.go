package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// progress is how jobs come to their ends: when each hundredth of them had run.
type progress struct {
	n, step int
	begin   time.Time
	ran     atomic.Int64
	done    chan struct{}
	marks   []atomic.Int64
	// took is the time to the last stored end, or to the cut.
	took time.Duration
}

func newProgress(n int) *progress {
	step := max(n/100, 1)
	return &progress{n: n, step: step, done: make(chan struct{}), marks: make([]atomic.Int64, n/step)}
}

// handled notes that one more job has run.
func (p *progress) handled() {
	ran := int(p.ran.Add(1))
	if ran%p.step == 0 && ran/p.step <= len(p.marks) {
		p.marks[ran/p.step-1].Store(int64(time.Since(p.begin)))
	}
	if ran == p.n {
		close(p.done)
	}
}

// count is how many of the jobs have run.
func (p *progress) count() int { return min(int(p.ran.Load()), p.n) }

func (p *progress) speed() float64 { return float64(p.count()) / p.took.Seconds() }

// tenths is how fast the first and the last tenth of the jobs that ran were. The first hundredth is left out, where the system starts.
func (p *progress) tenths() (first, last float64) {
	whole := min(p.count()/p.step, len(p.marks))
	for whole > 1 && p.marks[whole-1].Load() == 0 {
		whole-- // whoever ran that job is about to note the time
	}
	at := func(mark int) time.Duration {
		if mark == 0 {
			return 0
		}
		return time.Duration(p.marks[mark-1].Load())
	}
	between := func(from, to int) float64 {
		return float64((to-from)*p.step) / (at(to) - at(from)).Seconds()
	}
	tenth := max(whole/10, 1)
	return between(min(1, tenth-1), tenth), between(whole-tenth, whole)
}

// fillAndDrain returns how many jobs a second are worked through.
func (r *round) fillAndDrain(ctx context.Context, n, workers int, pause, most time.Duration) (float64, error) {
	if err := r.filled(ctx, n); err != nil {
		return 0, err
	}
	p, err := r.drain(ctx, n, workers, pause, most)
	if err != nil {
		return 0, err
	}
	return p.speed(), nil
}

// drain works through n jobs that are there, and ends when the last result is stored. After so long it is cut.
func (r *round) drain(ctx context.Context, n, workers int, pause, most time.Duration) (*progress, error) {
	return r.countDown(ctx, n, most, func(p *progress) (func() error, error) {
		return r.inst.work(ctx, workers, func(int64) {
			if pause > 0 {
				time.Sleep(pause)
			}
			p.handled()
		})
	})
}

// countDown measures how long work takes to handle n jobs and to store their ends, and what each costs.
func (r *round) countDown(ctx context.Context, n int, most time.Duration, work func(*progress) (stop func() error, err error)) (*progress, error) {
	p := newProgress(n)
	var stop func() error
	c, err := r.metered(ctx, func() (_ int, err error) {
		p.begin = time.Now()
		if stop, err = work(p); err != nil {
			return 0, err
		}
		err = r.await(ctx, p, most)
		return p.count(), err
	})
	if err != nil {
		if stop != nil {
			stop()
		}
		return nil, err
	}
	r.cost = &c
	return p, stop()
}

// await waits until all jobs have run and their ends are stored, or until the cut.
func (r *round) await(ctx context.Context, p *progress, most time.Duration) error {
	select {
	case <-p.done:
		err := r.awaitIdle(ctx)
		p.took = time.Since(p.begin)
		return err
	case <-time.After(time.Until(p.begin.Add(most))):
		p.took = time.Since(p.begin)
		r.part = float64(p.count()) / float64(p.n)
		if p.count() == 0 {
			return fmt.Errorf("none of %d jobs has run in %s", p.n, most)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitIdle waits until the end of every job is stored.
func (r *round) awaitIdle(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); ; {
		idle, err := r.inst.idle(ctx)
		if err != nil || idle {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("all jobs have run, and a minute later not all of their ends are stored")
		}
		<-time.After(500 * time.Microsecond)
	}
}

// single inserts up to n jobs one by one from so many goroutines, at least one from each, until enough says that it is enough, and
// returns how many it inserted.
func (r *round) single(ctx context.Context, n, clients int, enough func() bool) (int, error) {
	var next, inserted atomic.Int64
	errs := make([]error, clients)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for more := true; more; more = !enough() {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				if errs[c] = r.inst.insert(ctx, i, 1); errs[c] != nil {
					return
				}
				inserted.Add(1)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return int(inserted.Load()), nil
}

// together inserts one by one from 8 goroutines while 100 workers run.
func (r *round) together(ctx context.Context, n int, most time.Duration) ([]float64, error) {
	p, err := r.countDown(ctx, n, most, func(p *progress) (func() error, error) {
		stop, err := r.inst.work(ctx, 100, func(int64) { p.handled() })
		if err != nil {
			return nil, err
		}
		until := p.begin.Add(most)
		_, err = r.single(ctx, n, 8, func() bool { return time.Now().After(until) })
		if err != nil {
			stop()
		}
		return stop, err
	})
	if err != nil {
		return nil, err
	}
	return []float64{p.speed()}, nil
}
