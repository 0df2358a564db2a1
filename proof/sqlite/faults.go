package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func one() []driver.InsertParams {
	return []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}}
}

// ReadOnly opens a finished database that cannot be written. Reads work, writes say why they do not, and the connections that
// are given up over it are closed with all their files.
func (d Driver) ReadOnly(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "jobs.db")
	out, err := d.store(t, d.open(t, d.DSN(path))).Insert(ctx, one())
	if err != nil {
		t.Fatal(err)
	}
	s := d.store(t, d.open(t, d.DSN(path)+"&mode=ro"))
	before := filesOpen(t, path)
	for range 50 {
		if _, err := s.Insert(ctx, one()); err == nil || !strings.Contains(err.Error(), "readonly") && !strings.Contains(err.Error(), "read-only") {
			t.Fatalf("Insert returns %v", err)
		}
	}
	if after := filesOpen(t, path); after > before+10 {
		t.Errorf("after 50 writes that failed %d files are open, %d before", after, before)
	}
	if rec, err := s.Job(ctx, out[0].ID); err != nil || rec.State != driver.Enqueued {
		t.Errorf("Job returns %+v, %v", rec, err)
	}
}

// filesOpen counts how often this process has a database's files open, where the system tells.
func filesOpen(t *testing.T, path string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, path) {
			n++
		}
	}
	return n
}

// OwnTransaction reads and writes beside the caller's own transaction, in a pool of two: reads work, the write says what it
// waits for.
func (d Driver) OwnTransaction(t *testing.T) {
	ctx := context.Background()
	db := d.open(t, d.DSN(filepath.Join(t.TempDir(), "jobs.db")))
	db.SetMaxOpenConns(2)
	s := d.store(t, db)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := s.Tx(tx).Insert(ctx, one()); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if _, err := s.Insert(short, one()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "calling goroutine itself") {
		t.Errorf("Insert returns %v", err)
	}
	if c, err := s.Counts(ctx); err != nil || c.Enqueued != 0 {
		t.Errorf("Counts returns %+v, %v", c, err)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Insert(ctx, one()); err != nil {
		t.Error(err)
	}
}

// Fractions keeps instants to the microsecond and in their order.
func (d Driver) Fractions(t *testing.T) {
	ctx := context.Background()
	s := d.store(t, d.open(t, d.DSN(filepath.Join(t.TempDir(), "jobs.db"))))
	base := time.Date(2038, 1, 19, 3, 14, 7, 0, time.UTC)
	for _, us := range []time.Duration{999_999, 100_000, 0, 120_000, 1, 999_000} {
		job := one()
		job[0].RunAt = base.Add(us * time.Microsecond)
		out, err := s.Insert(ctx, job)
		if err != nil {
			t.Fatal(err)
		}
		if rec, err := s.Job(ctx, out[0].ID); err != nil || !rec.RunAt.Equal(job[0].RunAt) {
			t.Errorf("%v comes back as %v, %v", job[0].RunAt, rec.RunAt, err)
		}
	}
	page, err := s.Jobs(ctx, driver.JobQuery{State: driver.Scheduled, Limit: 10})
	if err != nil || len(page.Records) != 6 || !slices.IsSortedFunc(page.Records, func(a, b driver.Record) int { return a.RunAt.Compare(b.RunAt) }) {
		t.Errorf("%d jobs are listed, not by their time, %v", len(page.Records), err)
	}
}
