package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// pickupFigures are the time from the begin of an insert to the begin of the job's handler, on an idle system, and beside it the
// time of a durable commit on the same database, one after each sample.
var pickupFigures = []figure{
	{name: "p50", unit: "ms", less: true}, {name: "p99", unit: "ms", less: true},
	{name: "commit-p50", unit: "ms", less: true, bare: true}, {name: "commit-p99", unit: "ms", less: true, bare: true},
	{name: "p99-in-commit-p99s", less: true, bare: true},
}

// inline is a system that has nobody to hand a job to: its pickup is an insert and a claim in a row, two commits.
type inline interface {
	pickup(ctx context.Context, n int64) (time.Duration, error)
}

// warmUp samples are not counted: statements are prepared then.
const warmUp = 5

// pickup takes one sample every 10 ms, for as long as there is time.
func (r *round) pickup(ctx context.Context, samples int, most time.Duration) (_ []float64, err error) {
	var once func(context.Context, int64) (time.Duration, error)
	if f, ok := r.inst.(inline); ok {
		once = f.pickup
	} else {
		var stop func() error
		if once, stop, err = r.handOver(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	<-time.After(300 * time.Millisecond) // the system becomes idle
	var took, commits []float64
	probe, _ := r.place.(committer)
	cut := time.Now().Add(most)
	for i := range warmUp + samples {
		<-time.After(10 * time.Millisecond)
		one, err := once(ctx, int64(i))
		if err != nil {
			return nil, err
		}
		took = append(took, milliseconds(one))
		if probe != nil {
			if one, err = probe.commit(ctx); err != nil {
				return nil, err
			}
			commits = append(commits, milliseconds(one))
		}
		if i > warmUp && time.Now().After(cut) {
			break
		}
	}
	took, commits = took[warmUp:], commits[min(warmUp, len(commits)):]
	r.part = float64(len(took)) / float64(samples)
	p99, commit := quantile(took, 0.99), quantile(commits, 0.99)
	return []float64{quantile(took, 0.5), p99, quantile(commits, 0.5), commit, p99 / commit}, nil
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
		select {
		case at := <-started:
			return at.Sub(begin), nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return once, stop, err
}

// quantile is NaN of nothing.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
