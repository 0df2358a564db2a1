package memstore

import (
	"context"

	"github.com/kilnjobs/kiln/driver"
)

// Limits implements driver.LimitReader. This store has no limits yet.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	return nil, nil
}
