package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln"
)

type (
	// ExportOrders writes a customer's orders of one year to a file.
	ExportOrders struct {
		Customer Customer `json:"customer"`
		Year     int      `json:"year"`
	}
	// RebuildIndex makes the index of the shop's search anew.
	RebuildIndex struct {
		Locale string `json:"locale"`
	}
)

func (ExportOrders) Kind() string { return "export_orders" }
func (RebuildIndex) Kind() string { return "rebuild_search_index" }

func (a ExportOrders) Title() string {
	return fmt.Sprintf("Orders of %s in %d", a.Customer.Name, a.Year)
}
func (a RebuildIndex) Title() string { return "Rebuild search index, " + a.Locale }

// requestExports asks for three years of one customer; a customer has one export at a time.
func (s *shop) requestExports(ctx context.Context) error {
	customer := pick(customers)
	var specs []kiln.Spec
	for year := 2024; year <= 2026; year++ {
		specs = append(specs, kiln.Spec{Args: ExportOrders{Customer: customer, Year: year}, Options: []kiln.InsertOption{
			kiln.Tags{customer.tag()}, kiln.Limit{Key: "export " + customer.tag(), Max: 1}, kiln.Priority(-1),
		}})
	}
	_, err := s.client.EnqueueMany(ctx, specs...)
	return err
}

// rebuildIndex asks for an index of each language. What is asked for already is not asked for again.
func (s *shop) rebuildIndex(ctx context.Context) error {
	var specs []kiln.Spec
	for _, locale := range []string{"en", "de", "pt-BR"} {
		specs = append(specs, kiln.Spec{Args: RebuildIndex{Locale: locale}, Options: []kiln.InsertOption{kiln.Unique{}, kiln.Tags{"search"}}})
	}
	_, err := s.client.EnqueueMany(ctx, specs...)
	return err
}

func handleExports(mux *kiln.Mux) {
	kiln.Handle(mux, exportOrders, kiln.Constant(10*time.Second))
	kiln.Handle(mux, rebuildIndex, kiln.Constant(10*time.Second))
}

// exportOrders takes 20 to 40 seconds and says what it does.
func exportOrders(ctx context.Context, j *kiln.Job[ExportOrders]) error {
	j.Logf("exporting the orders of %s", j.Args.Customer.Name)
	for month := time.January; month <= time.December; month++ {
		if err := work(ctx, between(1700*time.Millisecond, 3300*time.Millisecond)); err != nil {
			return err
		}
		j.SetProgress(100 * int(month) / 12)
		j.Logf("%s %d: %d orders", month, j.Args.Year, 3+int(month)*j.Args.Customer.ID%17)
	}
	file := fmt.Sprintf("orders-%d-%d.csv", j.Args.Customer.ID, j.Args.Year)
	j.Logf("wrote %s", file)
	return j.SetOutput(map[string]any{"file": file, "bytes": 18_000 + 37*j.Args.Customer.ID})
}

// rebuildIndex takes a minute.
func rebuildIndex(ctx context.Context, j *kiln.Job[RebuildIndex]) error {
	const shards = 24
	j.Logf("rebuilding %d shards for %s", shards, j.Args.Locale)
	for shard := 1; shard <= shards; shard++ {
		if err := work(ctx, between(1500*time.Millisecond, 2900*time.Millisecond)); err != nil {
			return err
		}
		j.SetProgress(100 * shard / shards)
		j.Logf("shard %02d/%d: %d products", shard, shards, len(products)*shard*11)
		if shard%8 == 0 {
			j.Logf("warning: shard %02d: 2 products without a description in %s", shard, j.Args.Locale)
		}
	}
	return nil
}
