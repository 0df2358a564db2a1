// Command workflow imports the files of a shop, one batch per supplier, and reports when all of it is done.
package main

import (
	"context"
	"database/sql"
	"io"
	"log"
	"os"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

type Fetch struct{ File string }
type Import struct{ File string }
type Confirm struct{ Supplier string }
type Report struct{}

func (Fetch) Kind() string   { return "fetch" }
func (Import) Kind() string  { return "import" }
func (Confirm) Kind() string { return "confirm" }
func (Report) Kind() string  { return "report" }

func main() {
	if err := run(context.Background(), "jobs.db", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	logger := log.New(out, "", 0)
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqlitestore.New(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	client := kiln.NewClient(store)
	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[Fetch]) error { return j.SetOutput(len(j.Args.File)) })
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[Import]) error {
		outputs, err := j.ParentOutputs(ctx)
		logger.Printf("%s has %s rows", j.Args.File, outputs[j.Parents[0]])
		return err
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[Confirm]) error {
		logger.Printf("%s is done", j.Args.Supplier)
		return nil
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[Report]) error { logger.Print("all is done"); stop(); return nil })

	day := &kiln.Batch{Description: "files of today"}
	for supplier, files := range map[string][]string{"Bäcker": {"a.csv", "bread.csv"}, "Metzger": {"sausages.csv"}} {
		b := &kiln.Batch{Description: supplier}
		for _, file := range files {
			b.Add(Fetch{File: file})
			b.Add(Import{File: file}, kiln.Needs{b.Len() - 1}) // runs after its Fetch
		}
		b.Then(Confirm{Supplier: supplier})
		day.AddBatch(b)
	}
	day.Then(Report{}) // runs after every Confirm
	if _, err := client.StartBatch(ctx, day); err != nil {
		return err
	}
	server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
