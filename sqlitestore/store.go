package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kilnjobs/kiln/driver"
)

// Store keeps jobs in a SQLite database. It is a driver.Store, and a driver.Notifier, Transactor, Console, ConsoleBatch, BlockFirer,
// LimitReader, OutputReader, ProblemReader, Explainer and Tuner.
type Store struct {
	db     *sql.DB
	prefix string
	tables []string
	texts  *texts
	clock  *clock
	file   *file
	bus    driver.Bus
	hub    hub
	writer *writer
	// origin marks this store's signals, so that it does not tell its subscribers twice.
	origin int64
	// given is the newest id that this store has given out, so that one of a transaction that is rolled back does not come
	// again while the process lives.
	given atomic.Int64
	swept sweepPlace

	closed atomic.Bool
	close  sync.Once
}

var (
	_ driver.Store         = (*Store)(nil)
	_ driver.Notifier      = (*Store)(nil)
	_ driver.Transactor    = (*Store)(nil)
	_ driver.Console       = (*Store)(nil)
	_ driver.ConsoleBatch  = (*Store)(nil)
	_ driver.BlockFirer    = (*Store)(nil)
	_ driver.LimitReader   = (*Store)(nil)
	_ driver.OutputReader  = (*Store)(nil)
	_ driver.ProblemReader = (*Store)(nil)
	_ driver.Explainer     = (*Store)(nil)
	_ driver.HistoryReader = (*Store)(nil)
	_ driver.StateReader   = (*Store)(nil)
	_ driver.Tuner         = (*Store)(nil)
	_ driver.TxWriter      = (*TxWriter)(nil)
)

// New opens a store on a pool of connections to one database file. It checks the pool, turns the database to WAL mode,
// migrates the schema, and takes one connection for the store's writes.
//
// A pool without a busy timeout, a pool of one connection, a database that cannot be in WAL mode, such as one in memory, and
// a SQLite before 3.38 are driver.ErrInvalid.
func New(ctx context.Context, db *sql.DB, opts ...Option) (*Store, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	texts, err := newTexts(c.prefix)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, prefix: c.prefix, texts: texts, clock: &clock{source: c.clock, logger: c.logger}, bus: c.bus, origin: 1 + rand.Int64N(1<<62)}
	if s.tables, err = tablesOf(c.prefix); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, &c); err != nil {
		return nil, err
	}
	s.writer = newWriter(s)
	s.hub.changed = s.writer.poke
	if err := s.writer.connect(ctx); err != nil {
		return nil, err
	}
	if s.bus != nil {
		s.hub.bus = newBusPublisher(s.bus)
	}
	go s.writer.loop()
	return s, nil
}

// prepare checks the pool and the database and brings the schema up to date.
func (s *Store) prepare(ctx context.Context, c *config) error {
	conn, err := checkedConn(ctx, s.db)
	if err != nil {
		return err
	}
	defer conn.Close()
	if s.file, err = findFile(ctx, conn); err != nil {
		return err
	}
	if c.noMigrate {
		return checkSchema(ctx, conn, c.prefix)
	}
	return migrate(ctx, conn, c.prefix)
}

// Close ends the store: its goroutines stop, calls under way are answered, its connection goes back to the pool. It closes
// neither the pool nor the bus, and may be called repeatedly.
func (s *Store) Close() {
	s.close.Do(func() {
		s.closed.Store(true)
		s.writer.cancel()
		<-s.writer.stopped
		if s.hub.bus != nil {
			s.hub.bus.close()
		}
	})
}

// Tuning says that one claim and one finish at a time are enough: one goroutine writes, and merges what waits for it.
func (s *Store) Tuning() driver.Tuning { return driver.Tuning{ClaimLanes: 1, FinishLanes: 1} }

// checkedConn takes a connection from a pool that the store can work with, and turns its database to WAL mode.
func checkedConn(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	if db == nil {
		return nil, fmt.Errorf("%w: db is nil", driver.ErrInvalid)
	}
	if most := db.Stats().MaxOpenConnections; most == 1 {
		return nil, fmt.Errorf("%w: the pool has MaxOpenConns 1, the store needs at least 2 (4 are recommended): it keeps one for its own writes", driver.ErrInvalid)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context, *sql.Conn) error{checkVersion, checkBusyTimeout, turnToWAL} {
		if err := check(ctx, conn); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

func checkVersion(ctx context.Context, conn *sql.Conn) error {
	var version string
	if err := conn.QueryRowContext(ctx, "select sqlite_version()").Scan(&version); err != nil {
		return fmt.Errorf("sqlitestore: this does not look like a SQLite database: %w", err)
	}
	return refuseOld(version)
}

// refuseOld fails for a SQLite that lacks what the statements need.
func refuseOld(version string) error {
	const major, minor = 3, 38
	parts := strings.SplitN(version, ".", 3)
	if len(parts) >= 2 {
		a, errA := strconv.Atoi(parts[0])
		b, errB := strconv.Atoi(parts[1])
		if errA == nil && errB == nil && (a > major || a == major && b >= minor) {
			return nil
		}
	}
	return fmt.Errorf("%w: the driver has SQLite %s, the store needs %d.%d or later", driver.ErrInvalid, version, major, minor)
}

func checkBusyTimeout(ctx context.Context, conn *sql.Conn) error {
	var ms int64
	if err := conn.QueryRowContext(ctx, "pragma busy_timeout").Scan(&ms); err != nil {
		return err
	}
	if ms <= 0 {
		return fmt.Errorf("%w: the pool's connections have busy_timeout %d, it must be above 0; set it in the data source name, "+
			"for instance _pragma=busy_timeout(5000), or _busy_timeout=5000 for mattn/go-sqlite3", driver.ErrInvalid, ms)
	}
	return nil
}

// turnToWAL waits for others that use the file in another mode, until ctx ends.
func turnToWAL(ctx context.Context, conn *sql.Conn) error {
	for {
		var mode string
		err := conn.QueryRowContext(ctx, "pragma journal_mode = wal").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("%w: the database stays in journal_mode %q, the store needs wal; a database in memory cannot have it", driver.ErrInvalid, mode)
		case !isBusy(err) || ctx.Err() != nil:
			return fmt.Errorf("sqlitestore: turning the database to WAL mode: %w", err)
		}
	}
}
