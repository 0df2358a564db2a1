package kiln_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
)

// FetchData and the types after it are the args of the samples.
type FetchData struct{ URL string }

func (FetchData) Kind() string { return "fetch_data" }

type ProcessData struct{}

func (ProcessData) Kind() string { return "process_data" }

type SendSummary struct{}

func (SendSummary) Kind() string { return "send_summary" }

type CloseAccount struct{ ID int }

func (CloseAccount) Kind() string { return "close_account" }

type EmailStatement struct{ ID int }

func (EmailStatement) Kind() string { return "email_statement" }

type SendReport struct{}

func (SendReport) Kind() string { return "send_report" }

// runs writes down which jobs ran, in their order.
type runs struct{ names []string }

// note handles a kind by writing it down.
func note[T kiln.Args](r *rig, all *runs) {
	kiln.Handle(r.mux, func(_ context.Context, j *kiln.Job[T]) error {
		all.names = append(all.names, fmt.Sprintf("%s%v", j.Kind, j.Args))
		return nil
	})
}

func TestSampleFlow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client, src := t.Context(), r.client, "https://example.com/data"
		kiln.Handle(r.mux, func(ctx context.Context, j *kiln.Job[FetchData]) error { return j.SetOutput(len(j.Args.URL)) })
		var read string
		kiln.Handle(r.mux, func(ctx context.Context, j *kiln.Job[ProcessData]) error {
			outs, err := j.ParentOutputs(ctx)
			read = fmt.Sprint(len(outs), string(outs[j.Parents[0]]))
			return err
		})

		var flow kiln.Flow
		fetch := flow.Add(FetchData{URL: src})
		flow.Add(ProcessData{}, kiln.Needs{fetch})
		client.EnqueueMany(ctx, flow...)

		r.want(2, kiln.Awaiting)
		r.start(kiln.ServerConfig{})
		pass(time.Minute)
		r.want(2, kiln.Succeeded)
		if read != "124" {
			t.Errorf("the continuation read %q, want one output of 24", read)
		}
	})
}

// "AfterFinished runs regardless of whether the parent succeeded. A dependency on a job that can never complete cascades: the
// dependent is inserted straight into deleted."
func TestSampleAfter(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return kiln.Permanent(errDown) })
		failed := r.enqueue()
		finished := r.enqueue(kiln.Queue("other"), kiln.AfterFinished{failed})
		waits := r.enqueue(kiln.Queue("other"), kiln.After{failed})
		r.start(kiln.ServerConfig{})
		pass(time.Minute)
		r.want(failed, kiln.Failed, "permanent")
		r.want(finished, kiln.Enqueued)
		r.want(waits, kiln.Awaiting)
		if n, err := r.client.Delete(t.Context(), failed); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		reason := fmt.Sprintf("parent %d deleted", failed)
		r.want(waits, kiln.Deleted, reason)
		r.want(r.enqueue(kiln.After{failed}), kiln.Deleted, reason)
	})
}

func TestSampleBatch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client := t.Context(), r.client
		var all runs
		note[ImportFile](r, &all)
		note[SendSummary](r, &all)
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})

		b := &kiln.Batch{Description: "nightly-import"}
		b.Add(ImportFile{Name: "a.csv"})
		b.Add(ImportFile{Name: "b.csv"})
		b.Then(SendSummary{})
		client.StartBatch(ctx, b)

		pass(time.Minute)
		if want := []string{"import_file{a.csv}", "import_file{b.csv}", "send_summary{}"}; !slices.Equal(all.names, want) {
			t.Errorf("%q ran, want %q", all.names, want)
		}
	})
}

func TestSampleNestedBatches(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client := t.Context(), r.client
		accounts := []struct {
			ID   int
			Name string
		}{{1, "ann"}, {2, "bob"}}
		var all runs
		note[CloseAccount](r, &all)
		note[EmailStatement](r, &all)
		note[SendReport](r, &all)
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})

		month := &kiln.Batch{Description: "monthly close"}
		for _, acct := range accounts {
			b := &kiln.Batch{Description: acct.Name}
			b.Add(CloseAccount{ID: acct.ID})
			b.Then(EmailStatement{ID: acct.ID})
			month.AddBatch(b)
		}
		month.Then(SendReport{})
		id, err := client.StartBatch(ctx, month)

		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if len(all.names) != 5 || all.names[4] != "send_report{}" {
			t.Errorf("%q ran; the report comes after both statements", all.names)
		}
		for _, n := range []int{1, 2} {
			if slices.Index(all.names, fmt.Sprintf("close_account{%d}", n)) > slices.Index(all.names, fmt.Sprintf("email_statement{%d}", n)) {
				t.Errorf("%q ran; a statement comes after its account", all.names)
			}
		}
		if got, err := r.store.Batch(ctx, id); err != nil || got.Total != 2 || got.NestedFinished != 2 {
			t.Errorf("the batch is %+v (%v); the statements are its own jobs", got, err)
		}
	})
}

// "id, err := client.OpenBatch(ctx, …) // later, from anywhere … // once everything is in"
func TestSampleOpenBatch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client := t.Context(), r.client
		var all runs
		note[ImportFile](r, &all)
		r.start(kiln.ServerConfig{})

		id, err := client.OpenBatch(ctx, &kiln.Batch{Description: "nightly import"})
		// later, from anywhere
		client.Enqueue(ctx, ImportFile{Name: "c.csv"}, kiln.InBatch(id))
		client.OpenBatch(ctx, &kiln.Batch{Parent: id, Description: "pages of c.csv"})
		// once everything is in
		client.SealBatch(ctx, id)

		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if got, err := r.store.Batch(ctx, id); err != nil || !got.FinishedAt.IsZero() || got.Nested != 1 {
			t.Errorf("the batch is %+v (%v), want it open: the nested one is not sealed", got, err)
		}
		if err := client.SealBatch(ctx, id+1); err != nil {
			t.Fatal(err)
		}
		if got, err := r.store.Batch(ctx, id); err != nil || got.FinishedAt.IsZero() {
			t.Errorf("the batch is %+v (%v), want it finished", got, err)
		}
	})
}

// "A running job can also open a batch inside its own with kiln.Batch{Parent: j.BatchID}."
func TestSampleBatchParent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var finishedAt []time.Time
		kiln.Handle(r.mux, func(ctx context.Context, j *kiln.Job[ImportFile]) error {
			if j.Args.Name != "all" {
				<-time.After(time.Minute)
				mu.Lock()
				defer mu.Unlock()
				finishedAt = append(finishedAt, time.Now())
				return nil
			}
			client, _ := kiln.ClientFrom(ctx)
			b := &kiln.Batch{Parent: j.BatchID, Description: "pages of " + j.Args.Name}
			b.Add(ImportFile{Name: "page 1"})
			b.Add(ImportFile{Name: "page 2"})
			_, err := client.StartBatch(ctx, b)
			return err
		})
		b := &kiln.Batch{}
		b.Add(ImportFile{Name: "all"})
		id, err := r.client.StartBatch(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		r.start(kiln.ServerConfig{})
		pass(10 * time.Minute)
		got, err := r.store.Batch(t.Context(), id)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || len(finishedAt) != 2 || got.FinishedAt.Before(finishedAt[1]) {
			t.Errorf("the batch is %+v (%v), its pages ended at %v", got, err, finishedAt)
		}
	})
}
