package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// cell measures one thing that must not grow with what is in the store. The points of its graph go to a file of its own.
type cell struct {
	name string
	// axes are the columns of its points, behind the system: first what is varied, then what was measured.
	axes []string
	// on says which systems can do it.
	on  func(system) bool
	run func(ctx context.Context, sys system, size int, point func(values ...any)) error
}

var cells = []cell{
	{"backlog", []string{"ready", "claim p50 ms", "claim p95 ms"}, isKiln, backlogCell},
	{"foreign", []string{"ready of foreign kinds ahead", "claim p50 ms", "claim p95 ms", "first claim ms"}, isKiln, foreignCell},
	{"scheduled", []string{"scheduled", "lateness p50 ms", "lateness p99 ms"}, isKiln, scheduledCell},
	{"limits", []string{"limit", "jobs/s", "of unlimited"}, isKiln, limitsCell},
	{"payload", []string{"args bytes", "drain jobs/s", "log B per job", "server µs per job"}, func(s system) bool { return !s.inserts }, payloadCell},
}

func isKiln(s system) bool { return s.kiln && s.on != onMemory }

func cellNames() []string {
	all := make([]string, len(cells))
	for i, c := range cells {
		all[i] = c.name
	}
	return all
}

func (o *order) checkScale() error {
	if o.size < 10_000 {
		return fmt.Errorf("-scale-size %d: want at least 10000", o.size)
	}
	for name := range strings.SplitSeq(o.scale, ",") {
		if name != "all" && !slices.Contains(cellNames(), name) {
			return fmt.Errorf("-scale: %q is no cell; there are %s", name, strings.Join(cellNames(), ", "))
		}
	}
	return nil
}

func (o *order) measureScale(ctx context.Context, out *results, chosen []system) error {
	fmt.Fprintf(out, "up to %d jobs\n\n", o.size)
	for _, c := range cells {
		if o.scale == "all" || slices.Contains(strings.Split(o.scale, ","), c.name) {
			if err := o.measureCell(ctx, out, c, chosen); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

func (o *order) measureCell(ctx context.Context, out *results, c cell, chosen []system) (err error) {
	graph, err := newGraph(out, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, graph.close()) }()
	for _, sys := range chosen {
		if !c.on(sys) {
			continue
		}
		if err := c.run(ctx, sys, o.size, func(values ...any) { graph.point(sys.name, values) }); err != nil {
			return fmt.Errorf("%s: %w", sys.name, err)
		}
	}
	return nil
}

// inPlace runs a system in a place of its own.
func inPlace(ctx context.Context, sys system, do func(r *round) error) (err error) {
	p, err := sys.on.place(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	inst, err := sys.open(ctx, p.address())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inst.close()) }()
	return do(&round{sys: sys, place: p, inst: inst, part: 1})
}

// store is kiln's store in this round.
func (r *round) store() driver.Store { return r.inst.(*kilnInstance).store }

// claims is how many claims of ten jobs a point of a graph is made of.
const claims = 200

// backlogCell fills one store tenfold after tenfold, and claims a few of the jobs each time.
func backlogCell(ctx context.Context, sys system, size int, point func(...any)) error {
	return inPlace(ctx, sys, func(r *round) error {
		for there, ready := 0, 10_000; ready <= size; ready *= 10 {
			if err := fillStore(ctx, r.store(), ready-there, kindName, 0); err != nil {
				return err
			}
			if err := r.place.settle(ctx); err != nil {
				return err
			}
			took, err := claimTimes(ctx, r.store())
			if err != nil {
				return err
			}
			there = ready - 10*claims
			point(ready, quantile(took, 0.5), quantile(took, 0.95))
		}
		return nil
	})
}

// foreignCell claims jobs that stand behind many which no server here can run.
func foreignCell(ctx context.Context, sys system, size int, point func(...any)) error {
	most := min(size, 100_000)
	for _, ahead := range []int{0, most / 10, most} {
		err := inPlace(ctx, sys, func(r *round) error {
			if err := fillStore(ctx, r.store(), ahead, "foreign", 0); err != nil {
				return err
			}
			if err := fillStore(ctx, r.store(), 10*claims, kindName, 0); err != nil {
				return err
			}
			if err := r.place.settle(ctx); err != nil {
				return err
			}
			took, err := claimTimes(ctx, r.store())
			if err != nil {
				return err
			}
			point(ahead, quantile(took, 0.5), quantile(took, 0.95), took[0])
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scheduledCell lets 1,000 jobs become due a second beside so many that are due tomorrow.
func scheduledCell(ctx context.Context, sys system, size int, point func(...any)) error {
	for scheduled := 10_000; scheduled <= size; scheduled *= 10 {
		err := inPlace(ctx, sys, func(r *round) error {
			if err := fillStore(ctx, r.store(), scheduled, "later", 24*time.Hour); err != nil {
				return err
			}
			if err := r.place.settle(ctx); err != nil {
				return err
			}
			late, err := r.lateness(ctx)
			if err != nil {
				return err
			}
			point(scheduled, quantile(late, 0.5), quantile(late, 0.99))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// limitsCell drains jobs without a limit, with 10,000 keys that have room, and with as many that hold each job back once.
func limitsCell(ctx context.Context, sys system, size int, point func(...any)) error {
	var plain float64
	for i := range shapes {
		s := &shapes[i]
		if s.name != "plain" && s.name != "limit-room" && s.name != "limit-held" {
			continue
		}
		err := inPlace(ctx, sys, func(r *round) error {
			v, err := r.drainShape(ctx, s, min(size, 100_000), 5*time.Minute)
			if err != nil {
				return err
			}
			if s.name == "plain" {
				plain = v[0]
			}
			point(s.name, v[0], v[0]/plain)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// payloadCell drains jobs with larger and larger args.
func payloadCell(ctx context.Context, sys system, size int, point func(...any)) error {
	defer func(usual string) { text = usual }(text)
	for args := 256; args <= 16<<10; args *= 4 {
		text = textFor(args)
		err := inPlace(ctx, sys, func(r *round) error {
			n := min(size/10, 10_000)
			perSecond, err := r.fillAndDrain(ctx, n, 100, 0, time.Minute)
			if err != nil {
				return err
			}
			life := r.filling.plus(*r.cost)
			point(args, perSecond, life[logCost], life[serverCost])
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
