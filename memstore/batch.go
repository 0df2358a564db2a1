package memstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// OpenBatch implements driver.Writer. This store has no batches yet.
func (s *Store) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	if err := driver.CheckBatch(b); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("memstore: OpenBatch: %w", errors.ErrUnsupported)
}

// SealBatch implements driver.Writer.
func (s *Store) SealBatch(ctx context.Context, id int64) error {
	return fmt.Errorf("memstore: SealBatch: %w", errors.ErrUnsupported)
}

// Batch implements driver.Inspector.
func (s *Store) Batch(ctx context.Context, id int64) (driver.Batch, error) {
	return driver.Batch{}, fmt.Errorf("%w: batch %d", driver.ErrNotFound, id)
}

// Batches implements driver.Inspector.
func (s *Store) Batches(ctx context.Context, q driver.BatchQuery) (driver.BatchPage, error) {
	_, _, err := storekit.ParseCursor(q.Cursor)
	return driver.BatchPage{}, err
}
