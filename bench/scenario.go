package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// scenario is one thing to measure.
type scenario struct {
	name string
	// figures are what one round measures. The first has the costs of a job beside it, if the round has any.
	figures []figure
	// on says which systems can do it; nil means all.
	on func(system) bool
	// many says that it inserts many jobs a call.
	many bool
	// thorough says that -quick leaves it out, unless it is asked for by name.
	thorough bool
	// parts, when there are any, are measured instead, each in a place of its own, and compared with the first.
	parts   []scenario
	measure func(ctx context.Context, r *round) ([]float64, error)
}

// takes says whether the scenario measures the system.
func (sc *scenario) takes(s system) bool {
	return (sc.on == nil || sc.on(s)) && (sc.many || !s.inserts)
}

// figure is a number that is measured. Bigger ones are better unless less is.
type figure struct {
	name, unit string
	less       bool
	// bare says that no ratio to another system's is shown.
	bare bool
}

// sizes say how much is measured.
type sizes struct {
	// jobs are drained, long of them in the long drain, pinned of them under a pinned horizon, several by several
	// processes, shaped of each shape.
	jobs, long, pinned, several, shaped int
	// processes work on one queue.
	processes []int
	// samples are taken of the pickup.
	samples int
	// most is how long a drain may take before it is cut, longest the same under a pinned horizon and for the samples of the pickup, and single
	// how long jobs are inserted one by one.
	most, longest, single time.Duration
}

var (
	fullSizes = sizes{
		jobs: 50_000, long: 200_000, pinned: 500_000, several: 100_000, shaped: 50_000, processes: []int{1, 2, 4},
		samples: 500, most: 20 * time.Second, longest: time.Minute, single: 5 * time.Second,
	}
	quickSizes = sizes{
		jobs: 10_000, long: 20_000, pinned: 20_000, several: 10_000, shaped: 5_000, processes: []int{1, 4},
		samples: 25, most: 600 * time.Millisecond, longest: 2 * time.Second, single: 150 * time.Millisecond,
	}
)

// bulk is how many jobs one call inserts where that is not what is measured.
const bulk = 1000

var speed = []figure{{name: "speed", unit: "jobs/s"}}

// scenarios lists what is measured.
func scenarios(z sizes) []scenario {
	list := []scenario{
		insertMany(1000, z.jobs*2), insertMany(10_000, max(z.jobs*2, 10_000)),
		insertOne(1, z, false), insertOne(8, z, false), insertOne(32, z, true),
		drain("drain", z.jobs, z, false),
		drain("drain-long", z.long, z, true),
		sleepers(4, z, true), sleepers(16, z, false), sleepers(64, z, true),
		{name: "insert-and-work", figures: speed, measure: func(ctx context.Context, r *round) ([]float64, error) {
			return r.together(ctx, z.jobs/2, z.most)
		}},
		{name: "pickup", figures: pickupFigures, measure: func(ctx context.Context, r *round) ([]float64, error) {
			return r.pickup(ctx, z.samples, z.longest)
		}},
		{name: "drain-pinned", figures: pinnedFigures, on: func(s system) bool { return s.on == onPostgres },
			measure: func(ctx context.Context, r *round) ([]float64, error) { return r.drainPinned(ctx, z.pinned, z.longest) }},
		{name: "processes", on: func(s system) bool { return s.shared }},
		{name: "shapes", on: func(s system) bool { return s.kiln }},
	}
	processes, mixes := &list[len(list)-2], &list[len(list)-1]
	for _, count := range z.processes {
		processes.parts = append(processes.parts, scenario{name: fmt.Sprintf("%d", count), figures: speed,
			measure: func(ctx context.Context, r *round) ([]float64, error) {
				return r.drainByProcesses(ctx, z.several, count, z.most)
			}})
	}
	for i := range shapes {
		mixes.parts = append(mixes.parts, scenario{name: shapes[i].name, figures: speed,
			measure: func(ctx context.Context, r *round) ([]float64, error) {
				return r.drainShape(ctx, &shapes[i], z.shaped, z.most)
			}})
	}
	return list
}

func insertMany(call, count int) scenario {
	return scenario{name: fmt.Sprintf("insert-%d-a-call", call), figures: speed, many: true, measure: func(ctx context.Context, r *round) ([]float64, error) {
		return r.rate(ctx, func() (int, error) { return count, r.fill(ctx, count, call) })
	}}
}

func insertOne(clients int, z sizes, thorough bool) scenario {
	return scenario{name: fmt.Sprintf("insert-one-x%d", clients), figures: speed, thorough: thorough,
		measure: func(ctx context.Context, r *round) ([]float64, error) {
			return r.rate(ctx, func() (int, error) {
				until := time.Now().Add(z.single)
				return r.single(ctx, z.jobs, clients, func() bool { return time.Now().After(until) })
			})
		}}
}

func drain(name string, count int, z sizes, thorough bool) scenario {
	return scenario{name: name, figures: speed, thorough: thorough, measure: func(ctx context.Context, r *round) ([]float64, error) {
		perSecond, err := r.fillAndDrain(ctx, count, 100, 0, z.most)
		return []float64{perSecond}, err
	}}
}

// sleepers drains jobs whose handler takes a millisecond. A slot's turn-round is that millisecond and what comes between two jobs.
func sleepers(workers int, z sizes, thorough bool) scenario {
	figures := append(slices.Clone(speed), figure{name: "turn-round", unit: "ms", less: true, bare: true})
	return scenario{name: fmt.Sprintf("drain-1ms-x%d", workers), figures: figures, thorough: thorough,
		measure: func(ctx context.Context, r *round) ([]float64, error) {
			perSecond, err := r.fillAndDrain(ctx, z.jobs*2/5, workers, time.Millisecond, z.most)
			return []float64{perSecond, 1000 * float64(workers) / perSecond}, err
		}}
}
