package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Job implements driver.Inspector.
func (s *Store) Job(ctx context.Context, id int64) (driver.Record, error) {
	var rec driver.Record
	found := false
	err := s.snapshot(ctx, func(r *reader) error {
		rec, found = driver.Record{}, false
		err := r.each("job_record", []any{id}, func(rows *sql.Rows) error {
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
func scanRecord(rows *sql.Rows, rec *driver.Record, extra ...any) error {
	var timeout, created, runAt, attempted, finished int64
	var parents, tags, meta sql.RawBytes
	err := rows.Scan(append([]any{
		&rec.ID, &rec.Queue, &rec.Kind, &rec.Priority, &rec.MaxAttempts, &timeout, &created, &rec.BatchID, &rec.AfterBatch,
		&rec.LimitKey, &rec.RecurringID, &parents, &rec.Title, &tags, &meta, &rec.Args, &rec.Progress,
		&rec.Claim, &rec.Attempt, &runAt, &attempted, &rec.Server, &finished, &rec.CancelRequested, &rec.PendingDeps,
	}, extra...)...)
	if err != nil {
		return err
	}
	rec.Timeout = storekit.MillisTimeout(timeout)
	rec.CreatedAt, rec.RunAt = storekit.Instant(created), storekit.Instant(runAt)
	rec.AttemptedAt, rec.FinalizedAt = storekit.Instant(attempted), storekit.Instant(finished)
	rec.Parents, rec.Tags, rec.Meta = decodeIDs(parents), storekit.DecodeTags(tags), storekit.DecodeMeta(meta)
	return nil
}

// complete reads what only the page of one job shows.
func (r *reader) complete(rec *driver.Record) error {
	err := r.each("job_history", []any{rec.ID}, func(rows *sql.Rows) error {
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
	return r.each("job_children", []any{rec.ID}, func(rows *sql.Rows) error {
		var child int64
		err := rows.Scan(&child)
		rec.Children = append(rec.Children, child)
		return err
	})
}

// Outputs implements driver.OutputReader.
func (s *Store) Outputs(ctx context.Context, ids []int64) (map[int64][]byte, error) {
	outputs := map[int64][]byte{}
	err := s.read(ctx, func(r *reader) error {
		clear(outputs)
		return r.each("outputs", []any{encodeIDs(ids), int64(doneSucceeded)}, func(rows *sql.Rows) error {
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
		points = nil
		return r.each("series", []any{first, end}, func(rows *sql.Rows) error {
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

// Queues implements driver.Inspector. Latency is read from the first jobs of each kind and priority of a queue, some ten thousand in all.
func (s *Store) Queues(ctx context.Context) ([]driver.QueueInfo, error) {
	var infos []driver.QueueInfo
	err := s.snapshot(ctx, func(r *reader) error {
		infos = nil
		names, err := r.strings("queue_names")
		if err != nil || len(names) == 0 {
			return err
		}
		infos, err = r.queueCounts(names)
		if err != nil {
			return err
		}
		if err := r.processing(infos); err != nil {
			return err
		}
		return r.latency(infos)
	})
	return infos, err
}

func (r *reader) strings(name string, args ...any) (list []string, err error) {
	err = r.each(name, args, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		list = append(list, text)
		return err
	})
	slices.Sort(list)
	return list, err
}

func (r *reader) queueCounts(names []string) (infos []driver.QueueInfo, err error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	err = r.each("queue_counts", []any{string(list), int64(storekit.CountCap)}, func(rows *sql.Rows) error {
		var info driver.QueueInfo
		var pausedAt int64
		err := rows.Scan(&info.Name, &pausedAt, &info.Enqueued, &info.Scheduled, &info.Throttled)
		info.PausedAt = storekit.Instant(pausedAt)
		info.Paused = pausedAt != 0
		info.Capped = max(info.Enqueued, info.Scheduled, info.Throttled) >= storekit.CountCap
		infos = append(infos, info)
		return err
	})
	slices.SortFunc(infos, func(a, b driver.QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos, err
}

func (r *reader) processing(infos []driver.QueueInfo) error {
	return r.each("queue_processing", nil, func(rows *sql.Rows) error {
		var queue string
		var n int64
		err := rows.Scan(&queue, &n)
		if info := find(infos, queue); info != nil {
			info.Processing = min(n, storekit.CountCap)
			info.Capped = info.Capped || n >= storekit.CountCap
		}
		return err
	})
}

func (r *reader) latency(infos []driver.QueueInfo) error {
	return r.each("queue_oldest", nil, func(rows *sql.Rows) error {
		var queue string
		var oldest int64
		err := rows.Scan(&queue, &oldest)
		if info := find(infos, queue); info != nil {
			info.Latency = max(r.now.Sub(storekit.Instant(oldest)), 0)
		}
		return err
	})
}

func find(infos []driver.QueueInfo, name string) *driver.QueueInfo {
	i, ok := slices.BinarySearchFunc(infos, name, func(info driver.QueueInfo, name string) int {
		return strings.Compare(info.Name, name)
	})
	if !ok {
		return nil
	}
	return &infos[i]
}
