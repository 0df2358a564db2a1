package sqlitestore

import (
	"context"

	"github.com/kilnjobs/kiln/driver"
)

// WriteConsole implements driver.Console. Consoles are not built yet.
func (s *Store) WriteConsole(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
	return s.unbuilt(ctx, "consoles")
}

// Logs implements driver.Console.
func (s *Store) Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
	return nil, s.usable(ctx)
}
