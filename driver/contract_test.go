package driver_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// The methods of the contract, written out once more: a store that was written for them keeps compiling.
type (
	writer interface {
		Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error)
		OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error)
		SealBatch(ctx context.Context, id int64) error
	}
	worker interface {
		Claim(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error)
		Finish(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error)
		Heartbeat(ctx context.Context, s driver.ServerInfo) (driver.Directives, error)
		Unregister(ctx context.Context, server string) error
		SetMeta(ctx context.Context, ref driver.Ref, meta map[string]string) error
	}
	coordinator interface {
		Now(ctx context.Context) (time.Time, error)
		Lead(ctx context.Context, name, holder string, ttl time.Duration) (held time.Duration, ok bool, err error)
		Resign(ctx context.Context, name, holder string) error
		Promote(ctx context.Context, limit int) (driver.Promoted, error)
		Orphans(ctx context.Context, deadAfter time.Duration, limit int) ([]driver.Orphan, error)
		Sweep(ctx context.Context, limit int) (int, error)
		Prune(ctx context.Context, p driver.PruneParams) (int, error)
		Due(ctx context.Context, limit int) ([]driver.Recurring, time.Time, error)
		Fire(ctx context.Context, f driver.Fire) ([]driver.Inserted, error)
	}
	admin interface {
		Delete(ctx context.Context, f driver.Filter) (int, error)
		Requeue(ctx context.Context, f driver.Filter) (int, error)
		PauseQueue(ctx context.Context, queue string, paused bool) error
		Recurring(ctx context.Context, id string) (driver.Recurring, error)
		PutRecurring(ctx context.Context, r driver.Recurring) error
		RemoveRecurring(ctx context.Context, id string) error
	}
	inspector interface {
		Job(ctx context.Context, id int64) (driver.Record, error)
		Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error)
		Counts(ctx context.Context) (driver.Counts, error)
		Series(ctx context.Context, from, to time.Time, step time.Duration) ([]driver.Point, error)
		Servers(ctx context.Context) ([]driver.ServerInfo, error)
		Queues(ctx context.Context) ([]driver.QueueInfo, error)
		Recurrings(ctx context.Context) ([]driver.Recurring, error)
		Batch(ctx context.Context, id int64) (driver.Batch, error)
		Batches(ctx context.Context, q driver.BatchQuery) (driver.BatchPage, error)
	}
	store interface {
		writer
		worker
		coordinator
		admin
		inspector
	}
	notifier interface {
		Subscribe(ctx context.Context, fn func(driver.Event)) error
	}
	bus interface {
		notifier
		Publish(ctx context.Context, events []driver.Event) error
	}
	txWriter interface {
		writer
		Notify(ctx context.Context) error
	}
	transactor interface {
		InTx(ctx context.Context, fn func(w driver.Writer) error) error
	}
	console interface {
		WriteConsole(ctx context.Context, ref driver.Ref, lines []string, progress int) error
		Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error)
	}
	limitReader interface {
		Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error)
	}
)

// Both ways, so that an interface neither loses a method nor gains one that stores do not have.
var (
	_ driver.Writer      = writer(nil)
	_ writer             = driver.Writer(nil)
	_ driver.Worker      = worker(nil)
	_ worker             = driver.Worker(nil)
	_ driver.Coordinator = coordinator(nil)
	_ coordinator        = driver.Coordinator(nil)
	_ driver.Admin       = admin(nil)
	_ admin              = driver.Admin(nil)
	_ driver.Inspector   = inspector(nil)
	_ inspector          = driver.Inspector(nil)
	_ driver.Store       = store(nil)
	_ store              = driver.Store(nil)
	_ driver.Notifier    = notifier(nil)
	_ notifier           = driver.Notifier(nil)
	_ driver.Bus         = bus(nil)
	_ bus                = driver.Bus(nil)
	_ driver.TxWriter    = txWriter(nil)
	_ txWriter           = driver.TxWriter(nil)
	_ driver.Transactor  = transactor(nil)
	_ transactor         = driver.Transactor(nil)
	_ driver.Console     = console(nil)
	_ console            = driver.Console(nil)
	_ driver.LimitReader = limitReader(nil)
	_ limitReader        = driver.LimitReader(nil)
)

// same compares as code outside of this repository does.
func same[T comparable](a, b T) bool { return a == b }

