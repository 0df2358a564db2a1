package memstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

var (
	_ driver.Store        = (*Store)(nil)
	_ driver.Notifier     = (*Store)(nil)
	_ driver.Transactor   = (*Store)(nil)
	_ driver.Console      = (*Store)(nil)
	_ driver.ConsoleBatch = (*Store)(nil)
	_ driver.BlockFirer   = (*Store)(nil)
	_ driver.LimitReader  = (*Store)(nil)
	_ driver.Tuner        = (*Store)(nil)
	_ driver.TxWriter     = (*Tx)(nil)
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ticker is a clock that tests move.
type ticker struct{ t time.Time }

func (c *ticker) now() time.Time          { return c.t }
func (c *ticker) advance(d time.Duration) { c.t = c.t.Add(d) }

// open returns a store on a clock of its own, which is checked at the end of the test.
func open(t testing.TB) (*Store, *ticker) {
	t.Helper()
	c := &ticker{t: epoch}
	s := New(Clock(c.now))
	t.Cleanup(func() {
		if err := s.Check(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, c
}

func params(n int) []driver.InsertParams {
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = driver.InsertParams{Kind: "mail", Queue: "default", Args: []byte(`{"n":1}`), MaxAttempts: 3}
	}
	return jobs
}

// insert stores jobs and returns the ids.
func insert(t testing.TB, s driver.Writer, jobs ...driver.InsertParams) []int64 {
	t.Helper()
	got, err := s.Insert(context.Background(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, len(got))
	for i := range got {
		ids[i] = got[i].ID
	}
	return ids
}

func claim(t testing.TB, s *Store, limit int) []driver.Job {
	t.Helper()
	jobs, err := s.Claim(context.Background(), driver.ClaimQuery{Queues: []string{"default"}, Limit: limit, Server: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func finish(t testing.TB, s *Store, outs ...driver.Outcome) {
	t.Helper()
	results, err := s.Finish(context.Background(), "a", outs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r != driver.Applied {
			t.Fatalf("outcome %d: result %d, want Applied", i, r)
		}
	}
}

func record(t testing.TB, s *Store, id int64) driver.Record {
	t.Helper()
	r, err := s.Job(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestClockHoldsSmallSteps(t *testing.T) {
	s, c := open(t)
	now := func() time.Time {
		t.Helper()
		got, err := s.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	start := now()
	c.advance(-time.Second)
	if got := now(); got != start {
		t.Errorf("a step back of a second shows: %v after %v", got, start)
	}
	c.advance(400 * time.Millisecond)
	if got := now(); got != start {
		t.Errorf("the held clock moved to %v before it was caught up with", got)
	}
	c.advance(time.Second)
	if got, want := now(), start.Add(400*time.Millisecond); got != want {
		t.Errorf("after catching up it is %v, want %v", got, want)
	}
	c.advance(-time.Hour)
	if got, want := now(), start.Add(400*time.Millisecond-time.Hour); got != want {
		t.Errorf("after a large step back it is %v, want %v", got, want)
	}
}

func TestStampsAreMicrosecondsInUTC(t *testing.T) {
	s, c := open(t)
	c.t = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("east", 3600))
	got, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 3, 1, 11, 0, 0, 123456000, time.UTC); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestValuesAreCopied(t *testing.T) {
	s, _ := open(t)
	p := params(1)
	p[0].Meta = map[string]string{"k": "v"}
	p[0].Tags = []string{"one"}
	id := insert(t, s, p...)[0]
	p[0].Args[1], p[0].Meta["k"], p[0].Tags[0] = 'X', "changed", "changed"

	job := claim(t, s, 1)[0]
	job.Args[1], job.Meta["k"], job.Tags[0] = 'X', "changed", "changed"
	output := []byte(`{"out":1}`)
	finish(t, s, driver.Outcome{Ref: job.Ref, State: driver.Deleted, Reason: "canceled", Output: output})
	output[1] = 'X'
	for range 2 {
		r := record(t, s, id)
		if string(r.Args) != `{"n":1}` || r.Meta["k"] != "v" || r.Tags[0] != "one" {
			t.Fatalf("the stored job changed with a copy: %s %v %v", r.Args, r.Meta, r.Tags)
		}
		if string(r.Output) != `{"out":1}` || r.History[0].Reason != "canceled" {
			t.Fatalf("the stored job changed with a copy: %s %v", r.Output, r.History)
		}
		r.Output[1], r.History[0].Reason, r.Args[1], r.Meta["k"] = 'X', "changed", 'X', "changed"
	}

	queues := []string{"default"}
	if _, err := s.Heartbeat(t.Context(), driver.ServerInfo{ID: "a", Queues: queues}); err != nil {
		t.Fatal(err)
	}
	queues[0] = "changed"
	for range 2 {
		servers, err := s.Servers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if servers[0].Queues[0] != "default" {
			t.Fatalf("the stored server changed with a copy: %v", servers)
		}
		servers[0].Queues[0] = "changed"
	}
}

func TestCloseTwice(t *testing.T) {
	s := New()
	s.Close()
	s.Close()
	if _, err := s.Now(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("Now after Close: %v", err)
	}
}

func TestCanceledContextDoesNothing(t *testing.T) {
	s, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Insert(ctx, params(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Insert: %v", err)
	}
	if jobs := claim(t, s, 1); len(jobs) != 0 {
		t.Errorf("a canceled insert stored %v", jobs)
	}
}

// A second outcome for a ref that was rejected in the same call is stale, so that the answer does not depend on which of two
// contradicting outcomes could be stored.
func TestSecondOutcomeAfterRejectedIsStale(t *testing.T) {
	s, _ := open(t)
	insert(t, s, params(1)...)
	ref := claim(t, s, 1)[0].Ref
	results, err := s.Finish(t.Context(), "a", []driver.Outcome{
		{Ref: ref, State: driver.Succeeded, Output: []byte("{")},
		{Ref: ref, State: driver.Failed},
	})
	if err != nil {
		t.Fatal(err)
	}
	if results[0] != driver.Rejected || results[1] != driver.Stale {
		t.Fatalf("results %v, want Rejected and Stale", results)
	}
	finish(t, s, driver.Outcome{Ref: ref, State: driver.Failed})
}
