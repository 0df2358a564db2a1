package memstore

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// row is one job. The record in it is the store's own: it is copied before anybody else sees it.
type row struct {
	driver.Record
	// deadline is when Promote ends the job if it still waits; zero is none.
	deadline time.Time
	// unique is the key that the job holds while it is live and not failed, empty when it has none or holds it for a window.
	unique string
	// granted says that the job has a reserved start.
	granted bool
	// limit is set with a limit key while the row is in the store.
	limit *limit
	// runs are when the attempts began whose ends are in the history.
	runs []driver.Run
	// lines are its console, oldest first.
	lines []driver.LogLine
	// scheduled keeps a job of an open transaction, which was replaced there while it was scheduled, in that state, whatever its run time.
	scheduled bool
	// lane is set while the row is in the store, and so is batch for a member of one.
	lane  *lane
	batch *batch
	// deps are the jobs that it waits for or waited for; batchOpen says that it waits for the end of AfterBatch.
	deps      storekit.Deps
	batchOpen bool
}

// newRow makes the row of a job that is about to be inserted. It is not in the store and has no id yet.
func newRow(p *driver.InsertParams, now time.Time) *row {
	r := &row{deadline: storekit.Stamp(p.Deadline)}
	r.Kind, r.Queue = p.Kind, p.Queue
	r.Args = bytes.Clone(p.Args)
	r.Meta = cloneMap(p.Meta)
	r.Tags = cloneSlice(storekit.CleanTags(p.Tags))
	r.Title = storekit.CleanTitle(p.Title)
	r.Priority = p.Priority
	r.MaxAttempts = p.MaxAttempts
	r.Timeout = storekit.MillisTimeout(storekit.TimeoutMillis(p.Timeout))
	r.RunAt = storekit.RunAt(p, now)
	r.CreatedAt = now
	r.RecurringID = p.RecurringID
	r.LimitKey = p.LimitKey
	r.BatchID, r.AfterBatch = p.BatchID, p.AfterBatch
	return r
}

// job copies what a claim hands out.
func (r *row) job() driver.Job {
	j := r.Job
	j.Args = bytes.Clone(j.Args)
	j.Meta = cloneMap(j.Meta)
	j.Tags = cloneSlice(j.Tags)
	j.Parents = cloneSlice(j.Parents)
	return j
}

// summary copies what a list shows: the record without history, output and children.
func (r *row) summary() driver.Record {
	rec := r.Record
	rec.Job = r.job()
	rec.History, rec.Output, rec.Children = nil, nil, nil
	return rec
}

// record copies everything but the children.
func (r *row) record() driver.Record {
	rec := r.summary()
	rec.History = cloneSlice(r.History)
	rec.Output = cloneSlice(r.Output)
	return rec
}

// waiting says that the job has not started and that no outcome is due for it, so that its deadline can end it.
func (r *row) waiting() bool {
	switch r.State {
	case driver.Awaiting, driver.Scheduled, driver.Throttled, driver.Enqueued:
		return true
	}
	return false
}

// key is where the row stands in the list of its state.
func (r *row) key() key {
	switch r.State {
	case driver.Scheduled:
		return key{r.RunAt.UnixMicro(), r.ID}
	case driver.Enqueued, driver.Throttled:
		return key{-int64(r.Priority), r.ID}
	case driver.Succeeded, driver.Failed, driver.Deleted:
		return key{r.FinalizedAt.UnixMicro(), r.ID}
	}
	return key{0, r.ID}
}

func (r *row) deadlineKey() key { return key{r.deadline.UnixMicro(), r.ID} }

// The ends of every list.
var (
	lowest  = key{math.MinInt64, math.MinInt64}
	highest = key{math.MaxInt64, math.MaxInt64}
)

// list is where rows in r's state are listed.
func (s *Store) list(r *row) *list {
	switch r.State {
	case driver.Awaiting:
		return &s.awaiting
	case driver.Scheduled:
		return &s.scheduled
	case driver.Throttled:
		return &s.throttled
	case driver.Enqueued:
		return &r.lane.ready
	case driver.Processing:
		return &s.processing
	case driver.Succeeded:
		return &s.succeeded
	case driver.Failed:
		return &s.failed
	}
	return &s.deleted
}

// add takes a new row into the store.
func (s *Store) add(r *row) {
	r.lane = s.lane(r.Queue, r.Kind)
	r.lane.rows++
	r.Queue, r.Kind = r.lane.queue.name, r.lane.kind
	if r.batch = s.batches[r.BatchID]; r.batch != nil {
		r.batch.Total++
	}
	s.rows[r.ID] = r
	if r.limit != nil {
		r.limit.rows++
	}
	s.enlist(r)
}

// drop removes a row and all that it owns.
func (s *Store) drop(r *row) {
	s.unlist(r)
	delete(s.rows, r.ID)
	if r.limit != nil {
		r.limit.rows--
	}
	s.leave(r.lane)
}

// enlist and unlist put a row on the lists that go with its fields and take it off. Whoever changes a field that a list
// depends on (state, priority, times) unlists the row before and enlists it after.
func (s *Store) enlist(r *row) {
	s.list(r).add(r.key(), r)
	r.lane.states[ordinal(r.State)]++
	r.batch.count(r.State, 1)
	if r.State == driver.Scheduled && r.Attempt > 0 {
		s.retries++
	}
	if !r.deadline.IsZero() && r.waiting() {
		s.deadlines.add(r.deadlineKey(), r)
	}
	if r.limit != nil {
		r.limit.enlist(r)
	}
}

func (s *Store) unlist(r *row) {
	s.list(r).remove(r.key())
	r.lane.states[ordinal(r.State)]--
	r.batch.count(r.State, -1)
	if r.State == driver.Scheduled && r.Attempt > 0 {
		s.retries--
	}
	if !r.deadline.IsZero() && r.waiting() {
		s.deadlines.remove(r.deadlineKey())
	}
	if r.limit != nil {
		r.limit.unlist(r)
	}
}

// ordinal is the state's position in driver.States.
func ordinal(state driver.State) int {
	switch state {
	case driver.Awaiting:
		return 0
	case driver.Scheduled:
		return 1
	case driver.Throttled:
		return 2
	case driver.Enqueued:
		return 3
	case driver.Processing:
		return 4
	case driver.Succeeded:
		return 5
	case driver.Failed:
		return 6
	}
	return 7
}

// cloneMap and cloneSlice copy; an empty value is nil, as the contract does not tell them apart.
func cloneMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

func cloneSlice[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return slices.Clone(s)
}
