package sqlitestore

import (
	"context"

	"github.com/kilnjobs/kiln/driver"
)

// Limits implements driver.LimitReader. Limits are not built yet.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	return nil, s.usable(ctx)
}

// slotFreed notes that a job with a limit key has left enqueued or processing.
func (w *work) slotFreed(l *located) error { return nil }

// keyTouched notes a limit key under which jobs came into throttled or a slot became free.
func (w *work) keyTouched(key string) {}

// admitTouched admits what has room now under the limit keys that the call touched.
func (w *work) admitTouched() error { return nil }
