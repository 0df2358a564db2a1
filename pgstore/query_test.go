package pgstore

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// strange are names that no job can have.
var strange = []string{"\x00", "a\x00b", "\xff", "'; drop schema kiln; --", "%", "_", "�", strings.Repeat("é", 10_000)}

// TestStrangeQueries asks for what cannot be: the answers are empty, never an error and never somebody else's jobs.
func TestStrangeQueries(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	jobs := []driver.InsertParams{
		{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1, Tags: []string{"t"}},
		{Kind: "\uFFFD", Queue: "q", Args: []byte("1"), MaxAttempts: 1},
	}
	if _, err := s.Insert(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	for _, name := range strange {
		for what, q := range map[string]driver.ClaimQuery{
			"queue": {Queues: []string{name}}, "kind": {Queues: []string{"q"}, Kinds: []string{name}},
			"kinds": {Queues: []string{"q"}, Kinds: []string{name, "zz"}}, "empty kind": {Queues: []string{"q"}, Kinds: []string{""}},
		} {
			if name == "\uFFFD" && strings.HasPrefix(what, "kind") {
				continue // a job has this kind
			}
			q.Limit, q.Server = math.MaxInt, "a"
			if taken, err := s.Claim(ctx, q); err != nil || len(taken) != 0 {
				t.Errorf("a claim by %s %.20q returns %+v, %v", what, name, taken, err)
			}
		}
		for _, state := range driver.States {
			for what, q := range map[string]driver.JobQuery{"queue": {Queue: name}, "kind": {Kind: name}, "tag": {Tag: name}} {
				if name == "\uFFFD" && what == "kind" {
					continue
				}
				q.State, q.Limit = state, math.MaxInt
				if page, err := s.Jobs(ctx, q); err != nil || len(page.Records) != 0 {
					t.Errorf("%s jobs by %s %.20q are %+v, %v", state, what, name, page, err)
				}
				f := driver.Filter{State: state, Queue: q.Queue, Kind: q.Kind, Tag: q.Tag, RecurringID: q.Queue}
				if n, err := s.Delete(ctx, f); err != nil || n != 0 {
					t.Errorf("deleting %s jobs by %s %.20q deletes %d, %v", state, what, name, n, err)
				}
				if n, err := s.Requeue(ctx, f); err != nil || n != 0 {
					t.Errorf("requeuing %s jobs by %s %.20q moves %d, %v", state, what, name, n, err)
				}
			}
		}
	}
	checked(t, s, 2)
}

// TestStrangeNumbers uses ids, limits and durations at the ends of their types.
func TestStrangeNumbers(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	fill(t, s, 3)
	ids := []int64{math.MinInt64, -1, 0, math.MaxInt64}
	for _, id := range ids {
		if _, err := s.Job(ctx, id); !errors.Is(err, driver.ErrNotFound) {
			t.Errorf("Job(%d) returns %v", id, err)
		}
		ref := driver.Ref{ID: id, Claim: math.MaxInt32}
		if r, err := s.Finish(ctx, "a", []driver.Outcome{{Ref: ref, State: driver.Succeeded}, {Ref: ref, State: driver.Failed}}); err != nil || r[0] != driver.Stale || r[1] != driver.Stale {
			t.Errorf("Finish of %d returns %v, %v", id, r, err)
		}
		if err := s.SetMeta(ctx, ref, nil); !errors.Is(err, driver.ErrLost) {
			t.Errorf("SetMeta of %d returns %v", id, err)
		}
	}
	if n, err := s.Delete(ctx, driver.Filter{IDs: ids}); err != nil || n != 0 {
		t.Errorf("Delete returns %d, %v", n, err)
	}
	for _, d := range []time.Duration{math.MinInt64, -1, 0, math.MaxInt64} {
		if _, err := s.Orphans(ctx, d, math.MinInt); err != nil {
			t.Errorf("Orphans(%s) returns %v", d, err)
		}
		if _, _, err := s.Lead(ctx, "strange", "a", d); err != nil {
			t.Errorf("Lead(%s) returns %v", d, err)
		}
		if _, err := s.Prune(ctx, driver.PruneParams{Retention: driver.Retention{Succeeded: d, Failed: d, Deleted: d}, Servers: d, Stats: d, Limit: math.MinInt}); err != nil {
			t.Errorf("Prune(%s) returns %v", d, err)
		}
	}
	for _, n := range []int{math.MinInt, -1, 0, math.MaxInt} {
		if _, err := s.Promote(ctx, n); err != nil {
			t.Errorf("Promote(%d) returns %v", n, err)
		}
		if page, err := s.Jobs(ctx, driver.JobQuery{State: driver.Enqueued, Limit: n}); err != nil || len(page.Records) == 0 {
			t.Errorf("Jobs with the limit %d returns %d jobs, %v", n, len(page.Records), err)
		}
	}
	for _, at := range []time.Time{{}, time.Unix(math.MaxInt64/2, 0), time.Unix(-1<<60, 0), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)} {
		if _, err := s.Series(ctx, at, at.Add(time.Hour), time.Minute); err != nil {
			t.Errorf("Series at %v returns %v", at, err)
		}
	}
	checked(t, s, 3)
}

// TestStatementsPrepare lets the server prepare every statement, with types for all parameters.
func TestStatementsPrepare(t *testing.T) {
	ctx := context.Background()
	pool := newPool(t)
	s := openStore(t, pool, newSchema(t))
	conn, err := pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, name := range s.texts.Names() {
		prepared, err := conn.Conn().Prepare(ctx, name, s.texts.SQL(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, oid := range prepared.ParamOIDs {
			if oid == 0 || oid == 705 { // unknown
				t.Errorf("%s: parameter %d has no type", name, i+1)
			}
		}
	}
}
