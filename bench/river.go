package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// River on SQLite at its defaults, and with the shortest waits that it takes.
var (
	riverSQLite = system{"river-sqlite", true, func(ctx context.Context, dir string) (instance, error) {
		return openRiver(ctx, dir, 0, 0)
	}}
	riverSQLiteTuned = system{"river-sqlite-tuned", true, func(ctx context.Context, dir string) (instance, error) {
		return openRiver(ctx, dir, time.Millisecond, 10*time.Millisecond)
	}}
)

// mostPerCall is the most jobs that River inserts into SQLite in one call.
const mostPerCall = 2000

type riverInstance struct {
	db             *sql.DB
	client         *river.Client[*sql.Tx]
	cooldown, poll time.Duration
}

func openRiver(ctx context.Context, dir string, cooldown, poll time.Duration) (instance, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqliteFile)+
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate&_pragma=synchronous("+synchronous+")")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	migrator, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riversqlite.New(db), &river.Config{Logger: silent()})
	return &riverInstance{db: db, client: client, cooldown: cooldown, poll: poll}, err
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func (r *riverInstance) insert(ctx context.Context, first int64, n int) error {
	if n == 1 {
		_, err := r.client.Insert(ctx, newPayload(first), nil)
		return err
	}
	for n > 0 {
		part := min(n, mostPerCall)
		jobs := make([]river.InsertManyParams, part)
		for i := range jobs {
			jobs[i].Args = newPayload(first + int64(i))
		}
		if _, err := r.client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
		n -= part
		first += int64(part)
	}
	return nil
}

type riverWorker struct {
	river.WorkerDefaults[payload]
	handle func(int64)
}

// Work runs one job.
func (w *riverWorker) Work(_ context.Context, job *river.Job[payload]) error {
	w.handle(job.Args.N)
	return nil
}

func (r *riverInstance) work(ctx context.Context, workers int, handle func(int64)) (func() error, error) {
	registry := river.NewWorkers()
	river.AddWorker(registry, &riverWorker{handle: handle})
	client, err := river.NewClient(riversqlite.New(r.db), &river.Config{
		Logger: silent(), Workers: registry, FetchCooldown: r.cooldown, FetchPollInterval: r.poll,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("river: start: %w", err)
	}
	return func() error { return client.Stop(context.WithoutCancel(ctx)) }, nil
}

func (r *riverInstance) close() error { return r.db.Close() }
