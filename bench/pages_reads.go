package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// read is one call that pages are made from.
type read struct {
	name string
	do   func(context.Context) error
}

// reads lists the calls whose cost could grow with the store.
func (s *shop) reads() []read {
	of := func(name string, do func(context.Context) error) read { return read{name, do} }
	jobs := func(name string, q driver.JobQuery) read {
		q.Limit = 50
		return of("Jobs "+name, func(ctx context.Context) error { _, err := s.store.Jobs(ctx, q); return err })
	}
	all := []read{
		of("Counts", func(ctx context.Context) error { _, err := s.store.Counts(ctx); return err }),
		of("Queues", func(ctx context.Context) error { _, err := s.store.Queues(ctx); return err }),
		of("Servers", func(ctx context.Context) error { _, err := s.store.Servers(ctx); return err }),
		of("Recurrings", func(ctx context.Context) error { _, err := s.store.Recurrings(ctx); return err }),
		of("Series of a day", func(ctx context.Context) error {
			_, err := s.store.Series(ctx, time.Now().Add(-24*time.Hour), time.Now(), 30*time.Minute)
			return err
		}),
		of("Batch", func(ctx context.Context) error { _, err := s.store.Batch(ctx, s.batch); return err }),
		of("Batches", func(ctx context.Context) error {
			_, err := s.store.Batches(ctx, driver.BatchQuery{Limit: 50})
			return err
		}),
		of("Job", func(ctx context.Context) error { _, err := s.store.Job(ctx, s.ids["failed"]); return err }),
		jobs("enqueued", driver.JobQuery{State: driver.Enqueued}),
		jobs("succeeded", driver.JobQuery{State: driver.Succeeded}),
		jobs("succeeded of nobody's tag", driver.JobQuery{State: driver.Succeeded, Tag: "nobody"}),
	}
	all = append(all,
		of("Limits", func(ctx context.Context) error { _, err := s.store.Limits(ctx, "", 50); return err }),
		of("Problems", func(ctx context.Context) error { _, err := s.store.Problems(ctx, 0); return err }),
	)
	for _, name := range []string{"enqueued", "throttled", "awaiting"} {
		all = append(all, of("Explain "+name, func(ctx context.Context) error { _, err := s.store.Explain(ctx, s.ids[name]); return err }))
	}
	return all
}

// measureReads times the store's calls by themselves.
func (s *shop) measureReads(ctx context.Context, out *results, system string) error {
	fmt.Fprintf(out, "  %-68s %8s %8s %8s\n", "store calls in ms", "median", "worst", "CPU")
	for _, r := range s.reads() {
		var took, cpu []float64
		for i := range pageSamples {
			begin, used := time.Now(), ownTime()
			if err := r.do(ctx); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			took, cpu = append(took, milliseconds(time.Since(begin))), append(cpu, milliseconds(ownTime()-used))
			out.row(system, r.name, "call", i+1, took[i])
		}
		fmt.Fprintf(out, "  %-68s %8.2f %8.2f %8.2f\n", r.name, quantile(took, 0.5), slices.Max(took), quantile(cpu, 0.5))
	}
	return nil
}
