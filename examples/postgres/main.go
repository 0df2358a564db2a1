// Command postgres keeps its jobs in PostgreSQL, beside the orders that they are about, and enqueues each in its order's
// transaction. It is given a connection string: go run ./examples/postgres postgres://localhost/shop
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/pgstore"
)

type SendReceipt struct{ Item string }

func (SendReceipt) Kind() string { return "send_receipt" }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		log.Fatal("usage: postgres CONNECTION-STRING")
	}
	if err := run(ctx, os.Args[1], log.Default()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dsn string, logger *log.Logger) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	store, err := pgstore.New(ctx, pool) // makes its tables in the schema kiln
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := pool.Exec(ctx, "create table if not exists orders (id bigint generated always as identity primary key, item text)"); err != nil {
		return err
	}
	client := kiln.NewClient(store)
	for _, item := range []string{"teapot", "moon", "cup"} {
		logger.Printf("order of a %s: %v", item, order(ctx, pool, store, client, item))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SendReceipt]) error {
		logger.Printf("receipt for a %s", j.Args.Item)
		if j.Args.Item == "cup" {
			stop() // the last one
		}
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{Queues: map[string]int{"default": 1}})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

func order(ctx context.Context, pool *pgxpool.Pool, store *pgstore.Store, client *kiln.Client, item string) error {
	var jobs *pgstore.TxWriter
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		jobs = store.Tx(tx)
		if _, err := tx.Exec(ctx, "insert into orders (item) values ($1)", item); err != nil {
			return err
		}
		if _, err := client.EnqueueTx(ctx, jobs, SendReceipt{Item: item}); err != nil {
			return err
		}
		if item == "moon" {
			return errors.New("out of stock") // the order and its receipt are rolled back
		}
		return nil
	})
	if err != nil {
		return err
	}
	return jobs.Notify(ctx) // wakes servers at once; without it they find the job at their next poll
}
