package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// scenario is one thing to measure. Bigger values are better unless it measures time.
type scenario struct {
	name string
	unit string
	// seconds says that the value is a duration, of which less is better.
	seconds bool
	// shared says that it needs a database which several processes can work on.
	shared  bool
	measure func(ctx context.Context, r *round) (float64, error)
}

// round is one measurement of one scenario on one system.
type round struct {
	sys  system
	dir  string
	inst instance
}

// scenarios lists what is measured with n jobs a round.
func scenarios(n, samples int) []scenario {
	list := []scenario{{name: "insert-bulk", unit: "jobs/s", measure: func(ctx context.Context, r *round) (float64, error) {
		return r.rate(n*2, func() error { return r.fill(ctx, n*2) })
	}}}
	for _, clients := range []int{1, 8, 32} {
		list = append(list, scenario{name: fmt.Sprintf("insert-one-x%d", clients), unit: "jobs/s",
			measure: func(ctx context.Context, r *round) (float64, error) {
				count := max(n/4, 500*min(clients, 4))
				return r.rate(count, func() error { return r.single(ctx, count, clients) })
			}})
	}
	drain := func(name string, count, workers int, pause time.Duration) scenario {
		return scenario{name: name, unit: "jobs/s", measure: func(ctx context.Context, r *round) (float64, error) {
			if err := r.fill(ctx, count); err != nil {
				return 0, err
			}
			return r.drain(ctx, count, workers, pause)
		}}
	}
	list = append(list,
		drain("drain", n, 100, 0),
		drain("drain-1ms-x16", n/2, 16, time.Millisecond),
		drain("drain-1ms-x64", n/2, 64, time.Millisecond),
		scenario{name: "insert-and-work", unit: "jobs/s", measure: func(ctx context.Context, r *round) (float64, error) {
			return r.together(ctx, n/2)
		}},
		scenario{name: "pickup-p50", unit: "ms", seconds: true, measure: func(ctx context.Context, r *round) (float64, error) {
			return r.pickup(ctx, samples, 0.50)
		}},
		scenario{name: "pickup-p99", unit: "ms", seconds: true, measure: func(ctx context.Context, r *round) (float64, error) {
			return r.pickup(ctx, samples, 0.99)
		}},
	)
	for _, count := range []int{1, 2} {
		list = append(list, scenario{name: fmt.Sprintf("drain-%d-process", count), unit: "jobs/s", shared: true,
			measure: func(ctx context.Context, r *round) (float64, error) {
				if err := r.fill(ctx, n); err != nil {
					return 0, err
				}
				return r.drainByProcesses(n, count)
			}})
	}
	if n >= 50_000 {
		list = append(list, drain("drain-200k", 200_000, 100, 0))
	}
	return list
}

// bulk is how many jobs one call inserts.
const bulk = 1000

func (r *round) fill(ctx context.Context, n int) error {
	for first := 0; first < n; first += bulk {
		if err := r.inst.insert(ctx, int64(first), min(bulk, n-first)); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) rate(n int, do func() error) (float64, error) {
	begin := time.Now()
	err := do()
	return float64(n) / time.Since(begin).Seconds(), err
}

func (r *round) single(ctx context.Context, n, clients int) error {
	var next atomic.Int64
	errs := make([]error, clients)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for errs[c] == nil {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				errs[c] = r.inst.insert(ctx, i, 1)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// drain works through what is there and returns jobs per second.
func (r *round) drain(ctx context.Context, n, workers int, pause time.Duration) (float64, error) {
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan struct{})
	begin := time.Now()
	stop, err := r.inst.work(ctx, workers, func(int64) {
		if pause > 0 {
			time.Sleep(pause)
		}
		if left.Add(-1) == 0 {
			close(done)
		}
	})
	if err != nil {
		return 0, err
	}
	if err := wait(done, 5*time.Minute); err != nil {
		return 0, fmt.Errorf("%d of %d jobs left: %w", left.Load(), n, err)
	}
	took := time.Since(begin)
	return float64(n) / took.Seconds(), stop()
}

// together inserts one by one from 8 goroutines while 100 workers run.
func (r *round) together(ctx context.Context, n int) (float64, error) {
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan struct{})
	stop, err := r.inst.work(ctx, 100, func(int64) {
		if left.Add(-1) == 0 {
			close(done)
		}
	})
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := r.single(ctx, n, 8); err != nil {
		return 0, err
	}
	if err := wait(done, 5*time.Minute); err != nil {
		return 0, fmt.Errorf("%d of %d jobs left: %w", left.Load(), n, err)
	}
	took := time.Since(begin)
	return float64(n) / took.Seconds(), stop()
}

// pickup measures, on an idle system, the time from the begin of an insert to the begin of the job's handler.
func (r *round) pickup(ctx context.Context, samples int, quantile float64) (float64, error) {
	begun := make([]time.Time, samples)
	started := make(chan time.Time, 1)
	stop, err := r.inst.work(ctx, 10, func(int64) { started <- time.Now() })
	if err != nil {
		return 0, err
	}
	<-time.After(300 * time.Millisecond) // the system becomes idle
	took := make([]float64, 0, samples)
	for i := range samples {
		<-time.After(10 * time.Millisecond)
		begun[i] = time.Now()
		if err := r.inst.insert(ctx, int64(i), 1); err != nil {
			return 0, err
		}
		took = append(took, float64((<-started).Sub(begun[i]))/float64(time.Millisecond))
	}
	slices.Sort(took)
	return took[min(int(quantile*float64(samples)), samples-1)], stop()
}

func wait(done <-chan struct{}, most time.Duration) error {
	select {
	case <-done:
		return nil
	case <-time.After(most):
		return fmt.Errorf("waited for %s", most)
	}
}

// run measures a scenario once, on a fresh database.
func run(ctx context.Context, sc scenario, sys system) (value float64, err error) {
	dir, err := os.MkdirTemp("", "kiln-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	inst, err := sys.open(ctx, dir)
	if err != nil {
		return 0, err
	}
	value, err = sc.measure(ctx, &round{sys: sys, dir: dir, inst: inst})
	if shut := inst.close(); err == nil {
		err = shut
	}
	return value, err
}
