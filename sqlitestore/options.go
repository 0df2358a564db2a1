package sqlitestore

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// An Option changes how a store is opened. All calls on one installation need the same Prefix.
type Option func(*config)

type config struct {
	prefix    string
	noMigrate bool
	bus       driver.Bus
	clock     func() time.Time
	logger    *slog.Logger
}

// Prefix sets what the names of all tables and indexes begin with, "kiln_" by default: up to 32 of a-z, 0-9 and _, not
// beginning with a digit. It may be empty. Each prefix is an installation of its own.
func Prefix(p string) Option { return func(c *config) { c.prefix = p } }

// NoMigrate leaves the schema alone: New then fails, and says what is missing, unless Migrate was run before.
func NoMigrate() Option { return func(c *config) { c.noMigrate = true } }

// Bus adds events of other processes, of other machines too, to those that the store sees by itself, and publishes the
// store's own on it. Processes that share the file do not need one. Close does not close it.
func Bus(b driver.Bus) Option { return func(c *config) { c.bus = b } }

// Clock replaces the wall clock, for tests.
func Clock(now func() time.Time) Option { return func(c *config) { c.clock = now } }

// Logger gets what the store notices by itself: that the clock was set back by more than a second. Default: nobody.
func Logger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

func configure(opts []Option) (config, error) {
	c := config{prefix: "kiln_", clock: time.Now, logger: slog.New(slog.DiscardHandler)}
	for _, opt := range opts {
		opt(&c)
	}
	const most = 32
	switch {
	case len(c.prefix) > most:
		return c, fmt.Errorf("%w: Prefix %.60q has %d bytes, at most %d are allowed", driver.ErrInvalid, c.prefix, len(c.prefix), most)
	case strings.Trim(c.prefix, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return c, fmt.Errorf("%w: Prefix %q has characters other than a-z, 0-9 and _", driver.ErrInvalid, c.prefix)
	case c.prefix != "" && c.prefix[0] >= '0' && c.prefix[0] <= '9':
		return c, fmt.Errorf("%w: Prefix %q begins with a digit", driver.ErrInvalid, c.prefix)
	case c.clock == nil:
		return c, fmt.Errorf("%w: Clock is nil", driver.ErrInvalid)
	case c.logger == nil:
		return c, fmt.Errorf("%w: Logger is nil", driver.ErrInvalid)
	}
	return c, nil
}
