package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// round is one measurement of one scenario on one system.
type round struct {
	sys   system
	place place
	inst  instance
	// cost is what a job used in what was measured; filling is what it used when it was inserted before.
	cost, filling *cost
	// part of the jobs ran before the round was cut.
	part float64
}

// outcome is what one round measured.
type outcome struct {
	values []float64
	cost   *cost
	// life is what a job used from its insert to its end, where the round measured both.
	life *cost
	part float64
}

// run measures a scenario once, in a fresh place; one with parts measures each of them.
func run(ctx context.Context, sc scenario, sys system) ([]outcome, error) {
	if len(sc.parts) == 0 {
		o, err := runOne(ctx, sc, sys)
		return []outcome{o}, err
	}
	all := make([]outcome, len(sc.parts))
	for i, part := range sc.parts {
		var err error
		if all[i], err = runOne(ctx, part, sys); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return all, nil
}

func runOne(ctx context.Context, sc scenario, sys system) (o outcome, err error) {
	place, err := sys.on.place(ctx)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, place.remove(ctx)) }()
	inst, err := sys.open(ctx, place.address())
	if err != nil {
		return o, err
	}
	runtime.GC() // what other rounds have left behind is not this one's to collect
	r := &round{sys: sys, place: place, inst: inst, part: 1}
	values, err := sc.measure(ctx, r)
	o = outcome{values: values, cost: r.cost, part: r.part}
	if r.cost != nil && r.filling != nil {
		life := r.filling.plus(*r.cost)
		o.life = &life
	}
	return o, errors.Join(err, inst.close())
}

// measure lets the systems take turns, in an order that rotates from round to round, and returns what each round found.
func measure(ctx context.Context, sc scenario, chosen []system, rounds int) (map[string][][]outcome, error) {
	found := map[string][][]outcome{}
	for i := range rounds {
		for j := range chosen {
			sys := chosen[(i+j)%len(chosen)]
			o, err := run(ctx, sc, sys)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", sc.name, sys.name, err)
			}
			found[sys.name] = append(found[sys.name], o)
		}
	}
	return found, ctx.Err()
}

// metered measures what each of the jobs costs that do handles.
func (r *round) metered(ctx context.Context, do func() (n int, err error)) (cost, error) {
	u, err := beginUsage(ctx, r.place)
	if err != nil {
		return cost{}, err
	}
	n, err := do()
	if err != nil {
		return cost{}, err
	}
	return u.end(ctx, n)
}

// rate measures how many jobs do handles in a second.
func (r *round) rate(ctx context.Context, do func() (n int, err error)) ([]float64, error) {
	var perSecond float64
	c, err := r.metered(ctx, func() (int, error) {
		begin := time.Now()
		n, err := do()
		perSecond = float64(n) / time.Since(begin).Seconds()
		return n, err
	})
	r.cost = &c
	return []float64{perSecond}, err
}

// filled inserts the jobs that are drained afterwards, and notes what that costs.
func (r *round) filled(ctx context.Context, n int) error {
	c, err := r.metered(ctx, func() (int, error) { return n, r.fill(ctx, n, bulk) })
	r.filling = &c
	if err != nil {
		return err
	}
	return r.place.settle(ctx)
}

func (r *round) fill(ctx context.Context, n, call int) error {
	for first := 0; first < n; first += call {
		if err := r.inst.insert(ctx, int64(first), min(call, n-first)); err != nil {
			return err
		}
	}
	return nil
}
