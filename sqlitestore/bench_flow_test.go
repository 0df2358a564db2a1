package sqlitestore

import (
	"context"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// BenchmarkDrainMembers drains jobs that are all members of one batch, to be compared with BenchmarkDrain.
func BenchmarkDrainMembers(b *testing.B) {
	s := newStore(b, newPool(b))
	batch, err := s.OpenBatch(context.Background(), driver.NewBatch{})
	if err != nil {
		b.Fatal(err)
	}
	for left := b.N; left > 0; {
		jobs := plainJobs(min(left, 10_000))
		for i := range jobs {
			jobs[i].BatchID = batch
		}
		if _, err := s.Insert(context.Background(), jobs); err != nil {
			b.Fatal(err)
		}
		left -= len(jobs)
	}
	b.ReportAllocs()
	b.ResetTimer()
	drain(b, s, 100, []string{"email:send"})
	rate(b, b.N)
}

// BenchmarkDrainFlows drains pairs of jobs, one of which waits for the other.
func BenchmarkDrainFlows(b *testing.B) {
	s := newStore(b, newPool(b))
	for left := b.N; left > 0; {
		jobs := plainJobs(min(left, 10_000))
		for i := range jobs {
			if i%2 == 1 {
				jobs[i].Parents = []driver.Parent{{Index: i - 1, On: driver.OnSucceeded}}
			}
		}
		if _, err := s.Insert(context.Background(), jobs); err != nil {
			b.Fatal(err)
		}
		left -= len(jobs)
	}
	b.ReportAllocs()
	b.ResetTimer()
	drain(b, s, 100, []string{"email:send"})
	drain(b, s, 100, []string{"email:send"}) // what the last finishes released
	if n, err := s.Counts(context.Background()); err != nil || n.Awaiting+n.Enqueued != 0 {
		b.Errorf("left are %+v (%v)", n, err)
	}
	rate(b, b.N)
}

// BenchmarkInsertMembers and BenchmarkInsertFlows insert such jobs in calls of 1,000.
func BenchmarkInsertMembers(b *testing.B) {
	s := newStore(b, newPool(b))
	batch, err := s.OpenBatch(context.Background(), driver.NewBatch{})
	if err != nil {
		b.Fatal(err)
	}
	jobs := plainJobs(1000)
	for i := range jobs {
		jobs[i].BatchID = batch
	}
	insertAll(b, s, jobs)
}

func BenchmarkInsertFlows(b *testing.B) {
	s := newStore(b, newPool(b))
	jobs := plainJobs(1000)
	for i := range jobs {
		if i%2 == 1 {
			jobs[i].Parents = []driver.Parent{{Index: i - 1, On: driver.OnSucceeded}}
		}
	}
	insertAll(b, s, jobs)
}

func insertAll(b *testing.B, s *Store, jobs []driver.InsertParams) {
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := s.Insert(context.Background(), jobs); err != nil {
			b.Fatal(err)
		}
		n += len(jobs)
	}
	rate(b, n)
}
