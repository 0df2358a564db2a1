package memstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// WriteConsole implements driver.Console. This store has no consoles yet.
func (s *Store) WriteConsole(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
	return fmt.Errorf("memstore: WriteConsole: %w", errors.ErrUnsupported)
}

// Logs implements driver.Console.
func (s *Store) Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
	return nil, nil
}
