// Package memstore keeps jobs in the memory of the process: the store for tests, examples and programs that may forget.
//
// It is also the reference that the SQL stores are compared with, so it is written to be read: one mutex around everything,
// plain structures, values copied on their way in and out. A call takes the lock, reads the clock once, changes rows and
// lists, and hands hints to the subscribers.
package memstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Store is a driver.Store in memory. It is also a driver.Notifier, Transactor, Console, ConsoleBatch, BlockFirer, LimitReader,
// OutputReader, ProblemReader, Explainer, HistoryReader, StateReader and Tuner.
type Store struct {
	mu     sync.Mutex
	clock  func() time.Time
	last   time.Time
	closed bool

	lastID int64
	rows   map[int64]*row
	queues map[string]*queue

	lastBatch int64
	batches   map[int64]*batch
	// endings are those whose dependents are not all settled.
	endings []ending

	// One list per state; the enqueued rows are listed by the lanes of their queues.
	awaiting, scheduled, throttled, processing, succeeded, failed, deleted list
	// deadlines lists the waiting rows that have one.
	deadlines list
	// uniques holds the unique keys that are taken, limits the limit keys.
	uniques map[string]*unique
	limits  map[string]*limit
	// unsettled are the limit keys whose last admission ended at its bound, so that Promote and Sweep have to go on with them.
	unsettled map[string]bool
	// retries counts the scheduled rows that have run before.
	retries int

	servers map[string]driver.ServerInfo
	leases  map[string]lease
	// recurring are the recurring jobs by id.
	recurring map[string]driver.Recurring

	// total is all that was ever counted: the minutes still kept, and folded.
	total, folded counts
	minutes       map[minute]*counts

	subscribers []*subscriber
}

// Option changes how New sets up a store.
type Option func(*Store)

// Clock gives the store another clock than time.Now. Run times, leases, windows, retention and statistics follow it. The
// function is called while the store is locked, so it must not call the store.
func Clock(now func() time.Time) Option {
	return func(s *Store) { s.clock = now }
}

// New returns an empty store.
func New(opts ...Option) *Store {
	s := &Store{
		clock:     time.Now,
		rows:      make(map[int64]*row),
		queues:    make(map[string]*queue),
		uniques:   make(map[string]*unique),
		limits:    make(map[string]*limit),
		unsettled: make(map[string]bool),
		servers:   make(map[string]driver.ServerInfo),
		leases:    make(map[string]lease),
		recurring: make(map[string]driver.Recurring),
		minutes:   make(map[minute]*counts),
		batches:   make(map[int64]*batch),
	}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

var errClosed = errors.New("memstore: the store is closed")

// Close ends the subscriptions; every later call fails. It may be called repeatedly.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, sub := range s.subscribers {
		sub.signal()
	}
}

// Tuning says that one claim and one finish at a time are enough: all calls share one mutex.
func (s *Store) Tuning() driver.Tuning { return driver.Tuning{ClaimLanes: 1, FinishLanes: 1} }

// lock begins a call. On success the caller holds the mutex and knows the instant of everything that it will stamp.
func (s *Store) lock(ctx context.Context) (now time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return time.Time{}, errClosed
	}
	return s.now(), nil
}

// hold is the largest step back that the clock does not follow.
const hold = time.Second

// now reads the clock as stores stamp: in UTC, to the microsecond. A small step back is held, so that a time adjustment does
// not put later writes before earlier ones; after a large one the old readings would be wrong for too long.
func (s *Store) now() time.Time {
	t := storekit.Stamp(s.clock())
	if t.Before(s.last) && s.last.Sub(t) <= hold {
		return s.last
	}
	s.last = t
	return t
}
