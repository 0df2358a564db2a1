package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Due implements driver.Coordinator. Recurring jobs are not built yet.
func (s *Store) Due(ctx context.Context, limit int) ([]driver.Recurring, time.Time, error) {
	return nil, time.Time{}, s.unbuilt(ctx, "recurring jobs")
}

// Fire implements driver.Coordinator.
func (s *Store) Fire(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
	return nil, s.unbuilt(ctx, "recurring jobs")
}

// Recurring implements driver.Admin.
func (s *Store) Recurring(ctx context.Context, id string) (driver.Recurring, error) {
	return driver.Recurring{}, s.noRecurring(ctx, id)
}

// PutRecurring implements driver.Admin.
func (s *Store) PutRecurring(ctx context.Context, r driver.Recurring) error {
	return s.unbuilt(ctx, "recurring jobs")
}

// RemoveRecurring implements driver.Admin.
func (s *Store) RemoveRecurring(ctx context.Context, id string) error { return s.noRecurring(ctx, id) }

// Recurrings implements driver.Inspector.
func (s *Store) Recurrings(ctx context.Context) ([]driver.Recurring, error) {
	return nil, s.usable(ctx)
}

func (s *Store) noRecurring(ctx context.Context, id string) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w: recurring job %q", driver.ErrNotFound, id)
}
