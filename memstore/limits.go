package memstore

import (
	"context"

	"github.com/kilnjobs/kiln/driver"
)

// Limits implements driver.LimitReader. This store has no limits yet.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	return nil, nil
}

// slotFreed notes that a row with a limit key has left enqueued or processing.
func (c *change) slotFreed(r *row) {}

// keyTouched notes a limit key under which rows came into throttled or a slot became free.
func (c *change) keyTouched(key string) {}

// admitTouched admits what has room now under the limit keys that the call touched.
func (c *change) admitTouched() {}
