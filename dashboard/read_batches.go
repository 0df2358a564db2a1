package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// nestedShown is how many of the batches nested in it are shown with a batch.
const nestedShown = 10

// readBatches reads a page of batches, newest first: those that are nested in the parent, or all for 0.
func (h *handler) readBatches(ctx context.Context, limit int, cursor string, parent int64) (batchesView, error) {
	query := driver.BatchQuery{Limit: limit, Cursor: cursor, Parent: parent}
	began := time.Now()
	var page driver.BatchPage
	for range pageCalls {
		var err error
		if page, err = h.store.Batches(ctx, query); err != nil {
			return batchesView{}, fmt.Errorf("list batches: %w", err)
		}
		if len(page.Batches) > 0 || page.Next == "" || time.Since(began) > pageTime {
			break
		}
		query.Cursor = page.Next
	}
	v := batchesView{Batches: make([]batchView, len(page.Batches)), Next: page.Next}
	for i := range page.Batches {
		v.Batches[i] = h.viewBatch(&page.Batches[i])
	}
	return v, nil
}

// readBatch reads one batch, with the newest of those that are nested in it.
func (h *handler) readBatch(ctx context.Context, id int64) (batchView, error) {
	b, err := h.store.Batch(ctx, id)
	if err != nil {
		return batchView{}, fmt.Errorf("read batch %d: %w", id, err)
	}
	v := h.viewBatch(&b)
	if b.Nested == 0 {
		return v, nil
	}
	nested, err := h.readBatches(ctx, nestedShown, "", id)
	if err != nil {
		return batchView{}, err
	}
	if len(nested.Batches) > 0 {
		v.NestedBatches = &nested
	}
	return v, nil
}

func (h *handler) viewBatch(b *driver.Batch) batchView {
	v := batchView{
		ID: b.ID, Parent: b.Parent, Description: b.Description, Meta: h.redactMeta("", b.Meta), Total: b.Total,
		Nested: b.Nested, NestedFinished: b.NestedFinished, Sealed: b.Sealed, Finished: !b.FinishedAt.IsZero(),
		Counts: b.Counts, CreatedAt: b.CreatedAt, FinishedAt: b.FinishedAt,
	}
	if v.Counts == nil {
		v.Counts = map[driver.State]int64{}
	}
	return v
}
