package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// readable is what the dashboard reads from.
type readable interface {
	driver.Store
	driver.Console
	driver.LimitReader
}

// teller is what it reads more from, where a store can tell.
type teller interface {
	driver.ProblemReader
	driver.Explainer
}

// countedStore counts the calls that read.
type countedStore struct {
	readable
	calls *atomic.Int64
}

// countedTeller is a countedStore that is a teller.
type countedTeller struct {
	countedStore
	tells teller
}

// countedHistorian is a countedTeller that knows more of histories.
type countedHistorian struct {
	countedTeller
	history driver.HistoryReader
}

// counted returns a store that counts into calls and has the optional interfaces that s has.
func counted(s driver.Store, calls *atomic.Int64) (driver.Store, error) {
	r, ok := s.(readable)
	if !ok {
		return nil, fmt.Errorf("%T has no console or no limits", s)
	}
	c := countedStore{r, calls}
	t, ok := s.(teller)
	if !ok {
		return c, nil
	}
	if h, ok := s.(driver.HistoryReader); ok {
		return countedHistorian{countedTeller{c, t}, h}, nil
	}
	return countedTeller{c, t}, nil
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

// Problems implements driver.ProblemReader.
func (c countedTeller) Problems(ctx context.Context, limit int) (driver.Problems, error) {
	c.calls.Add(1)
	return c.tells.Problems(ctx, limit)
}

// Explain implements driver.Explainer.
func (c countedTeller) Explain(ctx context.Context, id int64) (driver.Explanation, error) {
	c.calls.Add(1)
	return c.tells.Explain(ctx, id)
}

// Runs implements driver.HistoryReader.
func (c countedHistorian) Runs(ctx context.Context, id int64) ([]driver.Run, error) {
	c.calls.Add(1)
	return c.history.Runs(ctx, id)
}

// LastErrors implements driver.HistoryReader.
func (c countedHistorian) LastErrors(ctx context.Context, ids []int64) (map[int64]string, error) {
	c.calls.Add(1)
	return c.history.LastErrors(ctx, ids)
}
