// Command recurring runs jobs on schedules that the program declares at every start.
package main

import (
	"context"
	"database/sql"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

// SalesReport is due once a day, in the time of the people who read it.
type SalesReport struct{ Shop string }

func (SalesReport) Kind() string { return "sales_report" }

// Cleanup is due all the time.
type Cleanup struct{}

func (Cleanup) Kind() string { return "cleanup" }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, "jobs.db", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string, out io.Writer) error {
	logger := log.New(out, "", 0)
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqlitestore.New(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	client := kiln.NewClient(store)

	// What is not in this list any more at the next start is removed from the database.
	err = client.SyncRecurring(ctx, "shop",
		kiln.RecurringSpec{ID: "sales", Spec: "0 7 * * MON-FRI", Args: SalesReport{Shop: "Hauptstraße"}, Options: []kiln.RecurringOption{
			kiln.TZ("Europe/Berlin"), kiln.MisfireOnce,
		}},
		kiln.RecurringSpec{ID: "cleanup", Spec: "@every 1s", Args: Cleanup{}, Options: []kiln.RecurringOption{kiln.MisfireSkip}},
	)
	if err != nil {
		return err
	}

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SalesReport]) error {
		logger.Printf("report of %s, by hand: %t", j.Args.Shop, j.Meta["kiln.occurrence"] == "")
		return nil
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[Cleanup]) error {
		logger.Printf("cleanup of %s", j.RunAt.Format("15:04:05"))
		return nil
	})

	// Nobody wants to wait until seven.
	if _, err := client.TriggerRecurring(ctx, "sales"); err != nil {
		return err
	}
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
