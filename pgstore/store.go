package pgstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Store keeps jobs in a PostgreSQL database. It is a driver.Store, and a driver.Notifier, Transactor, Console, ConsoleBatch,
// BlockFirer, LimitReader, OutputReader, ProblemReader, Explainer and Tuner.
type Store struct {
	pool   *pgxpool.Pool
	schema string
	texts  storekit.Statements
	// clock is nil but in tests: the store's clock is the database's.
	clock func() time.Time
	// origin marks what this store tells other processes, so that it does not listen to itself.
	origin string

	hub      hub
	marks    marks
	merger   merger
	notifier *notifier
	listener *listener
	looker   *looker
	swept    sweepPlace
	// taken is how many jobs the last claim took, which the next one makes room for.
	taken atomic.Int64
	// late wakes the goroutine that finishes batches that could not be finished when their last member ended.
	late        chan struct{}
	lateStopped chan struct{}

	ctx    context.Context
	cancel context.CancelFunc
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

// New opens a store on the database of a pool. It makes a pool of its own from the settings of the given one, which it does not use
// again, checks the server, and brings the schema up to date unless NoMigrate is set.
//
// Options out of their bounds, a closed pool, a server before PostgreSQL 14, a schema that is newer than the program and, with
// NoMigrate, one that is older are driver.ErrInvalid.
func New(ctx context.Context, pool *pgxpool.Pool, opts ...Option) (*Store, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	texts, err := newTexts(c.schema)
	if err != nil {
		return nil, err
	}
	own, err := ownPool(ctx, pool, &c)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, own, &c); err != nil {
		own.Close()
		return nil, err
	}
	s := &Store{pool: own, schema: c.schema, texts: texts, origin: strconv.FormatInt(rand.Int64(), 36)}
	if c.clockSet {
		s.clock = c.clock
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.late, s.lateStopped = make(chan struct{}, 1), make(chan struct{})
	go s.lateLoop()
	s.merger.start(s, int(c.maxConns))
	listen := c.listen
	if listen == nil {
		listen = own.Config().ConnConfig
	}
	s.looker = newLooker(s)
	s.notifier = newNotifier(s)
	s.listener = newListener(s, listen)
	s.hub.changed = s.listener.poke
	return s, nil
}

// ownPool makes the store's pool from the settings of the application's.
func ownPool(ctx context.Context, pool *pgxpool.Pool, c *config) (*pgxpool.Pool, error) {
	if pool == nil {
		return nil, fmt.Errorf("%w: pool is nil", driver.ErrInvalid)
	}
	// A closed pool shows itself only when it is asked for a connection; one that has none free at the moment is no reason to fail.
	probe, cancel := context.WithTimeout(ctx, time.Millisecond)
	conn, err := pool.Acquire(probe)
	cancel()
	switch {
	case err == nil:
		conn.Release()
	case isClosedPool(err):
		return nil, fmt.Errorf("%w: the pool is closed", driver.ErrInvalid)
	}
	settings := pool.Config()
	settings.MaxConns = c.maxConns
	settings.MinConns, settings.MinIdleConns = 0, 0
	// What the application does with its own connections is its own business.
	settings.AfterConnect, settings.PrepareConn, settings.BeforeAcquire = nil, nil, nil
	settings.AfterRelease, settings.BeforeClose = nil, nil
	settings.ConnConfig.DefaultQueryExecMode = c.execMode
	introduce(settings.ConnConfig)
	own, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return nil, fmt.Errorf("pgstore: opening the store's pool: %w", err)
	}
	return own, nil
}

// introduce sets what the store's connections begin with: who they are, and how text is written. A role may have other defaults for
// the latter, which pgx cannot work with. Poolers in transaction mode know these parameters and keep them apart for each client.
func introduce(c *pgx.ConnConfig) {
	if c.RuntimeParams == nil {
		c.RuntimeParams = map[string]string{}
	}
	c.RuntimeParams["application_name"] = "kiln"
	c.RuntimeParams["client_encoding"] = "UTF8"
	c.RuntimeParams["standard_conforming_strings"] = "on"
	c.Tracer = nil
}

// Close ends the store: its goroutines stop and its connections are closed. The pool given to New stays open. Close may be called
// repeatedly.
func (s *Store) Close() {
	s.close.Do(func() {
		s.closed.Store(true)
		s.cancel()
		s.merger.stop()
		<-s.lateStopped
		<-s.looker.stopped
		<-s.notifier.stopped
		<-s.listener.stopped
		s.pool.Close()
	})
}

// Tuning says that one claim and a few finishes at a time pay: a finish waits for the disk while the next one is written.
func (s *Store) Tuning() driver.Tuning { return driver.Tuning{ClaimLanes: 1, FinishLanes: 2} }

// Now implements driver.Coordinator.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var at int64
	err := s.usable(ctx)
	if err == nil {
		err = s.pool.QueryRow(ctx, s.texts.SQL("tx_now"), s.clockMicros()).Scan(&at)
	}
	return storekit.Instant(at), ended(ctx, err)
}
