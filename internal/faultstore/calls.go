package faultstore

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Claim implements driver.Worker.
func (s *Store) Claim(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
	return through(ctx, s, "Claim", func() ([]driver.Job, error) { return s.inner.Claim(ctx, q) })
}

// Finish implements driver.Worker.
func (s *Store) Finish(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
	return through(ctx, s, "Finish", func() ([]driver.Result, error) { return s.inner.Finish(ctx, server, outs) })
}

// Heartbeat implements driver.Worker.
func (s *Store) Heartbeat(ctx context.Context, info driver.ServerInfo) (driver.Directives, error) {
	return through(ctx, s, "Heartbeat", func() (driver.Directives, error) { return s.inner.Heartbeat(ctx, info) })
}

// Unregister implements driver.Worker.
func (s *Store) Unregister(ctx context.Context, server string) error {
	return do(ctx, s, "Unregister", func() error { return s.inner.Unregister(ctx, server) })
}

// SetMeta implements driver.Worker.
func (s *Store) SetMeta(ctx context.Context, ref driver.Ref, meta map[string]string) error {
	return do(ctx, s, "SetMeta", func() error { return s.inner.SetMeta(ctx, ref, meta) })
}

// Lead implements driver.Coordinator.
func (s *Store) Lead(ctx context.Context, name, holder string, ttl time.Duration) (time.Duration, bool, error) {
	type lead struct {
		held time.Duration
		ok   bool
	}
	l, err := through(ctx, s, "Lead", func() (lead, error) {
		held, ok, err := s.inner.Lead(ctx, name, holder, ttl)
		return lead{held, ok}, err
	})
	return l.held, l.ok, err
}

// Resign implements driver.Coordinator.
func (s *Store) Resign(ctx context.Context, name, holder string) error {
	return do(ctx, s, "Resign", func() error { return s.inner.Resign(ctx, name, holder) })
}

// Promote implements driver.Coordinator.
func (s *Store) Promote(ctx context.Context, limit int) (driver.Promoted, error) {
	return through(ctx, s, "Promote", func() (driver.Promoted, error) { return s.inner.Promote(ctx, limit) })
}

// Orphans implements driver.Coordinator.
func (s *Store) Orphans(ctx context.Context, deadAfter time.Duration, limit int) ([]driver.Orphan, error) {
	return through(ctx, s, "Orphans", func() ([]driver.Orphan, error) { return s.inner.Orphans(ctx, deadAfter, limit) })
}

// Sweep implements driver.Coordinator.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	return through(ctx, s, "Sweep", func() (int, error) { return s.inner.Sweep(ctx, limit) })
}

// Prune implements driver.Coordinator.
func (s *Store) Prune(ctx context.Context, p driver.PruneParams) (int, error) {
	return through(ctx, s, "Prune", func() (int, error) { return s.inner.Prune(ctx, p) })
}

// Due implements driver.Coordinator.
func (s *Store) Due(ctx context.Context, limit int) ([]driver.Recurring, time.Time, error) {
	type due struct {
		jobs []driver.Recurring
		now  time.Time
	}
	d, err := through(ctx, s, "Due", func() (due, error) {
		jobs, now, err := s.inner.Due(ctx, limit)
		return due{jobs, now}, err
	})
	return d.jobs, d.now, err
}

// Fire implements driver.Coordinator.
func (s *Store) Fire(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
	return through(ctx, s, "Fire", func() ([]driver.Inserted, error) { return s.inner.Fire(ctx, f) })
}

// Delete implements driver.Admin.
func (s *Store) Delete(ctx context.Context, f driver.Filter) (int, error) {
	return through(ctx, s, "Delete", func() (int, error) { return s.inner.Delete(ctx, f) })
}

// Requeue implements driver.Admin.
func (s *Store) Requeue(ctx context.Context, f driver.Filter) (int, error) {
	return through(ctx, s, "Requeue", func() (int, error) { return s.inner.Requeue(ctx, f) })
}

// PauseQueue implements driver.Admin.
func (s *Store) PauseQueue(ctx context.Context, queue string, paused bool) error {
	return do(ctx, s, "PauseQueue", func() error { return s.inner.PauseQueue(ctx, queue, paused) })
}

// Recurring implements driver.Admin.
func (s *Store) Recurring(ctx context.Context, id string) (driver.Recurring, error) {
	return through(ctx, s, "Recurring", func() (driver.Recurring, error) { return s.inner.Recurring(ctx, id) })
}

// PutRecurring implements driver.Admin.
func (s *Store) PutRecurring(ctx context.Context, r driver.Recurring) error {
	return do(ctx, s, "PutRecurring", func() error { return s.inner.PutRecurring(ctx, r) })
}

// RemoveRecurring implements driver.Admin.
func (s *Store) RemoveRecurring(ctx context.Context, id string) error {
	return do(ctx, s, "RemoveRecurring", func() error { return s.inner.RemoveRecurring(ctx, id) })
}

// Job implements driver.Inspector.
func (s *Store) Job(ctx context.Context, id int64) (driver.Record, error) {
	return through(ctx, s, "Job", func() (driver.Record, error) { return s.inner.Job(ctx, id) })
}

// Jobs implements driver.Inspector.
func (s *Store) Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
	return through(ctx, s, "Jobs", func() (driver.Page, error) { return s.inner.Jobs(ctx, q) })
}

// Counts implements driver.Inspector.
func (s *Store) Counts(ctx context.Context) (driver.Counts, error) {
	return through(ctx, s, "Counts", func() (driver.Counts, error) { return s.inner.Counts(ctx) })
}

// Series implements driver.Inspector.
func (s *Store) Series(ctx context.Context, from, to time.Time, step time.Duration) ([]driver.Point, error) {
	return through(ctx, s, "Series", func() ([]driver.Point, error) { return s.inner.Series(ctx, from, to, step) })
}

// Servers implements driver.Inspector.
func (s *Store) Servers(ctx context.Context) ([]driver.ServerInfo, error) {
	return through(ctx, s, "Servers", func() ([]driver.ServerInfo, error) { return s.inner.Servers(ctx) })
}

// Queues implements driver.Inspector.
func (s *Store) Queues(ctx context.Context) ([]driver.QueueInfo, error) {
	return through(ctx, s, "Queues", func() ([]driver.QueueInfo, error) { return s.inner.Queues(ctx) })
}

// Recurrings implements driver.Inspector.
func (s *Store) Recurrings(ctx context.Context) ([]driver.Recurring, error) {
	return through(ctx, s, "Recurrings", func() ([]driver.Recurring, error) { return s.inner.Recurrings(ctx) })
}

// Batch implements driver.Inspector.
func (s *Store) Batch(ctx context.Context, id int64) (driver.Batch, error) {
	return through(ctx, s, "Batch", func() (driver.Batch, error) { return s.inner.Batch(ctx, id) })
}

// Batches implements driver.Inspector.
func (s *Store) Batches(ctx context.Context, q driver.BatchQuery) (driver.BatchPage, error) {
	return through(ctx, s, "Batches", func() (driver.BatchPage, error) { return s.inner.Batches(ctx, q) })
}
