package pgstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Job implements driver.Inspector.
func (s *Store) Job(ctx context.Context, id int64) (driver.Record, error) {
	var rec driver.Record
	found := false
	err := s.snapshot(ctx, func(r *reader) error {
		err := r.each("job_record", []any{id}, func(rows rows) error {
			found = true
			return scanRecord(rows, &rec, &rec.State)
		})
		if err != nil || !found {
			return err
		}
		return r.complete(&rec)
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: job %d", driver.ErrNotFound, id)
	}
	if err != nil {
		return driver.Record{}, err
	}
	return rec, nil
}

// scanRecord reads the columns that job_record and the pages have in common, and then the extra ones.
func scanRecord(rows rows, rec *driver.Record, extra ...any) error {
	var timeout, created, runAt, attempted, finished int64
	var tags, meta []byte
	err := rows.Scan(append([]any{
		&rec.ID, &rec.Queue, &rec.Kind, &rec.Priority, &rec.MaxAttempts, &timeout, &created, &rec.BatchID, &rec.AfterBatch,
		&rec.LimitKey, &rec.RecurringID, &rec.Parents, &rec.Title, &tags, &meta, &rec.Args, &rec.Progress,
		&rec.Claim, &rec.Attempt, &runAt, &attempted, &rec.Server, &finished, &rec.CancelRequested, &rec.PendingDeps,
	}, extra...)...)
	if err != nil {
		return err
	}
	rec.Timeout = storekit.MillisTimeout(timeout)
	rec.CreatedAt, rec.RunAt = storekit.Instant(created), storekit.Instant(runAt)
	rec.AttemptedAt, rec.FinalizedAt = storekit.Instant(attempted), storekit.Instant(finished)
	rec.Tags, rec.Meta = storekit.DecodeTags(tags), storekit.DecodeMeta(meta)
	return nil
}

// complete reads what only the page of one job shows.
func (r *reader) complete(rec *driver.Record) error {
	err := r.each("job_history", []any{rec.ID}, func(rows rows) error {
		var e driver.Entry
		var at int64
		err := rows.Scan(&at, &e.State, &e.Attempt, &e.Reason, &e.Error, &e.Trace, &e.Server, &e.Actor)
		e.At = storekit.Instant(at)
		rec.History = append(rec.History, e)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := r.one("job_output", []any{rec.ID}, &rec.Output); err != nil {
		return err
	}
	rec.Children, err = r.list("job_children", rec.ID)
	return err
}

// Outputs implements driver.OutputReader.
func (s *Store) Outputs(ctx context.Context, ids []int64) (map[int64][]byte, error) {
	outputs := map[int64][]byte{}
	err := s.read(ctx, func(r *reader) error {
		return r.each("outputs", []any{ids, int16(doneSucceeded)}, func(rows rows) error {
			var id int64
			var output []byte
			err := rows.Scan(&id, &output)
			outputs[id] = output
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return outputs, nil
}

// Counts implements driver.Inspector.
func (s *Store) Counts(ctx context.Context) (driver.Counts, error) {
	var c driver.Counts
	err := s.read(ctx, func(r *reader) error {
		_, err := r.one("counts", []any{int64(storekit.CountCap)}, &c.Awaiting, &c.Scheduled, &c.Throttled, &c.Enqueued,
			&c.Processing, &c.Failed, &c.Retries, &c.Succeeded, &c.Deleted)
		return err
	})
	if err != nil {
		return driver.Counts{}, err
	}
	c.Capped = slices.Max([]int64{c.Awaiting, c.Scheduled, c.Throttled, c.Enqueued, c.Processing, c.Failed}) >= storekit.CountCap
	return c, nil
}

// Series implements driver.Inspector.
func (s *Store) Series(ctx context.Context, from, to time.Time, step time.Duration) ([]driver.Point, error) {
	if err := storekit.CheckSeries(step); err != nil {
		return nil, err
	}
	first, end := storekit.SeriesRange(from, to, step)
	var points []driver.Point
	err := s.read(ctx, func(r *reader) error {
		return r.each("series", []any{first, end}, func(rows rows) error {
			var minute int64
			var p driver.Point
			if err := rows.Scan(&minute, &p.Succeeded, &p.Failed, &p.Deleted, &p.Retried); err != nil {
				return err
			}
			p.At = storekit.MinuteTime(storekit.Bucket(minute, step))
			if n := len(points); n > 0 && points[n-1].At.Equal(p.At) {
				last := &points[n-1]
				last.Succeeded += p.Succeeded
				last.Failed += p.Failed
				last.Deleted += p.Deleted
				last.Retried += p.Retried
				return nil
			}
			points = append(points, p)
			return nil
		})
	})
	return points, err
}
