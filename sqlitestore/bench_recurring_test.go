package sqlitestore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// BenchmarkFireMany fires 100 recurring jobs, in one block and one by one.
func BenchmarkFireMany(b *testing.B) {
	for _, block := range []int{100, 1} {
		b.Run(fmt.Sprint(block), func(b *testing.B) {
			ctx := context.Background()
			s := newStore(b, newPool(b))
			fires := make([]driver.Fire, 100)
			for i := range fires {
				id := fmt.Sprint(i)
				if err := s.PutRecurring(ctx, driver.Recurring{ID: id, Spec: "@hourly", Location: "UTC", Template: plainJobs(1)[0]}); err != nil {
					b.Fatal(err)
				}
				job := plainJobs(1)[0]
				job.RecurringID, job.Meta, job.RunAt = id, map[string]string{"kiln.occurrence": "2026-01-01T00:00:00Z"}, time.Now()
				fires[i] = driver.Fire{ID: id, NextRunAt: time.Now(), Jobs: []driver.InsertParams{job}}
			}
			n := 0
			for b.Loop() {
				for i := range fires {
					fires[i].Version++
				}
				for left := fires; len(left) > 0; left = left[block:] {
					results, err := s.FireMany(ctx, left[:block])
					if err != nil || results[0].Err != nil {
						b.Fatal(err, results[0].Err)
					}
				}
				n += len(fires)
			}
			rate(b, n)
		})
	}
}

// BenchmarkWriteConsoles writes five lines of each of 100 running jobs, as a busy server does four times a second.
func BenchmarkWriteConsoles(b *testing.B) {
	ctx := context.Background()
	s := newStore(b, newPool(b))
	fill(b, s, 100)
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 100, Server: "a"})
	if err != nil {
		b.Fatal(err)
	}
	var writes []driver.ConsoleWrite
	for _, job := range jobs {
		writes = append(writes, driver.ConsoleWrite{Ref: job.Ref, Lines: []string{"one", "two", "three", "four", "five"}, Progress: 50})
	}
	n := 0
	for b.Loop() {
		if _, err := s.WriteConsoles(ctx, writes); err != nil {
			b.Fatal(err)
		}
		n += len(writes)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "consoles/s")
}
