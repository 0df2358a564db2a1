package sqlitestore

import (
	"context"

	"github.com/kilnjobs/kiln/driver"
)

// Limits implements driver.LimitReader. Limits are not built yet.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	return nil, s.usable(ctx)
}
