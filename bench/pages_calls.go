package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// readable is everything that the dashboard reads from, what only some stores offer included.
type readable interface {
	driver.Store
	driver.Console
	driver.LimitReader
	driver.ProblemReader
	driver.Explainer
	driver.HistoryReader
	driver.StateReader
}

// countedStore counts the calls that read. An interface that it lacked would be one that the dashboard does without.
type countedStore struct {
	readable
	calls *atomic.Int64
}

func (c countedStore) Job(ctx context.Context, id int64) (driver.Record, error) {
	c.calls.Add(1)
	return c.readable.Job(ctx, id)
}

func (c countedStore) Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
	c.calls.Add(1)
	return c.readable.Jobs(ctx, q)
}

func (c countedStore) Counts(ctx context.Context) (driver.Counts, error) {
	c.calls.Add(1)
	return c.readable.Counts(ctx)
}

func (c countedStore) Series(ctx context.Context, from, to time.Time, step time.Duration) ([]driver.Point, error) {
	c.calls.Add(1)
	return c.readable.Series(ctx, from, to, step)
}

func (c countedStore) Servers(ctx context.Context) ([]driver.ServerInfo, error) {
	c.calls.Add(1)
	return c.readable.Servers(ctx)
}

func (c countedStore) Queues(ctx context.Context) ([]driver.QueueInfo, error) {
	c.calls.Add(1)
	return c.readable.Queues(ctx)
}

func (c countedStore) Recurrings(ctx context.Context) ([]driver.Recurring, error) {
	c.calls.Add(1)
	return c.readable.Recurrings(ctx)
}

func (c countedStore) Recurring(ctx context.Context, id string) (driver.Recurring, error) {
	c.calls.Add(1)
	return c.readable.Recurring(ctx, id)
}

func (c countedStore) Batch(ctx context.Context, id int64) (driver.Batch, error) {
	c.calls.Add(1)
	return c.readable.Batch(ctx, id)
}

func (c countedStore) Batches(ctx context.Context, q driver.BatchQuery) (driver.BatchPage, error) {
	c.calls.Add(1)
	return c.readable.Batches(ctx, q)
}

func (c countedStore) Now(ctx context.Context) (time.Time, error) {
	c.calls.Add(1)
	return c.readable.Now(ctx)
}

func (c countedStore) Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
	c.calls.Add(1)
	return c.readable.Logs(ctx, id, after, limit)
}

func (c countedStore) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	c.calls.Add(1)
	return c.readable.Limits(ctx, after, limit)
}

func (c countedStore) Problems(ctx context.Context, limit int) (driver.Problems, error) {
	c.calls.Add(1)
	return c.readable.Problems(ctx, limit)
}

func (c countedStore) Explain(ctx context.Context, id int64) (driver.Explanation, error) {
	c.calls.Add(1)
	return c.readable.Explain(ctx, id)
}

func (c countedStore) Runs(ctx context.Context, id int64) ([]driver.Run, error) {
	c.calls.Add(1)
	return c.readable.Runs(ctx, id)
}

func (c countedStore) LastErrors(ctx context.Context, ids []int64) (map[int64]string, error) {
	c.calls.Add(1)
	return c.readable.LastErrors(ctx, ids)
}

func (c countedStore) States(ctx context.Context, ids []int64) (map[int64]driver.State, error) {
	c.calls.Add(1)
	return c.readable.States(ctx, ids)
}
