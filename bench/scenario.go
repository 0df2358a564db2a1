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
	shared bool
	// ours says that it measures what only kiln has.
	ours bool
	// shapes are measured one after the other on databases of their own, and shown as parts of the first.
	shapes []shape
	// quantiles, when there are any, are what is shown of the values that one round measures.
	quantiles []float64
	measure   func(ctx context.Context, r *round) ([]float64, error)
}

// round is one measurement of one scenario on one system.
type round struct {
	sys  system
	dir  string
	inst instance
}

// scenarios lists what is measured with n jobs a round.
func scenarios(n, samples int) []scenario {
	list := []scenario{{name: "insert-bulk", unit: "jobs/s", measure: func(ctx context.Context, r *round) ([]float64, error) {
		return r.rate(n*2, func() error { return r.fill(ctx, n*2) })
	}}}
	for _, clients := range []int{1, 8, 32} {
		list = append(list, scenario{name: fmt.Sprintf("insert-one-x%d", clients), unit: "jobs/s",
			measure: func(ctx context.Context, r *round) ([]float64, error) {
				count := max(n/4, 500*min(clients, 4))
				return r.rate(count, func() error { return r.single(ctx, count, clients) })
			}})
	}
	drain := func(name string, count, workers int, pause time.Duration) scenario {
		return scenario{name: name, unit: "jobs/s", measure: func(ctx context.Context, r *round) ([]float64, error) {
			if err := r.fill(ctx, count); err != nil {
				return nil, err
			}
			return r.drain(ctx, count, workers, pause)
		}}
	}
	list = append(list,
		drain("drain", n, 100, 0),
		drain("drain-1ms-x16", n/2, 16, time.Millisecond),
		drain("drain-1ms-x64", n/2, 64, time.Millisecond),
		scenario{name: "insert-and-work", unit: "jobs/s", measure: func(ctx context.Context, r *round) ([]float64, error) {
			return r.together(ctx, n/2)
		}},
		scenario{name: "pickup", unit: "ms", seconds: true, quantiles: []float64{0.50, 0.99},
			measure: func(ctx context.Context, r *round) ([]float64, error) { return r.pickup(ctx, samples) }},
	)
	for _, count := range []int{1, 2} {
		list = append(list, scenario{name: fmt.Sprintf("drain-%d-process", count), unit: "jobs/s", shared: true,
			measure: func(ctx context.Context, r *round) ([]float64, error) {
				if err := r.fill(ctx, n); err != nil {
					return nil, err
				}
				return r.drainByProcesses(n, count)
			}})
	}
	list = append(list, scenario{name: "shapes", unit: "jobs/s", ours: true, shapes: shapes, measure: func(ctx context.Context, r *round) ([]float64, error) {
		return r.shapes(ctx, n)
	}})
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

func (r *round) rate(n int, do func() error) ([]float64, error) {
	begin := time.Now()
	err := do()
	return perSecond(n, begin), err
}

func perSecond(n int, begin time.Time) []float64 {
	return []float64{float64(n) / time.Since(begin).Seconds()}
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
func (r *round) drain(ctx context.Context, n, workers int, pause time.Duration) ([]float64, error) {
	return countDown(n, func(handled func()) (func() error, error) {
		return r.inst.work(ctx, workers, func(int64) {
			if pause > 0 {
				time.Sleep(pause)
			}
			handled()
		})
	})
}

// together inserts one by one from 8 goroutines while 100 workers run.
func (r *round) together(ctx context.Context, n int) ([]float64, error) {
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan struct{})
	stop, err := r.inst.work(ctx, 100, func(int64) {
		if left.Add(-1) == 0 {
			close(done)
		}
	})
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := r.single(ctx, n, 8); err != nil {
		return nil, err
	}
	if err := wait(done, 5*time.Minute); err != nil {
		return nil, fmt.Errorf("%d of %d jobs left: %w", left.Load(), n, err)
	}
	speed := perSecond(n, begin)
	return speed, stop()
}

// inline is a system that has nobody to hand a job to: its pickup is an insert and a claim in a row, two commits.
type inline interface {
	pickup(ctx context.Context, n int64) (time.Duration, error)
}

// pickup measures, on an idle system, the time from the begin of an insert to the begin of the job's handler.
func (r *round) pickup(ctx context.Context, samples int) ([]float64, error) {
	var once func(context.Context, int64) (time.Duration, error)
	stop := func() error { return nil }
	if f, ok := r.inst.(inline); ok {
		once = f.pickup
	} else {
		var err error
		if once, stop, err = r.handOver(ctx); err != nil {
			return nil, err
		}
	}
	<-time.After(300 * time.Millisecond) // the system becomes idle
	took := make([]float64, 0, samples)
	for i := range samples {
		<-time.After(10 * time.Millisecond)
		one, err := once(ctx, int64(i))
		if err != nil {
			return nil, err
		}
		took = append(took, float64(one)/float64(time.Millisecond))
	}
	return took, stop()
}

// handOver lets 10 workers run, and returns what inserts a job and tells when its handler began.
func (r *round) handOver(ctx context.Context) (once func(context.Context, int64) (time.Duration, error), stop func() error, err error) {
	started := make(chan time.Time, 1)
	stop, err = r.inst.work(ctx, 10, func(int64) { started <- time.Now() })
	once = func(ctx context.Context, n int64) (time.Duration, error) {
		begin := time.Now()
		if err := r.inst.insert(ctx, n, 1); err != nil {
			return 0, err
		}
		return (<-started).Sub(begin), nil
	}
	return once, stop, err
}

func wait(done <-chan struct{}, most time.Duration) error {
	select {
	case <-done:
		return nil
	case <-time.After(most):
		return fmt.Errorf("waited for %s", most)
	}
}

// figures are what is shown of one round: the values, or their quantiles.
func (sc *scenario) figures(values []float64) []float64 {
	if len(sc.quantiles) == 0 {
		return values
	}
	slices.Sort(values)
	out := make([]float64, len(sc.quantiles))
	for i, q := range sc.quantiles {
		out[i] = values[min(int(q*float64(len(values))), len(values)-1)]
	}
	return out
}

// run measures a scenario once, on a fresh database.
func run(ctx context.Context, sc scenario, sys system) (values []float64, err error) {
	dir, err := os.MkdirTemp("", "kiln-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	inst, err := sys.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	values, err = sc.measure(ctx, &round{sys: sys, dir: dir, inst: inst})
	if shut := inst.close(); err == nil {
		err = shut
	}
	return values, err
}
