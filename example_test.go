package kiln_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

type SendEmail struct {
	To string
}

func (SendEmail) Kind() string { return "send_email" }

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[SendEmail]) error {
		fmt.Printf("sending email to %s (attempt %d)\n", j.Args.To, j.Attempt)
		stop()
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	id, err := client.Enqueue(ctx, SendEmail{To: "ann@example.com"})
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
	// sending email to ann@example.com (attempt 1)
	// succeeded
}
