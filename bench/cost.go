package main

import (
	"context"
	"math"
	"runtime"
	"syscall"
	"time"
)

// cost is what one job used. What cannot be told is NaN.
type cost [5]float64

// costs names the parts of a cost: CPU time of the server and of this process, its share of the server's log, and what this process
// allocated for it.
var costs = [len(cost{})]figure{
	{name: "server-cpu", unit: "µs", less: true},
	{name: "client-cpu", unit: "µs", less: true},
	{name: "log", unit: "B", less: true},
	{name: "allocations", unit: "", less: true},
	{name: "allocated", unit: "B", less: true},
}

// serverCost and logCost are where these two stand in a cost.
const serverCost, logCost = 0, 2

// plus is what a job used in two steps.
func (c cost) plus(d cost) cost {
	for i := range c {
		c[i] += d[i]
	}
	return c
}

// usage reads the accounts of a round.
type usage struct {
	client  time.Duration
	memory  runtime.MemStats
	metered func(context.Context) (spent, error)
}

func beginUsage(ctx context.Context, p place) (*usage, error) {
	u := &usage{}
	var err error
	if u.metered, err = p.meter(ctx); err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&u.memory)
	u.client = ownTime()
	return u, nil
}

// end returns what each of n jobs has used since the begin.
func (u *usage) end(ctx context.Context, n int) (cost, error) {
	client := ownTime() - u.client
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s := spent{cpu: unknown, log: unknown}
	var err error
	if u.metered != nil {
		s, err = u.metered(ctx)
	}
	each := func(v float64) float64 {
		if v < 0 || n < 1 {
			return math.NaN()
		}
		return v / float64(n)
	}
	return cost{
		each(float64(s.cpu) / float64(time.Microsecond)), each(float64(client) / float64(time.Microsecond)), each(float64(s.log)),
		each(float64(memory.Mallocs - u.memory.Mallocs)), each(float64(memory.TotalAlloc - u.memory.TotalAlloc)),
	}, err
}

// ownTime is how long this process has been on a CPU, the worker processes that it started left out.
func ownTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