func TestComparableTypes(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 0, 0, 1000, time.UTC)
	ref := driver.Ref{ID: 1, Claim: 2}
	for name, equal := range map[string]bool{
		"Ref":     same(driver.Ref{ID: 1, Claim: 2}, ref) && !same(driver.Ref{ID: 1, Claim: 3}, ref),
		"Event":   same(driver.Event{Kind: driver.JobsReady, Queue: "q"}, driver.Event{Kind: 2, Queue: "q"}) && !same(driver.Event{ID: 1}, driver.Event{ID: 2}),
		"Lease":   same(driver.Lease{Ref: ref, Age: 1}, driver.Lease{Ref: ref, Age: 1}) && !same(driver.Lease{Ref: ref}, driver.Lease{Ref: ref, Cancel: true}),
		"Orphan":  same(driver.Orphan{Ref: ref, Kind: "k"}, driver.Orphan{Ref: ref, Kind: "k"}) && !same(driver.Orphan{Ref: ref}, driver.Orphan{Ref: ref, LastReason: "retry"}),
		"Counts":  same(driver.Counts{Failed: 1}, driver.Counts{Failed: 1}) && !same(driver.Counts{}, driver.Counts{Capped: true}),
		"LogLine": same(driver.LogLine{At: at, Text: "a"}, driver.LogLine{At: at, Text: "a"}) && !same(driver.LogLine{Seq: 1}, driver.LogLine{Seq: 2}),
		"Point":   same(driver.Point{At: at}, driver.Point{At: at}) && !same(driver.Point{At: at}, driver.Point{At: at.Add(1)}),
		"QueueInfo": same(driver.QueueInfo{Name: "q", PausedAt: at}, driver.QueueInfo{Name: "q", PausedAt: at}) &&
			!same(driver.QueueInfo{Latency: 1}, driver.QueueInfo{}),
	} {
		if !equal {
			t.Errorf("%s: == does not tell equal values from others", name)
		}
	}
	// A field of interface type would compile above and panic at run time.
	for _, v := range []any{
		driver.Ref{}, driver.Event{}, driver.Lease{}, driver.Orphan{}, driver.Counts{}, driver.LogLine{}, driver.Point{}, driver.QueueInfo{},
	} {
		if typ := reflect.TypeOf(v); !typ.Comparable() || hasInterface(typ) {
			t.Errorf("%s is not comparable, or only until it holds some values", typ)
		}
	}
}

func hasInterface(typ reflect.Type) bool {
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
		return typ.Kind() == reflect.Interface
	}
	for i := range typ.NumField() {
		if hasInterface(typ.Field(i).Type) {
			return true
		}
	}
	return false
}

func TestEmbeddedFields(t *testing.T) {
	ref := driver.Ref{ID: 7, Claim: 3}
	if out := (driver.Outcome{Ref: ref, State: driver.Failed}); out.ID != 7 || out.Claim != 3 {
		t.Errorf("Outcome: %+v", out)
	}
	if lease := (driver.Lease{Ref: ref}); lease.ID != 7 || lease.Claim != 3 {
		t.Errorf("Lease: %+v", lease)
	}
	if orphan := (driver.Orphan{Ref: ref}); orphan.ID != 7 || orphan.Claim != 3 {
		t.Errorf("Orphan: %+v", orphan)
	}
	job := driver.Job{Ref: ref, Kind: "k", Queue: "q", Attempt: 2}
	if job.ID != 7 || job.Claim != 3 {
		t.Errorf("Job: %+v", job)
	}
	if rec := (driver.Record{Job: job, State: driver.Processing}); rec.ID != 7 || rec.Claim != 3 || rec.Kind != "k" || rec.Queue != "q" || rec.Attempt != 2 {
		t.Errorf("Record: %+v", rec)
	}
	if p := (driver.PruneParams{Retention: driver.Retention{Succeeded: 1, Deleted: 2, Failed: 3}}); p.Succeeded != 1 || p.Deleted != 2 || p.Failed != 3 {
		t.Errorf("PruneParams: %+v", p)
	}
	for outer, inner := range map[reflect.Type]string{
		reflect.TypeFor[driver.Outcome]():     "Ref",
		reflect.TypeFor[driver.Lease]():       "Ref",
		reflect.TypeFor[driver.Orphan]():      "Ref",
		reflect.TypeFor[driver.Job]():         "Ref",
		reflect.TypeFor[driver.Record]():      "Job",
		reflect.TypeFor[driver.PruneParams](): "Retention",
	} {
		if f, ok := outer.FieldByName(inner); !ok || !f.Anonymous {
			t.Errorf("%s does not embed %s", outer, inner)
		}
	}
	// Named alone in the description, and all the same plain fields.
	for _, typ := range []reflect.Type{reflect.TypeFor[driver.Outcome](), reflect.TypeFor[driver.Record](), reflect.TypeFor[driver.Filter]()} {
		if f, _ := typ.FieldByName("State"); f.Anonymous {
			t.Errorf("%s embeds State", typ)
		}
	}
}

func TestSentinelsDiffer(t *testing.T) {
	all := []error{
		driver.ErrNotFound, driver.ErrConflict, driver.ErrLost, driver.ErrClosed, driver.ErrInvalid, driver.ErrTooLarge, driver.ErrNilTx, driver.ErrGone,
	}
	for i, a := range all {
		for k, b := range all {
			if errors.Is(a, b) != (i == k) {
				t.Errorf("errors.Is(%v, %v) is %t", a, b, i != k)
			}
		}
	}
}
