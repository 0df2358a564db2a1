package kilntest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kilnjobs/kiln"
)

// lookedAt are the states in which a job waits to be run, in the order in which they are looked at.
var lookedAt = []kiln.State{kiln.Enqueued, kiln.Scheduled, kiln.Awaiting, kiln.Throttled}

const pageSize = 500

// RequireEnqueued ends the test unless a job of T's kind waits to be run for which match is true, and returns the first one that it
// finds: enqueued, scheduled, awaiting or throttled. A nil match is true for every job.
func RequireEnqueued[T kiln.Args](tb testing.TB, c *kiln.Client, match func(*kiln.Job[T]) bool) *kiln.Job[T] {
	tb.Helper()
	j, seen, err := find(tb, c, match)
	switch {
	case err != nil:
		tb.Fatalf("kilntest: %v", err)
	case j == nil:
		tb.Fatalf("kilntest: no matching %s job among the %d that wait to be run", kindOf[T](), seen)
	}
	return j
}

// RequireNotEnqueued ends the test if a job of T's kind waits to be run for which match is true. A nil match is true for every job.
func RequireNotEnqueued[T kiln.Args](tb testing.TB, c *kiln.Client, match func(*kiln.Job[T]) bool) {
	tb.Helper()
	j, _, err := find(tb, c, match)
	switch {
	case err != nil:
		tb.Fatalf("kilntest: %v", err)
	case j != nil:
		tb.Fatalf("kilntest: %s job %d waits to be run and should not: args %+v", j.Kind, j.ID, j.Args)
	}
}

func kindOf[T kiln.Args]() string {
	var zero T
	return zero.Kind()
}

// find returns the first job that matches, nil when none does, and how many of the kind it has seen.
func find[T kiln.Args](tb testing.TB, c *kiln.Client, match func(*kiln.Job[T]) bool) (found *kiln.Job[T], seen int, err error) {
	for _, state := range lookedAt {
		q := kiln.JobQuery{State: state, Kind: kindOf[T](), Limit: pageSize}
		for {
			page, err := c.List(tb.Context(), q)
			if err != nil {
				return nil, seen, err
			}
			for i := range page.Records {
				j, err := typed[T](&page.Records[i])
				if err != nil {
					return nil, seen, err
				}
				seen++
				if match == nil || match(j) {
					return j, seen, nil
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
	}
	return nil, seen, nil
}

// typed is a stored job as its handler would see it.
func typed[T kiln.Args](r *kiln.Record) (*kiln.Job[T], error) {
	j := &kiln.Job[T]{
		ID: r.ID, Kind: r.Kind, Queue: r.Queue, Priority: r.Priority, Attempt: r.Attempt, MaxAttempts: r.MaxAttempts,
		CreatedAt: r.CreatedAt, RunAt: r.RunAt, BatchID: r.BatchID, RecurringID: r.RecurringID, Parents: r.Parents,
		Meta: r.Meta, Tags: r.Tags, Title: r.Title,
	}
	if err := json.Unmarshal(r.Args, &j.Args); err != nil {
		return nil, fmt.Errorf("args of %s job %d do not decode into %T: %w", r.Kind, r.ID, j.Args, err)
	}
	return j, nil
}
