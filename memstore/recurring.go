package memstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Due implements driver.Coordinator. This store has no recurring jobs yet.
func (s *Store) Due(ctx context.Context, limit int) ([]driver.Recurring, time.Time, error) {
	return nil, time.Time{}, fmt.Errorf("memstore: Due: %w", errors.ErrUnsupported)
}

// Fire implements driver.Coordinator.
func (s *Store) Fire(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
	return nil, fmt.Errorf("memstore: Fire: %w", errors.ErrUnsupported)
}

// Recurring implements driver.Admin.
func (s *Store) Recurring(ctx context.Context, id string) (driver.Recurring, error) {
	return driver.Recurring{}, fmt.Errorf("%w: recurring job %.200q", driver.ErrNotFound, id)
}

// PutRecurring implements driver.Admin.
func (s *Store) PutRecurring(ctx context.Context, r driver.Recurring) error {
	return fmt.Errorf("memstore: PutRecurring: %w", errors.ErrUnsupported)
}

// RemoveRecurring implements driver.Admin.
func (s *Store) RemoveRecurring(ctx context.Context, id string) error {
	return fmt.Errorf("%w: recurring job %.200q", driver.ErrNotFound, id)
}

// Recurrings implements driver.Inspector.
func (s *Store) Recurrings(ctx context.Context) ([]driver.Recurring, error) { return nil, nil }
