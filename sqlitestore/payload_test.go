package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kilnjobs/kiln/driver"
)

// TestLargePayload keeps args of many megabytes, and a call of many queues.
func TestLargePayload(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, newPool(t))
	events := subscribed(t, s)
	args := []byte(`"` + strings.Repeat("x", 16<<20) + `"`)
	out, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "large", Args: args, MaxAttempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"large"}, Limit: 1, Server: "a"})
	if err != nil || len(jobs) != 1 || jobs[0].ID != out[0].ID || !bytes.Equal(jobs[0].Args, args) {
		t.Errorf("16 MiB of args do not come back: %d jobs, %v", len(jobs), err)
	}
	many := plainJobs(5000)
	for i := range many {
		many[i].Queue = fmt.Sprintf("%0200d", i)
	}
	if _, err := s.Insert(ctx, many); err != nil {
		t.Error(err)
	}
	events.wait(t, driver.Event{Kind: driver.Resync}) // more than a subscriber is told one by one
	infos, err := s.Queues(ctx)
	if err != nil || len(infos) != 5001 || infos[0].Enqueued != 1 {
		t.Errorf("%d queues are listed, %v", len(infos), err)
	}
}

// tooBig is what a driver says to a value that is larger than SQLite allows.
type tooBig struct{}

func (tooBig) Error() string { return "string or blob too big" }
func (tooBig) Code() int     { return codeTooBig }

func TestTooBig(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	db.set(func(query string) error {
		if strings.Contains(query, "insert into kiln_jobs") {
			return tooBig{}
		}
		return nil
	})
	if _, err := s.Insert(context.Background(), plainJobs(1)); !errors.Is(err, driver.ErrTooLarge) {
		t.Errorf("Insert returns %v, want ErrTooLarge", err)
	}
}

// TestBinaryText finishes jobs with errors of random bytes.
func TestBinaryText(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, newPool(t))
	fill(t, s, 50)
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 50, Server: "a\xff"})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	outs := make([]driver.Outcome, len(jobs))
	for i, j := range jobs {
		b := make([]byte, 4096)
		for k := range b {
			b[k] = byte(random.Uint32())
		}
		outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Failed, Reason: "permanent", Error: string(b), Trace: string(b) + "\x00"}
	}
	results, err := s.Finish(ctx, "a", outs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		rec, err := s.Job(ctx, jobs[i].ID)
		if err != nil || r != driver.Applied || len(rec.History) != 1 {
			t.Fatalf("result %d, history %v, %v", r, rec.History, err)
		}
		if e := rec.History[0]; !utf8.ValidString(e.Error+e.Trace) || strings.Contains(e.Error+e.Trace, "\x00") || len(e.Error) == 0 {
			t.Errorf("the history keeps %q", e.Error)
		}
	}
}

// TestMicroseconds schedules jobs at fractions of a second that are easily misread, and claims them in their order.
func TestMicroseconds(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := newStore(t, newPool(t), Clock(func() time.Time { return now }))
	offsets := []time.Duration{999999 * time.Microsecond, 100 * time.Millisecond, 0, 120 * time.Millisecond, time.Microsecond, 999 * time.Millisecond}
	ids := map[int64]time.Duration{}
	for _, d := range offsets {
		out, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1, RunAt: now.Add(time.Second + d)}})
		if err != nil {
			t.Fatal(err)
		}
		ids[out[0].ID] = d
	}
	start := now
	for range offsets {
		p, err := s.Promote(ctx, 10)
		if err != nil || p.Count != 0 || p.Next <= 0 {
			t.Fatalf("before the next job is due Promote returns %+v, %v", p, err)
		}
		now = now.Add(p.Next - time.Microsecond)
		if p, err = s.Promote(ctx, 10); err != nil || p.Count != 0 {
			t.Errorf("a microsecond early Promote moves %d jobs, %v", p.Count, err)
		}
		now = now.Add(time.Microsecond)
		if p, err = s.Promote(ctx, 10); err != nil || p.Count != 1 {
			t.Errorf("in time Promote moves %d jobs, %v", p.Count, err)
		}
		jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"q"}, Limit: 10, Server: "a"})
		if err != nil || len(jobs) != 1 || !now.Equal(start.Add(time.Second+ids[jobs[0].ID])) || !jobs[0].RunAt.Equal(now) {
			t.Fatalf("at %v the claim is %+v, %v", now.Sub(start), jobs, err)
		}
	}
}
