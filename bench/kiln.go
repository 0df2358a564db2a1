package main

import (
	"context"
	"database/sql"
	"path/filepath"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

var kilnMemory = system{name: "kiln-memory", on: onMemory, kiln: true, thorough: true, open: func(context.Context, string) (instance, error) {
	s := memstore.New()
	return &kilnInstance{store: s, client: kiln.NewClient(s), shut: func() error { s.Close(); return nil }}, nil
}}

var kilnSQLite = system{name: "kiln-sqlite", on: onSQLite, kiln: true, shared: true, open: func(ctx context.Context, dir string) (instance, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqliteFile)+"?_pragma=busy_timeout(5000)&_pragma=synchronous("+synchronous+")")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	s, err := sqlitestore.New(ctx, db)
	if err != nil {
		return nil, err
	}
	return &kilnInstance{store: s, client: kiln.NewClient(s), shut: func() error { s.Close(); return db.Close() }}, nil
}}

type kilnInstance struct {
	store  driver.Store
	client *kiln.Client
	shut   func() error
}

func (k *kilnInstance) insert(ctx context.Context, first int64, n int) error {
	if n == 1 {
		_, err := k.client.Enqueue(ctx, newPayload(first))
		return err
	}
	specs := make([]kiln.Spec, n)
	for i := range specs {
		specs[i].Args = newPayload(first + int64(i))
	}
	_, err := k.client.EnqueueMany(ctx, specs...)
	return err
}

func (k *kilnInstance) work(ctx context.Context, workers int, handle func(int64)) (func() error, error) {
	mux := kiln.NewMux()
	kiln.Handle(mux, func(_ context.Context, j *kiln.Job[payload]) error {
		handle(j.Args.N)
		return nil
	})
	return k.serve(ctx, mux, kiln.ServerConfig{Queues: map[string]int{kiln.DefaultQueue: workers}})
}

// serve runs a server until stop is called.
func (k *kilnInstance) serve(ctx context.Context, mux *kiln.Mux, cfg kiln.ServerConfig) (stop func() error, err error) {
	server, err := kiln.NewServer(k.client, mux, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	return func() error { cancel(); return <-done }, nil
}

func (k *kilnInstance) idle(ctx context.Context) (bool, error) {
	c, err := k.store.Counts(ctx)
	return c.Enqueued+c.Processing+c.Scheduled+c.Throttled+c.Awaiting == 0, err
}

func (k *kilnInstance) close() error { return k.shut() }
