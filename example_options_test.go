package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

type SendInvoice struct {
	Number int
}

func (SendInvoice) Kind() string { return "send_invoice" }

func ExampleQueue() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	id, err := client.Enqueue(ctx, SendInvoice{Number: 7}, kiln.Queue("invoices"))
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Queue, job.State)
	// Output: invoices enqueued
}

func ExamplePriority() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	_, err := client.EnqueueMany(ctx,
		kiln.Spec{Args: SendInvoice{Number: 1}},
		kiln.Spec{Args: SendInvoice{Number: 2}, Options: []kiln.InsertOption{kiln.Priority(10)}},
		kiln.Spec{Args: SendInvoice{Number: 3}, Options: []kiln.InsertOption{kiln.Priority(-10)}},
	)
	if err != nil {
		log.Fatal(err)
	}
	page, err := client.List(ctx, kiln.JobQuery{State: kiln.Enqueued})
	if err != nil {
		log.Fatal(err)
	}
	for _, job := range page.Records {
		fmt.Println(job.Priority, string(job.Args))
	}
	// Output:
	// 10 {"Number":2}
	// 0 {"Number":1}
	// -10 {"Number":3}
}

func ExampleDelay() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	id, err := client.Enqueue(ctx, SendInvoice{Number: 7}, kiln.Delay(10*time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, "for", job.RunAt.Sub(job.CreatedAt))
	// Output: scheduled for 10m0s
}

func ExampleAt() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	newYear := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	id, err := client.Enqueue(ctx, SendInvoice{Number: 7}, kiln.At(newYear))
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, "for", job.RunAt.Format(time.RFC822))
	// Output: scheduled for 01 Jan 00 00:00 UTC
}

func ExampleMaxAttempts() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SendInvoice]) error {
		fmt.Println("attempt", j.Attempt, "of", j.MaxAttempts)
		if j.Attempt == j.MaxAttempts {
			stop()
		}
		return errors.New("mail server is down")
	}, kiln.Constant(time.Millisecond))
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	id, err := client.Enqueue(ctx, SendInvoice{Number: 7}, kiln.MaxAttempts(3))
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State)
	// Output:
	// attempt 1 of 3
	// attempt 2 of 3
	// attempt 3 of 3
	// failed
}

func ExampleTimeout() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SendInvoice]) error {
		defer stop()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	id, err := client.Enqueue(ctx, SendInvoice{Number: 7}, kiln.Timeout(10*time.Millisecond), kiln.MaxAttempts(1))
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, "with", job.History[0].Error)
	// Output: failed with kiln: job timed out
}

func ExampleTags() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	_, err := client.EnqueueMany(ctx,
		kiln.Spec{Args: SendInvoice{Number: 1}, Options: []kiln.InsertOption{kiln.Tags{"yearly"}}},
		kiln.Spec{Args: SendInvoice{Number: 2}, Options: []kiln.InsertOption{kiln.Tags{"monthly", "reminder"}}},
	)
	if err != nil {
		log.Fatal(err)
	}
	page, err := client.List(ctx, kiln.JobQuery{State: kiln.Enqueued, Tag: "reminder"})
	if err != nil {
		log.Fatal(err)
	}
	for _, job := range page.Records {
		fmt.Println(string(job.Args), job.Tags)
	}
	// Output: {"Number":2} [monthly reminder]
}

func ExampleTitle() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	id, err := client.Enqueue(ctx, SendInvoice{Number: 7}, kiln.Title("Invoice 7 for Ann"))
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Title)
	// Output: Invoice 7 for Ann
}

func ExampleMeta() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	id, err := client.Enqueue(ctx, SendInvoice{Number: 7}, kiln.Meta{"tenant": "acme", "region": "eu"})
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Meta["tenant"], job.Meta["region"])
	// Output: acme eu
}

func ExampleDeadline() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SendInvoice]) error {
		defer stop()
		fmt.Println("sending invoice", j.Args.Number)
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{Queues: map[string]int{"default": 1}})
	if err != nil {
		log.Fatal(err)
	}

	yesterday := time.Now().AddDate(0, 0, -1)
	late, err := client.Enqueue(ctx, SendInvoice{Number: 7}, kiln.Deadline(yesterday))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Enqueue(ctx, SendInvoice{Number: 8}); err != nil {
		log.Fatal(err)
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(context.Background(), late)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("invoice 7 is", job.State)
	// Output:
	// sending invoice 8
	// invoice 7 is deleted
}

// Of several enqueues with one key only the first makes a job, until that job has ended.
func ExampleUnique() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	results, err := client.EnqueueMany(ctx,
		kiln.Spec{Args: SendInvoice{Number: 7}, Options: []kiln.InsertOption{kiln.Unique{Key: "7"}}},
		kiln.Spec{Args: SendInvoice{Number: 8}, Options: []kiln.InsertOption{kiln.Unique{Key: "8"}}},
		kiln.Spec{Args: SendInvoice{Number: 7}, Options: []kiln.InsertOption{kiln.Unique{Key: "7"}}},
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, result := range results {
		fmt.Println(result.ID, result.Duplicate)
	}
	// Output:
	// 1 false
	// 2 false
	// 1 true
}

// Two jobs of the key run at once, the third waits for one of them.
func ExampleLimit() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	for number := range 3 {
		if _, err := client.Enqueue(ctx, SendInvoice{Number: number}, kiln.Limit{Key: "mail", Max: 2}); err != nil {
			log.Fatal(err)
		}
	}
	page, err := client.List(ctx, kiln.JobQuery{State: kiln.Throttled})
	if err != nil {
		log.Fatal(err)
	}
	for _, job := range page.Records {
		fmt.Println(job.ID, job.State, job.LimitKey)
	}
	// Output: 3 throttled mail
}
