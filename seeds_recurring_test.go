package kiln_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/kilntest"
)

type SalesReport struct{}

func (SalesReport) Kind() string { return "sales_report" }

type StockReport struct{}

func (StockReport) Kind() string { return "stock_report" }

func TestSampleSyncRecurring(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client := t.Context(), r.client
		r.set("daily-sales", "@hourly")
		r.set("mine", "@hourly")

		client.SyncRecurring(ctx, "reports",
			kiln.RecurringSpec{ID: "daily-sales", Spec: "0 7 * * *", Args: SalesReport{}, Options: []kiln.RecurringOption{kiln.TZ("America/Sao_Paulo")}},
			kiln.RecurringSpec{ID: "weekly-stock", Spec: "@weekly", Args: StockReport{}},
		)

		for id, want := range map[string]string{"daily-sales": "reports sales_report 2000-01-01T09:00:00Z", "weekly-stock": "reports stock_report 2000-01-02T00:00:00Z", "mine": " task 2000-01-01T01:00:00Z"} {
			def := r.recurring(id)
			if got := def.Group + " " + def.Template.Kind + " " + def.NextRunAt.Format(time.RFC3339); got != want {
				t.Errorf("%s: %s, want %s", id, got, want)
			}
		}

		client.SyncRecurring(ctx, "reports",
			kiln.RecurringSpec{ID: "daily-sales", Spec: "0 7 * * *", Args: SalesReport{}},
		)

		if list, _ := r.mem.Recurrings(ctx); len(list) != 2 {
			t.Errorf("%d recurring jobs are left, want daily-sales and mine", len(list))
		}
	})
}

// "0 3 * * * without kiln.TZ("America/Sao_Paulo") fires at midnight in São Paulo." Misfires have a policy, and occurrences overlap
// unless Overlap(false) is given.
func TestSampleSetRecurring(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		pass(time.Until(time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)))
		ctx, client := t.Context(), r.client

		client.SetRecurring(ctx, "utc", "0 3 * * *", SalesReport{})
		client.SetRecurring(ctx, "local", "0 3 * * *", SalesReport{}, kiln.TZ("America/Sao_Paulo"), kiln.MisfireSkip, kiln.Overlap(false))

		if at := r.recurring("utc").NextRunAt; at.In(mustZone(t, "America/Sao_Paulo")).Hour() != 0 {
			t.Errorf("without a zone it fires at %s", at)
		}
		if def := r.recurring("local"); def.NextRunAt.UTC().Hour() != 6 || def.Misfire != driver.MisfireSkip || def.Overlap {
			t.Errorf("stored %+v", def)
		}
	})
}

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type Row struct{ ID string }

type Import struct{ Rows []Row }

func (Import) Kind() string { return "import" }

func importRows(ctx context.Context, j *kiln.Job[Import]) error {
	for i, row := range j.Args.Rows {
		j.Logf("importing %s", row.ID)
		j.SetProgress(100 * i / len(j.Args.Rows))
	}
	return nil
}

func TestSampleConsole(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		kiln.Handle(r.mux, importRows)
		r.start(kiln.ServerConfig{})
		id, err := r.client.Enqueue(t.Context(), Import{Rows: []Row{{"one"}, {"two"}, {"three"}}})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if rec := r.want(id, kiln.Succeeded); rec.Progress != 66 {
			t.Errorf("progress %d", rec.Progress)
		}
		lines, err := r.mem.Logs(t.Context(), id, 0, 0)
		var texts []string
		for _, line := range lines {
			texts = append(texts, line.Text)
		}
		if got := strings.Join(texts, ", "); err != nil || got != "importing one, importing two, importing three" {
			t.Errorf("lines %s, %v", got, err)
		}
	})
}

// "kilntest.Work drives a job through the real middleware chain and classification logic without a server; its result includes the
// console lines and the progress. RequireEnqueued/RequireNotEnqueued assert on what a piece of code actually enqueued."
func TestSampleKilntest(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		kiln.Handle(r.mux, importRows)
		result := kilntest.Work(t.Context(), r.mux, Import{Rows: []Row{{"one"}, {"two"}}})
		if result.State != kiln.Succeeded || strings.Join(result.Logs, ", ") != "importing one, importing two" || result.Progress != 50 {
			t.Errorf("%+v", result)
		}
		kilntest.RequireNotEnqueued[Import](t, r.client, nil)
		if _, err := r.client.Enqueue(t.Context(), Import{Rows: []Row{{"one"}}}); err != nil {
			t.Fatal(err)
		}
		if j := kilntest.RequireEnqueued(t, r.client, func(j *kiln.Job[Import]) bool { return len(j.Args.Rows) == 1 }); j.ID != 1 {
			t.Errorf("found %+v", j)
		}
	})
}
