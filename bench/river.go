package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// River at its defaults, and with the shortest waits: on SQLite the shortest that it takes, on PostgreSQL those with which it was
// fastest.
var (
	riverSQLite        = system{name: "river-sqlite", on: onSQLite, shared: true, thorough: true, open: openRiverSQLite(0, 0)}
	riverSQLiteTuned   = system{name: "river-sqlite-tuned", on: onSQLite, shared: true, open: openRiverSQLite(time.Millisecond, 10*time.Millisecond)}
	riverPostgres      = system{name: "river-postgres", on: onPostgres, shared: true, thorough: true, open: openRiverPostgres(0, 0, false)}
	riverPostgresTuned = system{name: "river-postgres-tuned", on: onPostgres, shared: true, open: openRiverPostgres(time.Millisecond, 50*time.Millisecond, false)}
	// riverPostgresMany inserts by River's other call for many jobs, which can handle unique ones.
	riverPostgresMany = system{name: "river-postgres-insertmany", on: onPostgres, thorough: true, inserts: true, open: openRiverPostgres(0, 0, true)}
)

// sqliteMost is the most jobs that River inserts into SQLite in one call.
const sqliteMost = 2000

// postgresConns is how many connections River's pool may have.
const postgresConns = 16

// unfinishedJobs asks for jobs whose end River has not stored.
const unfinishedJobs = "select exists (select 1 from river_job where state in ('available', 'running', 'retryable', 'scheduled'))"

type riverInstance[TTx any] struct {
	driver         riverdriver.Driver[TTx]
	client         *river.Client[TTx]
	cooldown, poll time.Duration
	// most is the most jobs that one call inserts.
	most int
	// returning says that inserts of many give back the jobs.
	returning bool
	// unfinished says whether a job is left.
	unfinished func(ctx context.Context) (bool, error)
	shut       func() error
}

func openRiverSQLite(cooldown, poll time.Duration) func(context.Context, string) (instance, error) {
	return func(ctx context.Context, dir string) (instance, error) {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqliteFile)+
			"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate&_pragma=synchronous("+synchronous+")")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return openRiver(ctx, &riverInstance[*sql.Tx]{
			driver: riversqlite.New(db), cooldown: cooldown, poll: poll, most: sqliteMost, shut: db.Close,
			unfinished: func(ctx context.Context) (left bool, err error) {
				err = db.QueryRowContext(ctx, unfinishedJobs).Scan(&left)
				return left, err
			},
		})
	}
}

func openRiverPostgres(cooldown, poll time.Duration, returning bool) func(context.Context, string) (instance, error) {
	return func(ctx context.Context, url string) (instance, error) {
		cfg, err := pgxpool.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		cfg.MaxConns = postgresConns
		pool, err := pgxpool.NewWithConfig(ctx, cfg)
		if err != nil {
			return nil, err
		}
		return openRiver(ctx, &riverInstance[pgx.Tx]{
			driver: riverpgxv5.New(pool), cooldown: cooldown, poll: poll, most: 1 << 30, returning: returning, shut: func() error { pool.Close(); return nil },
			unfinished: func(ctx context.Context) (left bool, err error) {
				err = pool.QueryRow(ctx, unfinishedJobs).Scan(&left)
				return left, err
			},
		})
	}
}

func openRiver[TTx any](ctx context.Context, r *riverInstance[TTx]) (instance, error) {
	err := func() error {
		migrator, err := rivermigrate.New(r.driver, &rivermigrate.Config{Logger: silent()})
		if err != nil {
			return err
		}
		if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return err
		}
		r.client, err = river.NewClient(r.driver, &river.Config{Logger: silent()})
		return err
	}()
	if err != nil {
		return nil, errors.Join(err, r.shut())
	}
	return r, nil
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func (r *riverInstance[TTx]) insert(ctx context.Context, first int64, n int) error {
	if n == 1 {
		_, err := r.client.Insert(ctx, newPayload(first), nil)
		return err
	}
	for n > 0 {
		part := min(n, r.most)
		jobs := make([]river.InsertManyParams, part)
		for i := range jobs {
			jobs[i].Args = newPayload(first + int64(i))
		}
		var err error
		if r.returning {
			_, err = r.client.InsertMany(ctx, jobs)
		} else {
			_, err = r.client.InsertManyFast(ctx, jobs)
		}
		if err != nil {
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

func (r *riverInstance[TTx]) work(ctx context.Context, workers int, handle func(int64)) (func() error, error) {
	registry := river.NewWorkers()
	river.AddWorker(registry, &riverWorker{handle: handle})
	client, err := river.NewClient(r.driver, &river.Config{
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

func (r *riverInstance[TTx]) idle(ctx context.Context) (bool, error) {
	left, err := r.unfinished(ctx)
	return !left, err
}

func (r *riverInstance[TTx]) close() error { return r.shut() }
