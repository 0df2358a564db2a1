package memstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

const benchBatch = 500

// fill puts n ready jobs into the store.
func fill(b *testing.B, s *Store, n int, kind string) {
	b.Helper()
	jobs := params(min(n, 1000))
	for i := range jobs {
		jobs[i].Kind = kind
		jobs[i].Args = fmt.Appendf(nil, `{"pad":"%0230d"}`, i)
	}
	for n > 0 {
		k := min(n, len(jobs))
		insert(b, s, jobs[:k]...)
		n -= k
	}
}

// drain claims and finishes b.N jobs in batches, pruning and refilling so that the number of ready jobs stays.
func drain(b *testing.B, s *Store, kinds ...string) {
	ctx := context.Background()
	q := driver.ClaimQuery{Queues: []string{"default"}, Kinds: kinds, Server: "a"}
	outs := make([]driver.Outcome, 0, benchBatch)
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += len(outs) {
		q.Limit = min(benchBatch, b.N-done)
		jobs, err := s.Claim(ctx, q)
		if err != nil || len(jobs) != q.Limit {
			b.Fatalf("claimed %d of %d: %v", len(jobs), q.Limit, err)
		}
		outs = outs[:0]
		for i := range jobs {
			outs = append(outs, driver.Outcome{Ref: jobs[i].Ref, State: driver.Succeeded})
		}
		if _, err := s.Finish(ctx, "a", outs); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, err := s.Prune(ctx, driver.PruneParams{}); err != nil {
			b.Fatal(err)
		}
		fill(b, s, len(jobs), "mail")
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

func BenchmarkDrain(b *testing.B) {
	for _, ready := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("ready=%d", ready), func(b *testing.B) {
			s := New()
			fill(b, s, ready, "mail")
			drain(b, s)
		})
	}
	b.Run("foreign=100000", func(b *testing.B) {
		s := New()
		fill(b, s, 100_000, "foreign")
		fill(b, s, 1_000, "mail")
		drain(b, s, "mail")
	})
}

func BenchmarkInsert(b *testing.B) {
	s := New()
	b.ReportAllocs()
	fill(b, s, b.N, "mail")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
