package kiln_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

type BookInvoice struct {
	Number int
}

func (BookInvoice) Kind() string { return "book_invoice" }

// A job that waits for the success of another is deleted with it.
func ExampleAfter() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	charge, err := client.Enqueue(ctx, BookInvoice{Number: 7})
	if err != nil {
		log.Fatal(err)
	}
	next, err := client.Enqueue(ctx, BookInvoice{Number: 8}, kiln.After{charge})
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, next)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, job.Parents)
	if _, err := client.Delete(ctx, charge); err != nil {
		log.Fatal(err)
	}
	if job, err = client.Get(ctx, next); err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State)
	// Output:
	// awaiting [1]
	// deleted
}

// A job that waits for any end of another.
func ExampleAfterFinished() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	charge, err := client.Enqueue(ctx, BookInvoice{Number: 7})
	if err != nil {
		log.Fatal(err)
	}
	next, err := client.Enqueue(ctx, BookInvoice{Number: 8}, kiln.AfterFinished{charge})
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, next)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, job.Parents)
	if _, err := client.Delete(ctx, charge); err != nil {
		log.Fatal(err)
	}
	if job, err = client.Get(ctx, next); err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State)
	// Output:
	// awaiting [1]
	// enqueued
}

// A job for the case that another fails is not needed when that is deleted.
func ExampleAfterFailed() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	charge, err := client.Enqueue(ctx, BookInvoice{Number: 7})
	if err != nil {
		log.Fatal(err)
	}
	next, err := client.Enqueue(ctx, BookInvoice{Number: 8}, kiln.AfterFailed{charge})
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, next)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, job.Parents)
	if _, err := client.Delete(ctx, charge); err != nil {
		log.Fatal(err)
	}
	if job, err = client.Get(ctx, next); err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State)
	// Output:
	// awaiting [1]
	// deleted
}

// A job for the case that another is deleted.
func ExampleAfterDeleted() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	charge, err := client.Enqueue(ctx, BookInvoice{Number: 7})
	if err != nil {
		log.Fatal(err)
	}
	next, err := client.Enqueue(ctx, BookInvoice{Number: 8}, kiln.AfterDeleted{charge})
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, next)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, job.Parents)
	if _, err := client.Delete(ctx, charge); err != nil {
		log.Fatal(err)
	}
	if job, err = client.Get(ctx, next); err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State)
	// Output:
	// awaiting [1]
	// enqueued
}

func ExampleNeeds() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	var flow kiln.Flow
	first := flow.Add(BookInvoice{Number: 1})
	second := flow.Add(BookInvoice{Number: 2})
	flow.Add(BookInvoice{Number: 3}, kiln.Needs{first, second})
	jobs, err := client.EnqueueMany(ctx, flow...)
	if err != nil {
		log.Fatal(err)
	}
	for _, job := range jobs {
		fmt.Println(job.ID, job.State)
	}
	// Output:
	// 1 enqueued
	// 2 enqueued
	// 3 awaiting
}

func ExampleAfterBatch() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	batch, err := client.OpenBatch(ctx, &kiln.Batch{Description: "invoices of May"})
	if err != nil {
		log.Fatal(err)
	}
	report, err := client.Enqueue(ctx, BookInvoice{Number: 8}, kiln.AfterBatch(batch))
	if err != nil {
		log.Fatal(err)
	}
	for _, seal := range []bool{false, true} {
		if seal {
			if err := client.SealBatch(ctx, batch); err != nil {
				log.Fatal(err)
			}
		}
		job, err := client.Get(ctx, report)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(job.State)
	}
	// Output:
	// awaiting
	// enqueued
}

func ExampleInBatch() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	batch, err := client.OpenBatch(ctx, &kiln.Batch{Description: "invoices of May"})
	if err != nil {
		log.Fatal(err)
	}
	for n := range 3 {
		if _, err := client.Enqueue(ctx, BookInvoice{Number: n}, kiln.InBatch(batch)); err != nil {
			log.Fatal(err)
		}
	}
	b, err := client.Store().Batch(ctx, batch)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Total, b.Sealed)
	// Output: 3 false
}

func ExampleClient_StartBatch() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	b := &kiln.Batch{Description: "invoices of May"}
	for n := range 3 {
		b.Add(BookInvoice{Number: n})
	}
	b.Then(BookInvoice{Number: 100})
	id, err := client.StartBatch(ctx, b)
	if err != nil {
		log.Fatal(err)
	}
	got, err := client.Store().Batch(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Description, got.Total, got.Counts)
	// Output: invoices of May 3 map[enqueued:3]
}
