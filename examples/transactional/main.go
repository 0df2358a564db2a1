// Command transactional enqueues jobs in the transaction that writes the order they are about: both are there, or neither.
package main

import (
	"context"
	"database/sql"
	"errors"
	"log"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

type SendReceipt struct{ Item string }

func (SendReceipt) Kind() string { return "send_receipt" }

func main() {
	if err := run(context.Background(), "shop.db", log.Default()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string, logger *log.Logger) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_txlock=immediate") // it says early that it will write
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqlitestore.New(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := db.Exec("create table if not exists orders (id integer primary key, item text)"); err != nil {
		return err
	}
	client := kiln.NewClient(store)
	for _, item := range []string{"teapot", "moon", "cup"} {
		logger.Printf("order of a %s: %v", item, order(ctx, db, store, client, item))
	}
	ctx, stop := context.WithCancel(ctx)
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

func order(ctx context.Context, db *sql.DB, store *sqlitestore.Store, client *kiln.Client, item string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	jobs := store.Tx(tx)
	if _, err := tx.Exec("insert into orders (item) values (?)", item); err != nil {
		return err
	}
	if _, err := client.EnqueueTx(ctx, jobs, SendReceipt{Item: item}); err != nil {
		return err
	}
	if item == "moon" {
		return errors.New("out of stock") // the order and its receipt are rolled back
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return jobs.Notify(ctx) // wakes servers at once; without it they find the job at their next poll
}
