package sqlitestore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// payload has 240 bytes, as the bench of the project has.
var payload = []byte(`{"x":"` + strings.Repeat("a", 232) + `"}`)

func plainJobs(n int) []driver.InsertParams {
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = driver.InsertParams{Kind: "email:send", Queue: "default", Args: payload, MaxAttempts: 25}
	}
	return jobs
}

func fill(b testing.TB, s *Store, n int) {
	b.Helper()
	for n > 0 {
		k := min(n, 10_000)
		if _, err := s.Insert(context.Background(), plainJobs(k)); err != nil {
			b.Fatal(err)
		}
		n -= k
	}
}

func rate(b *testing.B, jobs int) {
	b.ReportMetric(float64(jobs)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkInsertMany inserts b.N jobs in calls of 1,000.
func BenchmarkInsertMany(b *testing.B) {
	for _, size := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newStore(b, newPool(b))
			jobs := plainJobs(size)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if _, err := s.Insert(context.Background(), jobs); err != nil {
					b.Fatal(err)
				}
				n += size
			}
			rate(b, n)
		})
	}
}

// BenchmarkInsertSingle inserts jobs one per call from some goroutines.
func BenchmarkInsertSingle(b *testing.B) {
	for _, clients := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			s := newStore(b, newPool(b))
			b.ReportAllocs()
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					jobs := plainJobs(1)
					for left.Add(-1) >= 0 {
						if _, err := s.Insert(context.Background(), jobs); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			rate(b, b.N)
		})
	}
}

// BenchmarkDrain claims and finishes jobs as an engine does: one claimer, one finisher, in batches.
func BenchmarkDrain(b *testing.B) {
	for _, size := range []int{100, 500} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newStore(b, newPool(b))
			fill(b, s, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			drain(b, s, size, []string{"email:send"})
			rate(b, b.N)
		})
	}
}

func drain(b *testing.B, s *Store, size int, kinds []string) {
	ctx := context.Background()
	outs := make(chan []driver.Outcome, 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		for o := range outs {
			if _, err := s.Finish(ctx, "bench", o); err != nil {
				b.Error(err)
			}
		}
	})
	for {
		jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Kinds: kinds, Limit: size, Server: "host-12345-abcdefabcdef"})
		if err != nil {
			b.Error(err)
		}
		if len(jobs) == 0 {
			break
		}
		o := make([]driver.Outcome, len(jobs))
		for i := range jobs {
			o[i] = driver.Outcome{Ref: jobs[i].Ref, State: driver.Succeeded}
		}
		outs <- o
	}
	close(outs)
	wg.Wait()
}

// BenchmarkClaim claims ten jobs per call from backlogs of several sizes, alone and with many kinds.
func BenchmarkClaim(b *testing.B) {
	many := make([]string, 50)
	for i := range many {
		many[i] = fmt.Sprintf("kind:%02d", i)
	}
	many[20] = "email:send"
	for _, backlog := range []int{1_000, 100_000, 1_000_000} {
		if testing.Short() && backlog > 100_000 {
			continue
		}
		for name, kinds := range map[string][]string{"one": {"email:send"}, "fifty": many, "any": nil} {
			b.Run(fmt.Sprintf("%d/%s", backlog, name), func(b *testing.B) {
				s := newStore(b, newPool(b))
				fill(b, s, backlog)
				claimAndReturn(b, s, kinds)
			})
		}
	}
}

// claimAndReturn claims ten jobs and gives them back, over and over.
func claimAndReturn(b *testing.B, s *Store, kinds []string) {
	ctx := context.Background()
	b.ResetTimer()
	for range b.N {
		jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Kinds: kinds, Limit: 10, Server: "bench"})
		if err != nil || len(jobs) != 10 {
			b.Fatal(len(jobs), err)
		}
		b.StopTimer()
		outs := make([]driver.Outcome, len(jobs))
		for i := range jobs {
			outs[i] = driver.Outcome{Ref: jobs[i].Ref, State: driver.Enqueued, Refund: true}
		}
		if _, err := s.Finish(ctx, "bench", outs); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkClaimForeign claims one job behind 100,000 ready jobs of a kind that the server does not have.
func BenchmarkClaimForeign(b *testing.B) {
	ctx := context.Background()
	s := newStore(b, newPool(b))
	fill(b, s, 100_000)
	mine := driver.InsertParams{Kind: "mine", Queue: "default", Args: payload, MaxAttempts: 25}
	for b.Loop() {
		if _, err := s.Insert(ctx, []driver.InsertParams{mine}); err != nil {
			b.Fatal(err)
		}
		jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Kinds: []string{"mine", "other"}, Limit: 10, Server: "bench"})
		if err != nil || len(jobs) != 1 {
			b.Fatal(len(jobs), err)
		}
	}
}

// BenchmarkFinish finishes b.N claimed jobs in calls of 100: plain ends, and retries with an error.
func BenchmarkFinish(b *testing.B) {
	for name, out := range map[string]driver.Outcome{
		"succeeded": {State: driver.Succeeded},
		"retried":   {State: driver.Scheduled, Delay: 1e12, Reason: "retry", Error: "connection refused"},
	} {
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			s := newStore(b, newPool(b))
			fill(b, s, b.N)
			var refs []driver.Ref
			for len(refs) < b.N {
				jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 1000, Server: "bench"})
				if err != nil {
					b.Fatal(err)
				}
				for _, j := range jobs {
					refs = append(refs, j.Ref)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for len(refs) > 0 {
				n := min(100, len(refs))
				outs := make([]driver.Outcome, n)
				for i := range outs {
					outs[i] = out
					outs[i].Ref = refs[i]
				}
				if _, err := s.Finish(ctx, "bench", outs); err != nil {
					b.Fatal(err)
				}
				refs = refs[n:]
			}
			rate(b, b.N)
		})
	}
}
