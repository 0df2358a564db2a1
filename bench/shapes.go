package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln"
)

// shape is a kind of job that costs more than a plain one. How much more is measured against kiln's own plain drain.
type shape struct {
	name string
	// spec is the n-th job.
	spec func(n int64) kiln.Spec
	// args is how large the args are, if not as large as those of other jobs.
	args int
	// batch makes each call's jobs members of a batch of their own.
	batch bool
	// fails says which jobs fail at their first attempt.
	fails func(n int64) bool
}

// limitKeys is how many limit keys there are.
const limitKeys = 10_000

var shapes = []shape{
	{name: "plain"},
	{name: "args-4k", args: 4096},
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
			specs[i].Args = s.payload(int64(first + i))
		}
		if err := s.insert(ctx, k, specs); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) payload(n int64) payload {
	if s.args > 0 {
		return payload{N: n, Text: textFor(s.args)}
	}
	return newPayload(n)
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

func (r *round) drainShape(ctx context.Context, s *shape, n int, most time.Duration) ([]float64, error) {
	k := r.inst.(*kilnInstance)
	c, err := r.metered(ctx, func() (int, error) { return n, s.fill(ctx, k, n) })
	if err != nil {
		return nil, err
	}
	r.filling = &c
	if err := r.place.settle(ctx); err != nil {
		return nil, err
	}
	p, err := r.countDown(ctx, n, most, func(p *progress) (func() error, error) { return s.work(ctx, k, p.handled) })
	if err != nil {
		return nil, err
	}
	return []float64{p.speed()}, nil
}
