package pgstore

import (
	"context"
	"math"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// OpenBatch implements driver.Writer.
func (s *Store) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	draft, err := draftBatch(b)
	if err != nil {
		return 0, err
	}
	var id int64
	err = s.do(ctx, func(w *work) (err error) {
		id, err = w.openBatch(&draft)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// SealBatch implements driver.Writer.
func (s *Store) SealBatch(ctx context.Context, id int64) error {
	return s.do(ctx, func(w *work) error { return w.sealBatch(id) })
}

// batchDraft is a batch on its way into the database.
type batchDraft struct {
	parent            int64
	meta, description string
}

func draftBatch(b driver.NewBatch) (batchDraft, error) {
	if err := driver.CheckBatch(b); err != nil {
		return batchDraft{}, err
	}
	meta, err := storekit.EncodeMeta(b.Meta)
	return batchDraft{b.Parent, meta, b.Description}, err
}

func (w *work) openBatch(b *batchDraft) (id int64, err error) {
	if b.parent != 0 {
		finished, ok, err := w.batchFinished(b.parent)
		if err == nil {
			err = storekit.NestIn(b.parent, finished, ok)
		}
		if err != nil {
			return 0, err
		}
		w.flow.tallies.Of(b.parent).Nested++
	}
	_, err = w.one("batch_put", []any{b.parent, w.nowAt, b.meta, b.description}, &id)
	if w.foreign && err == nil {
		w.opened[id] = true
	}
	return id, err
}

func (w *work) batchFinished(id int64) (finished, ok bool, err error) {
	err = w.eachID("batch_join", []int64{id}, func(rows rows) error {
		var at int64
		err := rows.Scan(&id, &at)
		finished, ok = at != 0, true
		return err
	})
	return finished, ok, err
}

func (w *work) sealBatch(id int64) error {
	_, ok, err := w.batchFinished(id)
	switch {
	case err != nil:
		return err
	case !ok:
		return storekit.NoBatch(id)
	}
	w.flow.tallies.Of(id).Sealed = true
	return nil
}

// Batch implements driver.Inspector.
func (s *Store) Batch(ctx context.Context, id int64) (driver.Batch, error) {
	batches, err := s.readBatches(ctx, "batch_read", id)
	switch {
	case err != nil:
		return driver.Batch{}, err
	case len(batches) == 0:
		return driver.Batch{}, storekit.NoBatch(id)
	}
	return batches[0], nil
}

// Batches implements driver.Inspector. A page costs an index read of the batches and a look at the jobs that run, however many
// members there are.
func (s *Store) Batches(ctx context.Context, q driver.BatchQuery) (driver.BatchPage, error) {
	cursor, resumed, err := storekit.ParseCursor(q.Cursor)
	if err != nil {
		return driver.BatchPage{}, err
	}
	before, limit := int64(math.MaxInt64), storekit.PageLimit(q.Limit)
	if resumed {
		before = cursor.ID
	}
	name, args := "batch_list", []any{before, int64(limit) + 1}
	if q.Parent > 0 {
		name, args = "batch_list_nested", append([]any{q.Parent}, args...)
	}
	batches, err := s.readBatches(ctx, name, args...)
	if err != nil {
		return driver.BatchPage{}, err
	}
	page := driver.BatchPage{Batches: batches[:min(limit, len(batches))]}
	if len(batches) > limit {
		page.Next = storekit.Cursor{ID: batches[limit-1].ID}.String()
	}
	return page, nil
}

func (s *Store) readBatches(ctx context.Context, name string, args ...any) ([]driver.Batch, error) {
	var batches []driver.Batch
	err := s.snapshot(ctx, func(r *reader) error {
		batches = nil
		active := map[int64]int64{}
		err := r.each(name, args, func(rows rows) error {
			b, n, err := scanBatch(rows)
			batches = append(batches, b)
			active[b.ID] = n
			return err
		})
		if err != nil {
			return err
		}
		return r.running(batches, active)
	})
	return batches, err
}

// scanBatch reads a batch and how many of its members are enqueued or processing.
func scanBatch(rows rows) (b driver.Batch, active int64, err error) {
	var awaiting, scheduled, throttled, failed, succeeded, deleted, created, finished int64
	var meta string
	err = rows.Scan(&b.ID, &b.Parent, &b.Sealed, &b.Total, &awaiting, &scheduled, &throttled, &active, &failed, &succeeded, &deleted,
		&b.Nested, &b.NestedFinished, &created, &finished, &meta, &b.Description)
	b.Meta = storekit.DecodeMeta([]byte(meta))
	b.CreatedAt, b.FinishedAt = storekit.Instant(created), storekit.Instant(finished)
	b.Counts = map[driver.State]int64{}
	for state, n := range map[driver.State]int64{
		driver.Awaiting: awaiting, driver.Scheduled: scheduled, driver.Throttled: throttled, driver.Failed: failed,
		driver.Succeeded: succeeded, driver.Deleted: deleted,
	} {
		if n > 0 {
			b.Counts[state] = n
		}
	}
	return b, active, err
}

// running tells the processing members from the enqueued ones.
func (r *reader) running(batches []driver.Batch, active map[int64]int64) error {
	var ids []int64
	for id, n := range active {
		if n > 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	processing := map[int64]int64{}
	err := r.each("batch_running", []any{ids, int32(flagBatch)}, func(rows rows) error {
		var id, n int64
		err := rows.Scan(&id, &n)
		processing[id] = n
		return err
	})
	for i := range batches {
		b := &batches[i]
		if n := processing[b.ID]; n > 0 {
			b.Counts[driver.Processing] = n
		}
		if n := active[b.ID] - processing[b.ID]; n > 0 {
			b.Counts[driver.Enqueued] = n
		}
	}
	return err
}
