// Command throttling holds jobs back: ten charges a second, one export of an account at a time, one report for many requests.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

type (
	ChargeCard struct{ Order int }
	Export     struct{ Account, Page int }
	Report     struct{ Edit int }
)

func (ChargeCard) Kind() string { return "charge_card" }
func (Export) Kind() string     { return "export" }
func (Report) Kind() string     { return "report" }

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := kiln.NewClient(memstore.New())
	lines, begin := log.New(out, "", 0), time.Now() // a Logger takes lines from several goroutines
	var exporting, left atomic.Int32
	left.Store(16 + 3 + 1)
	done := func(format string, args ...any) {
		lines.Printf("%4.1fs %s", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
		if left.Add(-1) == 0 {
			stop()
		}
	}

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ChargeCard]) error {
		done("charged order %d", j.Args.Order)
		return nil
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[Export]) error {
		n := exporting.Add(1)
		defer exporting.Add(-1)
		time.Sleep(100 * time.Millisecond)
		done("exported page %d of account %d, %d at a time", j.Args.Page, j.Args.Account, n)
		return nil
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[Report]) error {
		done("reported edit %d", j.Args.Edit)
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		return err
	}

	enqueue := func(n int, args func(n int) kiln.Args, option kiln.InsertOption) {
		for i := range n {
			if _, err := client.Enqueue(ctx, args(i+1), option); err != nil {
				log.Fatal(err)
			}
		}
	}
	enqueue(16, func(n int) kiln.Args { return ChargeCard{n} }, kiln.Limit{Key: "payments", Rate: 10, Per: time.Second, Burst: 2})
	enqueue(3, func(n int) kiln.Args { return Export{Account: 7, Page: n} }, kiln.Limit{Key: "account 7", Max: 1})
	enqueue(5, func(n int) kiln.Args { return Report{n} }, kiln.Unique{Key: "weekly", Debounce: 200 * time.Millisecond})
	return server.Run(ctx)
}
