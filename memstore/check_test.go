package memstore

import (
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestCheckFindsPlantedCorruption breaks a sound store in one way at a time.
func TestCheckFindsPlantedCorruption(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(s *Store, r *row)
		want  string
	}{
		"state changed in place":  {func(s *Store, r *row) { r.State = driver.Failed }, "is not on the list of its state failed"},
		"unknown state":           {func(s *Store, r *row) { r.State = "lost" }, `has the state "lost"`},
		"two lists":               {func(s *Store, r *row) { s.failed.add(key{1, r.ID}, r) }, "the lists hold 3 jobs and the store 2"},
		"no list":                 {func(s *Store, r *row) { r.lane.ready.remove(r.key()) }, "is not on the list of its state enqueued"},
		"priority behind":         {func(s *Store, r *row) { r.Priority = 7 }, "is not on the list"},
		"list length":             {func(s *Store, r *row) { s.processing.len++ }, "a list of 0 entries counts 1"},
		"lane counter":            {func(s *Store, r *row) { r.lane.states[0]++ }, `lane "mail" of queue "default" counts`},
		"row counter":             {func(s *Store, r *row) { r.lane.rows++ }, `lane "mail" of queue "default" counts`},
		"retries":                 {func(s *Store, r *row) { s.retries++ }, "1 retries are counted of 0"},
		"statistics":              {func(s *Store, r *row) { s.folded.succeeded++ }, "statistics add up"},
		"idle queue":              {func(s *Store, r *row) { s.queue("idle") }, `queue "idle" is kept for nothing`},
		"id never given out":      {func(s *Store, r *row) { s.lastID = 0 }, "0 was given out last"},
		"output of a live job":    {func(s *Store, r *row) { r.Output = []byte("1") }, "has an output"},
		"final time":              {func(s *Store, r *row) { r.FinalizedAt = epoch }, "has FinalizedAt"},
		"stranded":                {func(s *Store, r *row) { s.unlist(r); r.State = driver.Awaiting; s.enlist(r) }, "awaiting with nothing"},
		"throttled without limit": {func(s *Store, r *row) { s.unlist(r); r.State = driver.Throttled; s.enlist(r) }, "throttled without a limit"},
		"processing unclaimed":    {func(s *Store, r *row) { s.unlist(r); r.State = driver.Processing; s.enlist(r) }, "without a claim"},
		"cancel flag":             {func(s *Store, r *row) { r.CancelRequested = true }, "has a cancel flag"},
		"attempts without claims": {func(s *Store, r *row) { r.Attempt = 2 }, "attempt 2 under claim 0"},
		"history":                 {func(s *Store, r *row) { r.History = make([]driver.Entry, 17) }, "17 history entries"},
		"deadline not listed":     {func(s *Store, r *row) { r.deadline = epoch.Add(time.Hour) }, "0 deadlines are listed of 1"},
		"deadline for nothing":    {func(s *Store, r *row) { s.deadlines.add(key{1, r.ID}, r) }, "1 deadlines are listed of 0"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &ticker{t: epoch}
			s := New(Clock(clock.now))
			ids := insert(t, s, params(2)...)
			if err := s.Check(t.Context()); err != nil {
				t.Fatalf("before: %v", err)
			}
			c.plant(s, s.rows[ids[0]])
			err := s.Check(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want one with %q", err, c.want)
			}
		})
	}
}
