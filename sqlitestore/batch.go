package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// OpenBatch implements driver.Writer. Batches are not built yet.
func (s *Store) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	if err := driver.CheckBatch(b); err != nil {
		return 0, err
	}
	return 0, s.unbuilt(ctx, "batches")
}

// SealBatch implements driver.Writer.
func (s *Store) SealBatch(ctx context.Context, id int64) error { return s.unbuilt(ctx, "batches") }

// Batch implements driver.Inspector.
func (s *Store) Batch(ctx context.Context, id int64) (driver.Batch, error) {
	if err := s.usable(ctx); err != nil {
		return driver.Batch{}, err
	}
	return driver.Batch{}, fmt.Errorf("%w: batch %d", driver.ErrNotFound, id)
}

// Batches implements driver.Inspector.
func (s *Store) Batches(ctx context.Context, q driver.BatchQuery) (driver.BatchPage, error) {
	if _, _, err := storekit.ParseCursor(q.Cursor); err != nil {
		return driver.BatchPage{}, err
	}
	return driver.BatchPage{}, s.usable(ctx)
}

// unbuilt refuses a write that needs an ability the store does not have yet.
func (s *Store) unbuilt(ctx context.Context, what string) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return fmt.Errorf("sqlitestore: %s: %w", what, errors.ErrUnsupported)
}
