package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// Samples of the documents that kiln was described in, as in the root package.

type sendReceipt struct{ OrderID int }

func (sendReceipt) Kind() string { return "send_receipt" }

// "Swap the store and keep the rest of the program." "The application can keep using or close its pool."
func TestSampleStore(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	pool, err := pgxpool.New(ctx, testDatabase)
	if err != nil {
		t.Fatal(err)
	}
	store, err := New(ctx, pool, newSchema(t))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	pool.Close()

	client := kiln.NewClient(store)
	mux := kiln.NewMux()
	ran := make(chan int, 1)
	kiln.Handle(mux, func(_ context.Context, j *kiln.Job[sendReceipt]) error {
		ran <- j.Args.OrderID
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(running) }()
	if _, err := client.Enqueue(ctx, sendReceipt{7}); err != nil {
		t.Error(err)
	}
	select {
	case id := <-ran:
		if id != 7 {
			t.Errorf("ran for order %d, want 7", id)
		}
	case <-ctx.Done():
		t.Error("the job did not run")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// "On PostgreSQL through database/sql, store.SQLTx(tx) takes a *sql.Tx."
func TestSampleSQLTx(t *testing.T) {
	ctx := t.Context()
	pool := newPool(t)
	store := openStore(t, pool, newSchema(t))
	client := kiln.NewClient(store)
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	for _, commit := range []bool{false, true} {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		var w driver.TxWriter = store.SQLTx(tx)
		id, err := client.EnqueueTx(ctx, w, sendReceipt{8})
		if err != nil {
			t.Fatal(err)
		}
		if err := map[bool]func() error{false: tx.Rollback, true: tx.Commit}[commit](); err != nil {
			t.Fatal(err)
		}
		if err := w.Notify(ctx); err != nil {
			t.Error(err)
		}
		if _, err := client.Get(ctx, id); errors.Is(err, kiln.ErrNotFound) == commit {
			t.Errorf("committed %t: reading the job gives %v", commit, err)
		}
	}
}
