// Package examples holds programs that show how kiln is used, one folder each.
package examples

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

// quickStart is the program that the README has always begun with.
const quickStart = `package main

import (
	"context"
	"database/sql"
	"log"
	"os"
	"os/signal"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

type SendEmail struct {
	To string
}

func (SendEmail) Kind() string { return "send_email" }

func sendEmail(ctx context.Context, j *kiln.Job[SendEmail]) error {
	log.Printf("sending email to %s (attempt %d)", j.Args.To, j.Attempt)
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	db, err := sql.Open("sqlite", "file:jobs.db?_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlitestore.New(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	client := kiln.NewClient(store)

	mux := kiln.NewMux()
	kiln.Handle(mux, sendEmail)
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	if _, err := client.Enqueue(ctx, SendEmail{To: "ann@example.com"}); err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
`

// The test in basic builds and runs the program; this one pins that it is the README's.
func TestSampleQuickStart(t *testing.T) {
	program, err := os.ReadFile("basic/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if _, code, _ := strings.Cut(string(program), "package main\n"); "package main\n"+code != quickStart {
		t.Errorf("basic/main.go is\n%s\nwant\n%s", program, quickStart)
	}
}

type SendReceipt struct {
	OrderID int64
}

func (SendReceipt) Kind() string { return "send_receipt" }

// orderTx is a transaction of the application. The sample's own, of pgx, commits with a context.
type orderTx struct{ *sql.Tx }

func (tx orderTx) Commit(context.Context) error { return tx.Tx.Commit() }

type orderStore struct{ *sqlitestore.Store }

func (s orderStore) Tx(tx orderTx) *sqlitestore.TxWriter { return s.Store.Tx(tx.Tx) }

func TestSampleTransactionalEnqueue(t *testing.T) {
	ctx := t.Context()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	opened, err := sqlitestore.New(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	store, client := orderStore{opened}, kiln.NewClient(opened)
	if _, err := db.ExecContext(ctx, "create table orders (id integer primary key)"); err != nil {
		t.Fatal(err)
	}

	receipts := make(chan int64, 2)
	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SendReceipt]) error {
		var id int64
		if err := db.QueryRowContext(ctx, "select id from orders where id = ?", j.Args.OrderID).Scan(&id); err != nil {
			return kiln.Permanent(err)
		}
		receipts <- id
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(running) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	order := func(id int64) orderTx {
		t.Helper()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, "insert into orders values (?)", id); err != nil {
			t.Fatal(err)
		}
		return orderTx{tx}
	}

	// An order that is withdrawn takes its job along.
	tx := order(6)
	lost, err := client.EnqueueTx(ctx, store.Tx(tx), SendReceipt{OrderID: 6})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if job, err := client.Get(ctx, lost); !errors.Is(err, kiln.ErrNotFound) {
		t.Errorf("after the rollback the job is %+v, %v", job, err)
	}

	id := int64(7)
	tx = order(id)

	w := store.Tx(tx)
	client.EnqueueTx(ctx, w, SendReceipt{OrderID: id})
	tx.Commit(ctx)
	w.Notify(ctx)

	select {
	case got := <-receipts:
		if got != 7 {
			t.Errorf("a receipt was sent for order %d", got)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no receipt was sent")
	}
}
