package main

import (
	"context"
	"time"
)

// pinner is a place where a transaction that stays open keeps dead rows from being removed.
type pinner interface {
	pin(ctx context.Context) (release func() error, err error)
	// size is how many bytes the place has.
	size(ctx context.Context) (int64, error)
}

// pinnedFigures say whether a drain gets slower, and how much the database grows, while dead rows have to stay.
var pinnedFigures = []figure{
	{name: "speed", unit: "jobs/s"}, {name: "first-tenth", unit: "jobs/s"}, {name: "last-tenth", unit: "jobs/s"},
	{name: "last-of-first", bare: true}, {name: "growth", unit: "B per job", less: true, bare: true},
}

// drainPinned drains while an idle transaction with a snapshot keeps every dead row in place.
func (r *round) drainPinned(ctx context.Context, n int, most time.Duration) ([]float64, error) {
	if err := r.filled(ctx, n); err != nil {
		return nil, err
	}
	pinned := r.place.(pinner)
	release, err := pinned.pin(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	before, err := pinned.size(ctx)
	if err != nil {
		return nil, err
	}
	p, err := r.drain(ctx, n, 100, 0, most)
	if err != nil {
		return nil, err
	}
	after, err := pinned.size(ctx)
	if err != nil {
		return nil, err
	}
	first, last := p.tenths()
	return []float64{p.speed(), first, last, last / first, float64(after-before) / float64(p.count())}, release()
}
