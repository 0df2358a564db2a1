package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

type ResizeImage struct {
	File string
}

func (ResizeImage) Kind() string { return "resize_image" }

func ExampleClient_Enqueue() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	id, err := client.Enqueue(ctx, ResizeImage{File: "cat.png"}, kiln.Queue("images"), kiln.MaxAttempts(5))
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Kind, string(job.Args), job.State)
	// Output: resize_image {"File":"cat.png"} enqueued
}

func ExampleClient_EnqueueMany() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	jobs, err := client.EnqueueMany(ctx,
		kiln.Spec{Args: ResizeImage{File: "cat.png"}},
		kiln.Spec{Args: ResizeImage{File: "dog.png"}, Options: []kiln.InsertOption{kiln.Delay(time.Hour)}},
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, job := range jobs {
		fmt.Println(job.State)
	}
	// Output:
	// enqueued
	// scheduled
}

func ExampleClient_EnqueueTx() {
	ctx := context.Background()
	store := memstore.New()
	client := kiln.NewClient(store)

	tx := store.Begin()
	id, err := client.EnqueueTx(ctx, tx, ResizeImage{File: "cat.png"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Get(ctx, id)
	fmt.Println("before the commit, not found:", errors.Is(err, kiln.ErrNotFound))

	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	if err := tx.Notify(ctx); err != nil {
		log.Print(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("after the commit:", job.State)
	// Output:
	// before the commit, not found: true
	// after the commit: enqueued
}

func ExampleClient_Delete() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	id, err := client.Enqueue(ctx, ResizeImage{File: "cat.png"})
	if err != nil {
		log.Fatal(err)
	}
	n, err := client.Delete(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, job.State)
	// Output: 1 deleted
}

func ExampleClient_Delete_running() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	started := make(chan int64)
	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ResizeImage]) error {
		defer stop()
		started <- j.ID
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
		return ctx.Err()
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	id, err := client.Enqueue(ctx, ResizeImage{File: "cat.png"})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if _, err := client.Delete(ctx, <-started); err != nil {
			log.Fatal(err)
		}
	}()
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State)
	// Output:
	// kiln: job canceled
	// deleted
}

func ExampleClient_Requeue() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	id, err := client.Enqueue(ctx, ResizeImage{File: "cat.png"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Delete(ctx, id); err != nil {
		log.Fatal(err)
	}
	n, err := client.Requeue(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, job.State)
	for _, entry := range job.History {
		fmt.Println(entry.Reason)
	}
	// Output:
	// 1 enqueued
	// deleted
	// requeued
}

func ExampleClient_RequeueWhere() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	_, err := client.EnqueueMany(ctx,
		kiln.Spec{Args: ResizeImage{File: "cat.png"}, Options: []kiln.InsertOption{kiln.Delay(time.Hour), kiln.Tags{"cats"}}},
		kiln.Spec{Args: ResizeImage{File: "dog.png"}, Options: []kiln.InsertOption{kiln.Delay(time.Hour), kiln.Tags{"dogs"}}},
	)
	if err != nil {
		log.Fatal(err)
	}
	n, err := client.RequeueWhere(ctx, kiln.Filter{State: kiln.Scheduled, Tag: "cats"})
	if err != nil {
		log.Fatal(err)
	}
	page, err := client.List(ctx, kiln.JobQuery{State: kiln.Enqueued})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, string(page.Records[0].Args))
	// Output: 1 {"File":"cat.png"}
}

func ExampleClient_PauseQueue() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	if err := client.PauseQueue(ctx, "images"); err != nil {
		log.Fatal(err)
	}
	queues, err := client.Store().Queues(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range queues {
		fmt.Println(q.Name, "is paused:", q.Paused)
	}
	if err := client.ResumeQueue(ctx, "images"); err != nil {
		log.Fatal(err)
	}
	// Output: images is paused: true
}

func ExampleClient_List() {
	ctx := context.Background()
	client := kiln.NewClient(memstore.New())

	for _, file := range []string{"cat.png", "dog.png", "owl.png"} {
		if _, err := client.Enqueue(ctx, ResizeImage{File: file}); err != nil {
			log.Fatal(err)
		}
	}
	query := kiln.JobQuery{State: kiln.Enqueued, Limit: 2}
	for {
		page, err := client.List(ctx, query)
		if err != nil {
			log.Fatal(err)
		}
		for _, job := range page.Records {
			fmt.Println(string(job.Args))
		}
		if page.Next == "" {
			break
		}
		fmt.Println("next page")
		query.Cursor = page.Next
	}
	// Output:
	// {"File":"cat.png"}
	// {"File":"dog.png"}
	// next page
	// {"File":"owl.png"}
}

func ExampleEnqueueMiddleware() {
	ctx := context.Background()
	tagTenant := func(next kiln.EnqueueFunc) kiln.EnqueueFunc {
		return func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]driver.Inserted, error) {
			for i := range jobs {
				jobs[i].Tags = append(jobs[i].Tags, "tenant:acme")
			}
			return next(ctx, w, jobs)
		}
	}
	client := kiln.NewClient(memstore.New(), tagTenant)

	id, err := client.Enqueue(ctx, ResizeImage{File: "cat.png"}, kiln.Tags{"cats"})
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Tags)
	// Output: [cats tenant:acme]
}
