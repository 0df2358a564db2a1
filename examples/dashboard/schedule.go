package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

type (
	// FetchRates fetches exchange rates.
	FetchRates struct {
		Base string `json:"base"`
	}
	// SalesReport sums up the day.
	SalesReport struct {
		Shop string `json:"shop"`
	}
	// SyncMarketplace tells a marketplace what is in stock.
	SyncMarketplace struct {
		Marketplace string `json:"marketplace"`
	}
	// RemindCarts reminds people of what they left in their carts.
	RemindCarts struct{}
	// OrderPickup asks a carrier to come.
	OrderPickup struct {
		Carrier string `json:"carrier"`
	}
)

func (FetchRates) Kind() string      { return "fetch_exchange_rates" }
func (SalesReport) Kind() string     { return "sales_report" }
func (SyncMarketplace) Kind() string { return "sync_marketplace" }
func (RemindCarts) Kind() string     { return "remind_carts" }
func (OrderPickup) Kind() string     { return "order_pickup" }

// errTokenExpired is why the marketplace does not listen.
var errTokenExpired = errors.New("access token expired on 2026-03-01, log in again")

// schedule declares the recurring jobs: one every minute, one every night in its own zone, one whose runs fail, one that is paused.
func (s *shop) schedule(ctx context.Context) error {
	err := s.client.SyncRecurring(ctx, "shop",
		kiln.RecurringSpec{ID: "exchange-rates", Spec: "* * * * *", Args: FetchRates{Base: "EUR"}, Options: []kiln.RecurringOption{
			kiln.MisfireSkip,
		}},
		kiln.RecurringSpec{ID: "sales-report", Spec: "15 2 * * *", Args: SalesReport{Shop: "Leipzig"}, Options: []kiln.RecurringOption{
			kiln.TZ("Europe/Berlin"), kiln.Tags{"finance"}, kiln.Overlap(false),
		}},
		kiln.RecurringSpec{ID: "marketplace-stock", Spec: "*/5 * * * *", Args: SyncMarketplace{Marketplace: "Hallenmarkt"}, Options: []kiln.RecurringOption{
			kiln.MisfireSkip, kiln.MaxAttempts(3),
		}},
		kiln.RecurringSpec{ID: "cart-reminders", Spec: "0 18 * * MON-FRI", Args: RemindCarts{}, Options: []kiln.RecurringOption{
			kiln.TZ("America/Sao_Paulo"), kiln.Queue(queueMail),
		}},
	)
	if err != nil {
		return err
	}
	if err := s.client.PauseRecurring(ctx, "cart-reminders"); err != nil {
		return err
	}
	// Nobody wants to wait for the night to see a report.
	for _, id := range []string{"sales-report", "marketplace-stock"} {
		if _, err := s.client.TriggerRecurring(ctx, id); err != nil {
			return err
		}
	}
	return s.strandPickup(ctx)
}

// strandPickup stores a recurring job as an old program left it: its zone has been dropped from the time zone data since, so no server can
// say when it is due, and it is late.
func (s *shop) strandPickup(ctx context.Context) error {
	const id = "carrier-pickup"
	store := s.client.Store()
	if _, err := store.Recurring(ctx, id); !errors.Is(err, kiln.ErrNotFound) {
		return err
	}
	now, err := store.Now(ctx)
	if err != nil {
		return err
	}
	return store.PutRecurring(ctx, driver.Recurring{
		ID: id, Spec: "0 16 * * *", Location: "US/Pacific-New", Overlap: true,
		Template: driver.InsertParams{
			Kind: OrderPickup{}.Kind(), Queue: kiln.DefaultQueue, MaxAttempts: kiln.DefaultMaxAttempts, Args: []byte(`{"carrier":"Postlicht"}`),
		},
		NextRunAt: now.Add(-5 * time.Hour).Truncate(time.Hour),
	})
}

// calm is a log without the line about the stranded pickup that the leader writes every minute.
type calm struct{ slog.Handler }

func (c calm) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "a recurring job cannot be fired") {
		return nil
	}
	return c.Handler.Handle(ctx, r)
}

func handleSchedule(mux *kiln.Mux) {
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[FetchRates]) error {
		if err := work(ctx, time.Second); err != nil {
			return err
		}
		return j.SetOutput(map[string]float64{"USD": 1.0874, "BRL": 6.2215, "GBP": 0.8412})
	})
	kiln.Handle(mux, salesReport, kiln.Constant(30*time.Second))
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SyncMarketplace]) error {
		if err := work(ctx, time.Second); err != nil {
			return err
		}
		return kiln.Permanent(fmt.Errorf("sync stock with %s: %w", j.Args.Marketplace, errTokenExpired))
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[RemindCarts]) error { return work(ctx, 2*time.Second) })
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[OrderPickup]) error { return work(ctx, time.Second) })
}

func salesReport(ctx context.Context, j *kiln.Job[SalesReport]) error {
	steps := []string{"orders", "returns", "discounts", "shipping", "taxes", "totals"}
	for i, step := range steps {
		j.Logf("summing up %s of %s", step, j.Args.Shop)
		if err := work(ctx, between(3*time.Second, 6*time.Second)); err != nil {
			return err
		}
		j.SetProgress(100 * (i + 1) / len(steps))
	}
	return j.SetOutput(map[string]any{"shop": j.Args.Shop, "orders": 412, "revenue_cents": 2_318_455})
}
