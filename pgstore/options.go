package pgstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
)

// An Option changes how a store is opened. All calls on one installation need the same Schema.
type Option func(*config)

type config struct {
	schema    string
	maxConns  int32
	noMigrate bool
	// listen is nil for a listening connection like those of the pool; listenErr is why the address given for it does not parse.
	listen    *pgx.ConnConfig
	listenErr error
	execMode  pgx.QueryExecMode
	clock     func() time.Time
	clockSet  bool
}

// defaultMaxConns is such that a process has at most six connections, the listening one included.
const defaultMaxConns = 5

// Schema sets the schema of the store's tables, "kiln" by default: 1 to 48 of a-z, 0-9 and _, not beginning with a digit. Each
// schema is an installation of its own.
func Schema(name string) Option { return func(c *config) { c.schema = name } }

// MaxConns sets how many connections the store's pool may have, 5 by default and at least 1. The connection that listens comes
// on top.
func MaxConns(n int32) Option { return func(c *config) { c.maxConns = n } }

// NoMigrate leaves the schema alone: New then fails, and says what is missing, unless Migrate was run before.
func NoMigrate() Option { return func(c *config) { c.noMigrate = true } }

// ListenConn sets the address of the connection that listens for notifications, for pools that go through a pooler in
// transaction mode, which loses them. By default it is that of the pool.
func ListenConn(connString string) Option {
	return func(c *config) { c.listen, c.listenErr = pgx.ParseConfig(connString) }
}

// ExecMode sets how statements are sent. The default, pgx.QueryExecModeCacheStatement, prepares each once per connection; poolers
// in transaction mode without support for that need pgx.QueryExecModeExec.
func ExecMode(m pgx.QueryExecMode) Option { return func(c *config) { c.execMode = m } }

// Clock replaces the database's clock, for tests.
func Clock(now func() time.Time) Option {
	return func(c *config) { c.clock, c.clockSet = now, true }
}

func configure(opts []Option) (config, error) {
	c := config{schema: "kiln", maxConns: defaultMaxConns, execMode: pgx.QueryExecModeCacheStatement}
	for _, opt := range opts {
		opt(&c)
	}
	const most = 48
	switch {
	case c.schema == "":
		return c, fmt.Errorf("%w: Schema is empty", driver.ErrInvalid)
	case len(c.schema) > most:
		return c, fmt.Errorf("%w: Schema %.60q has %d bytes, at most %d are allowed", driver.ErrInvalid, c.schema, len(c.schema), most)
	case strings.Trim(c.schema, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return c, fmt.Errorf("%w: Schema %q has characters other than a-z, 0-9 and _", driver.ErrInvalid, c.schema)
	case c.schema[0] >= '0' && c.schema[0] <= '9':
		return c, fmt.Errorf("%w: Schema %q begins with a digit", driver.ErrInvalid, c.schema)
	case c.maxConns < 1:
		return c, fmt.Errorf("%w: MaxConns is %d, it must be at least 1", driver.ErrInvalid, c.maxConns)
	case c.execMode < pgx.QueryExecModeCacheStatement || c.execMode > pgx.QueryExecModeSimpleProtocol:
		return c, fmt.Errorf("%w: ExecMode is %d, which pgx does not know", driver.ErrInvalid, c.execMode)
	case c.listenErr != nil:
		return c, fmt.Errorf("%w: ListenConn does not parse: %w", driver.ErrInvalid, c.listenErr)
	case c.clockSet && c.clock == nil:
		return c, fmt.Errorf("%w: Clock is nil", driver.ErrInvalid)
	}
	return c, nil
}
