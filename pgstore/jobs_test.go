package pgstore

import (
	"context"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// plainJobs are jobs that have nothing but args.
func plainJobs(n int) []driver.InsertParams {
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = driver.InsertParams{Kind: "email:send", Queue: "default", Args: []byte(`{"to":"somebody@example.org","template":"welcome"}`), MaxAttempts: 25}
	}
	return jobs
}

// fill inserts plain jobs.
func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	for n > 0 {
		k := min(n, 10_000)
		if _, err := s.Insert(context.Background(), plainJobs(k)); err != nil {
			t.Fatal(err)
		}
		n -= k
	}
}

func insertOne(s *Store, queue string) (int64, error) {
	out, err := s.Insert(context.Background(), []driver.InsertParams{{Kind: "k", Queue: queue, Args: []byte("1"), MaxAttempts: 1}})
	if err != nil {
		return 0, err
	}
	return out[0].ID, nil
}

// checked looks for what must never be, and counts the enqueued jobs.
func checked(t testing.TB, s *Store, enqueued int64) {
	t.Helper()
	if err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
	c, err := s.Counts(context.Background())
	if err != nil || c.Enqueued != enqueued {
		t.Errorf("%d jobs are enqueued (%v), want %d", c.Enqueued, err, enqueued)
	}
}
