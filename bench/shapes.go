package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln"
)

// shape is a kind of job that costs more than a plain one. How much more is measured against kiln's own plain drain.
type shape struct {
	name string
	// spec is the n-th job.
	spec func(n int64) kiln.Spec
	// batch makes each call's jobs members of a batch of their own.
	batch bool
	// fails says which jobs fail at their first attempt.
	fails func(n int64) bool
}

// limitKeys is how many limit keys there are.
const limitKeys = 10_000

var shapes = []shape{
	{name: "plain"},
	{name: "unique", spec: func(n int64) kiln.Spec {
		return kiln.Spec{Options: []kiln.InsertOption{kiln.Unique{Key: fmt.Sprint(n)}}}
	}},
	{name: "batch", batch: true},
	{name: "flow", spec: func(n int64) kiln.Spec {
		if n%2 == 0 {
			return kiln.Spec{}
		}
		return kiln.Spec{Options: []kiln.InsertOption{kiln.Needs{int(n-1) % bulk}}}
	}},
	{name: "failures", fails: func(n int64) bool { return n%10 < 3 }},
	{name: "limit-room", spec: func(n int64) kiln.Spec {
		return kiln.Spec{Options: []kiln.InsertOption{kiln.Limit{Key: fmt.Sprint(n % limitKeys), Max: 1000}}}
	}},
	{name: "limit-held", spec: func(n int64) kiln.Spec {
		return kiln.Spec{Options: []kiln.InsertOption{kiln.Limit{Key: fmt.Sprint(n / 2 % limitKeys), Max: 1}}}
	}},
}

var errFirst = errors.New("the first attempt fails")

func (s *shape) fill(ctx context.Context, k *kilnInstance, n int) error {
	for first := 0; first < n; first += bulk {
		specs := make([]kiln.Spec, min(bulk, n-first))
		for i := range specs {
			if s.spec != nil {
				specs[i] = s.spec(int64(first + i))
			}
			specs[i].Args = newPayload(int64(first + i))
		}
		if err := s.insert(ctx, k, specs); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) insert(ctx context.Context, k *kilnInstance, specs []kiln.Spec) error {
	if !s.batch {
		_, err := k.client.EnqueueMany(ctx, specs...)
		return err
	}
	b := &kiln.Batch{}
	for i := range specs {
		b.Add(specs[i].Args, specs[i].Options...)
	}
	_, err := k.client.StartBatch(ctx, b)
	return err
}

// work runs the jobs of a shape with 100 workers.
func (s *shape) work(ctx context.Context, k *kilnInstance, handle func()) (func() error, error) {
	mux := kiln.NewMux()
	kiln.Handle(mux, func(_ context.Context, j *kiln.Job[payload]) error {
		if s.fails != nil && j.Attempt == 1 && s.fails(j.Args.N) {
			return errFirst
		}
		handle()
		return nil
	})
	return k.serve(ctx, mux, kiln.ServerConfig{
		Queues: map[string]int{kiln.DefaultQueue: 100}, Backoff: kiln.Constant(time.Millisecond),
	})
}

// shapes drains n jobs of each shape, each on a fresh database.
func (r *round) shapes(ctx context.Context, n int) ([]float64, error) {
	var speeds []float64
	for i := range shapes {
		s := &shapes[i]
		one := scenario{name: s.name, measure: func(ctx context.Context, r *round) ([]float64, error) {
			return r.drainShape(ctx, s, n)
		}}
		speed, err := run(ctx, one, r.sys)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		speeds = append(speeds, speed...)
	}
	return speeds, nil
}

func (r *round) drainShape(ctx context.Context, s *shape, n int) ([]float64, error) {
	k := r.inst.(*kilnInstance)
	if err := s.fill(ctx, k, n); err != nil {
		return nil, err
	}
	return countDown(n, func(handled func()) (func() error, error) { return s.work(ctx, k, handled) })
}

// countDown measures how long work takes to handle n jobs.
func countDown(n int, work func(handled func()) (stop func() error, err error)) ([]float64, error) {
	var left atomic.Int64
	left.Store(int64(n))
	done := make(chan struct{})
	begin := time.Now()
	stop, err := work(func() {
		if left.Add(-1) == 0 {
			close(done)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := wait(done, 5*time.Minute); err != nil {
		return nil, fmt.Errorf("%d of %d jobs left: %w", left.Load(), n, err)
	}
	speed := perSecond(n, begin)
	return speed, stop()
}
