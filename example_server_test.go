package kiln_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

type ImportFile struct {
	Name string
}

func (ImportFile) Kind() string { return "import_file" }

func importFile(ctx context.Context, j *kiln.Job[ImportFile]) error { return nil }

func ExampleServer_Stats() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ImportFile]) error {
		if j.Args.Name == "last.csv" {
			stop()
		}
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{Queues: map[string]int{"default": 1}})
	if err != nil {
		log.Fatal(err)
	}

	for _, name := range []string{"first.csv", "last.csv"} {
		if _, err := client.Enqueue(ctx, ImportFile{Name: name}); err != nil {
			log.Fatal(err)
		}
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	stats := server.Stats()
	fmt.Println(stats.Succeeded, "succeeded,", stats.Failed, "failed")
	// Output: 2 succeeded, 0 failed
}

func ExampleServer_Healthy() {
	ctx, stop := context.WithCancel(context.Background())
	client := kiln.NewClient(memstore.New())

	var server *kiln.Server
	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[ImportFile]) error {
		defer stop()
		fmt.Println("while it runs:", server.Healthy())
		return nil
	})
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		log.Fatal(err)
	}

	if _, err := client.Enqueue(ctx, ImportFile{Name: "a.csv"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("before:", server.Healthy())
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// before: kiln: server is not running
	// while it runs: <nil>
}

func ExampleServerConfig() {
	client := kiln.NewClient(memstore.New())
	mux := kiln.NewMux()
	kiln.Handle(mux, importFile)

	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{
		Queues:          map[string]int{"emails": 4, "reports": 1},
		Timeout:         kiln.Timeout(10 * time.Minute),
		ShutdownTimeout: 15 * time.Minute,
		Retention:       kiln.Retention{Succeeded: 7 * 24 * time.Hour, Failed: kiln.Forever},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(server.Stats().Capacity, "workers")
	// Output: 5 workers
}

func ExamplePool() {
	client := kiln.NewClient(memstore.New())
	mux := kiln.NewMux()
	kiln.Handle(mux, importFile)

	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{Pools: []kiln.Pool{
		{
			Queues:  []string{"critical", "default", "low"},
			Workers: 20,
			Weights: map[string]int{"critical": 6, "default": 3, "low": 1},
		},
		{
			Queues:  []string{"reports"},
			Workers: 2,
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(server.Stats().Capacity, "workers")
	// Output: 22 workers
}
