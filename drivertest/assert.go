package drivertest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// slack is how far a stamp may lie outside of two readings of Now.
const slack = time.Millisecond

// eq expects two values to be equal.
func eq[T any](e *env, what string, got, want T) {
	e.Helper()
	if !reflect.DeepEqual(got, want) {
		e.Errorf("%s: got %s, want %s", what, show(got), show(want))
	}
}

// show prints a value for a message, texts quoted and long ones cut.
func show(v any) string {
	s := fmt.Sprintf("%+v", v)
	switch v := v.(type) {
	case string:
		s = fmt.Sprintf("%q", v)
	case []byte:
		s = fmt.Sprintf("%q", v)
	case []string:
		s = fmt.Sprintf("%q", v)
	}
	if len(s) > 300 {
		s = fmt.Sprintf("%s… (%d bytes)", s[:300], len(s))
	}
	return s
}

// between expects a stamp made by a call: in UTC, and between a Now read before the call and one read after it.
func (e *env) between(what string, got, before, after time.Time) {
	e.Helper()
	if got.Before(before.Add(-slack)) || got.After(after.Add(slack)) {
		e.Errorf("%s is %s, want a time of the store's clock from %s to %s", what, clockText(got), clockText(before), clockText(after))
	}
	e.utc(what, got)
}

// utc expects an instant to be in UTC.
func (e *env) utc(what string, got time.Time) {
	e.Helper()
	if !got.IsZero() && got.Location() != time.UTC {
		e.Errorf("%s is %s in %s, want it in UTC", what, clockText(got), got.Location())
	}
}

func clockText(t time.Time) string { return t.Format("2006-01-02T15:04:05.000000Z07:00") }

// given expects an instant that was given to come back: equal to the microsecond, and in UTC.
func (e *env) given(what string, got, want time.Time) {
	e.Helper()
	if d := got.Sub(want); d <= -time.Microsecond || d >= time.Microsecond {
		e.Errorf("%s is %s, want it as given: %s", what, clockText(got), clockText(want))
	}
	e.utc(what, got)
}

// inState expects a job to stand in a state, and to have a FinalizedAt just when the state is final.
func (e *env) inState(id int64, want driver.State) driver.Record {
	e.Helper()
	r := e.record(id)
	if r.State != want {
		e.Errorf("job %d is %s, want %s", id, r.State, want)
	}
	if r.State.Final() == r.FinalizedAt.IsZero() {
		e.Errorf("job %d is %s and its FinalizedAt is %s: it is set while a job is succeeded, failed or deleted, and zero otherwise",
			id, r.State, clockText(r.FinalizedAt))
	}
	return r
}

// results expects what Finish returned.
func (e *env) results(what string, got []driver.Result, want ...driver.Result) {
	e.Helper()
	if !slices.Equal(got, want) {
		e.Errorf("%s: results %v, want %v", what, resultNames(got), resultNames(want))
	}
}

func resultName(r driver.Result) string {
	switch r {
	case driver.Applied:
		return "Applied"
	case driver.Stale:
		return "Stale"
	case driver.Busy:
		return "Busy"
	case driver.Rejected:
		return "Rejected"
	}
	return fmt.Sprintf("Result(%d)", r)
}

func resultNames(rs []driver.Result) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = resultName(r)
	}
	return out
}

// countsAre expects all counts.
func (e *env) countsAre(what string, want driver.Counts) {
	e.Helper()
	if got := e.counts(); got != want {
		e.Errorf("%s: Counts are %+v, want %+v", what, got, want)
	}
}

// jobIDs lists the ids of jobs in their order.
func jobIDs(jobs []driver.Job) []int64 {
	out := make([]int64, len(jobs))
	for i, j := range jobs {
		out[i] = j.ID
	}
	return out
}

// recordIDs lists the ids of records in their order.
func recordIDs(rs []driver.Record) []int64 {
	out := make([]int64, len(rs))
	for i, r := range rs {
		out[i] = r.ID
	}
	return out
}

// order expects ids in an order.
func (e *env) order(what string, got, want []int64) {
	e.Helper()
	if !slices.Equal(got, want) {
		e.Errorf("%s: jobs %s, want %s", what, show(got), show(want))
	}
}

// sameParams expects a job to carry everything that was inserted. The run time is the caller's to check when it was not given.
func (e *env) sameParams(what string, got driver.Job, p driver.InsertParams) {
	e.Helper()
	eq(e, what+": Kind", got.Kind, p.Kind)
	eq(e, what+": Queue", got.Queue, p.Queue)
	eq(e, what+": Args", string(got.Args), string(p.Args))
	if !maps.Equal(got.Meta, p.Meta) {
		e.Errorf("%s: Meta is %s, want %s", what, show(got.Meta), show(p.Meta))
	}
	if !slices.Equal(got.Tags, p.Tags) {
		e.Errorf("%s: Tags are %s, want %s", what, show(got.Tags), show(p.Tags))
	}
	eq(e, what+": Title", got.Title, p.Title)
	eq(e, what+": Priority", got.Priority, p.Priority)
	eq(e, what+": MaxAttempts", got.MaxAttempts, p.MaxAttempts)
	if want := storedTimeout(p.Timeout); got.Timeout != want && (got.Timeout >= 0 || want >= 0) {
		e.Errorf("%s: Timeout is %s, want %s: milliseconds rounded up, negative for none", what, got.Timeout, want)
	}
	eq(e, what+": BatchID", got.BatchID, p.BatchID)
	eq(e, what+": RecurringID", got.RecurringID, p.RecurringID)
	eq(e, what+": LimitKey", got.LimitKey, p.LimitKey)
	if !p.RunAt.IsZero() {
		e.given(what+": RunAt", got.RunAt, p.RunAt)
	}
}

// storedTimeout is what comes back of a timeout: whole milliseconds, rounded up; negative is none.
func storedTimeout(d time.Duration) time.Duration {
	if d < 0 {
		return -1
	}
	return (d + time.Millisecond - 1) / time.Millisecond * time.Millisecond
}

// sameJob expects two readings of one job to agree in every field; instants have to be equal with ==.
func (e *env) sameJob(what string, got, want driver.Job) {
	e.Helper()
	g, w := reflect.ValueOf(plain(got)), reflect.ValueOf(plain(want))
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			e.Errorf("%s: %s is %s, want %s", what, g.Type().Field(i).Name, show(g.Field(i).Interface()), show(w.Field(i).Interface()))
		}
	}
}

// plain makes empty and missing values alike.
func plain(j driver.Job) driver.Job {
	if len(j.Meta) == 0 {
		j.Meta = nil
	}
	if len(j.Tags) == 0 {
		j.Tags = nil
	}
	if len(j.Parents) == 0 {
		j.Parents = nil
	}
	return j
}

// lastEntry is the newest line of a job's history, which has to have n lines.
func (e *env) lastEntry(r driver.Record, n int) driver.Entry {
	e.Helper()
	if len(r.History) != n {
		e.Fatalf("job %d has %d history entries, want %d: %+v", r.ID, len(r.History), n, r.History)
	}
	return r.History[n-1]
}

// entryIs expects an entry, its time apart, which has to lie between two readings of Now.
func (e *env) entryIs(what string, got, want driver.Entry, before, after time.Time) {
	e.Helper()
	e.between(what+": At", got.At, before, after)
	got.At, want.At = time.Time{}, time.Time{}
	if got != want {
		e.Errorf("%s: got %s, want %s", what, show(got), show(want))
	}
}
