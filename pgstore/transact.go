package pgstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln/storekit"
)

const (
	// begin says what the statements of the store count on, whatever the defaults of the database, the role or the session are.
	begin = "begin isolation level read committed, read write"
	// lockTimeout is how long a transaction of the store waits for a row. It is shorter than PostgreSQL's deadlock_timeout, so that
	// in a deadlock with an application it is the store that steps back, before PostgreSQL looks for a victim.
	lockTimeout = "100ms"
	// noLockTimeout is for transactions that cannot be made again, since they run a function of the application: it is the others that
	// have to step back.
	noLockTimeout = "0"
	// statementTimeout ends what no healthy database takes as long for.
	statementTimeout = "60s"
	// patience is how long the store waits beyond a statement's own timeout before it gives a connection up.
	patience = 75 * time.Second
)

// do runs fn in a transaction of the store and settles what that sets off. When somebody else was in the way everything is made
// again, until the context ends.
func (s *Store) do(ctx context.Context, fn func(w *work) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.retried(ctx, func() error { return s.once(ctx, fn) })
}

// retried makes a transaction again as long as somebody else is in its way.
func (s *Store) retried(ctx context.Context, fn func() error) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := fn()
		if err == nil || !retriable(err) || !pause(ctx, wait) {
			return ended(ctx, err)
		}
	}
}

// pause waits for about d, and is false when the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// once runs fn in one transaction.
func (s *Store) once(ctx context.Context, fn func(w *work) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	w, err := s.begin(ctx, conn, lockTimeout)
	if err != nil {
		rollback(conn)
		return err
	}
	err = fn(w)
	if err == nil {
		err = w.conclude()
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		rollback(conn)
		return err
	}
	if err := commit(ctx, conn); err != nil {
		return err
	}
	s.tell(w)
	return nil
}

// begin opens a transaction and reads its instant, in one round trip. It waits for rows as long as it is told to.
func (s *Store) begin(ctx context.Context, conn *pgxpool.Conn, locks string) (*work, error) {
	w := &work{runner: runner{ctx, pgxQuerier{conn}, s.texts}, store: s}
	if err := conn.SendBatch(ctx, s.opening(begin, locks, &w.nowAt)).Close(); err != nil {
		return nil, named("begin", err)
	}
	w.now = storekit.Instant(w.nowAt)
	return w, nil
}

// opening is what every transaction of several round trips begins with. It reads the instant.
func (s *Store) opening(begin, locks string, nowAt *int64) *pgx.Batch {
	batch := s.transaction(begin, locks)
	batch.Queue(s.texts.SQL("tx_now"), s.clockMicros()).QueryRow(func(row pgx.Row) error { return row.Scan(nowAt) })
	return batch
}

// transaction begins a transaction with settings that make its statements independent of those of the session, and for this transaction
// only, since sessions may be shared by a pooler. Sequential scans are off because plans that were made while a table was small stay
// in use when it is not.
func (s *Store) transaction(begin, locks string) *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue(begin)
	batch.Queue(s.texts.SQL("tx_settings"), locks, statementTimeout)
	return batch
}

// clockMicros is the time that statements take as now: null for the database's own clock.
func (s *Store) clockMicros() any {
	if s.clock == nil {
		return nil
	}
	return storekit.Micros(s.clock())
}

// commit commits. An error that the server did not send leaves open whether it has.
func commit(ctx context.Context, conn *pgxpool.Conn) error {
	tag, err := conn.Exec(ctx, "commit")
	switch tag.String() {
	case "COMMIT": // whatever came after it: a server that goes down ends the connection with an error of its own
		return nil
	case "ROLLBACK":
		return errFailed
	}
	if answered(err) || neverSent(err) {
		rollback(conn)
		return named("commit", err)
	}
	return uncertain(err)
}

// neverSent reports whether an error arose before anything was sent.
func neverSent(err error) bool {
	var safe interface{ SafeToRetry() bool }
	return errors.As(err, &safe) && safe.SafeToRetry()
}

// rollback ends a transaction after an error, also one of the context. A connection that cannot do that is thrown away by the pool.
func rollback(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if !conn.Conn().IsClosed() {
		_, _ = conn.Exec(ctx, "rollback")
	}
}

// batched runs statements that need nothing from each other as one transaction in one round trip.
func (s *Store) batched(ctx context.Context, queue func(batch *pgx.Batch)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer conn.Release()
	batch := s.transaction(begin, lockTimeout)
	queue(batch)
	committed := false
	batch.Queue("commit").Exec(func(pgconn.CommandTag) error {
		committed = true
		return nil
	})
	err = conn.SendBatch(ctx, batch).Close()
	switch {
	case err == nil, committed: // a server that goes down may have ended the connection with an error of its own after it
		return nil
	case answered(err):
		rollback(conn)
	case !neverSent(err):
		// All of it was on its way together, the commit too.
		err = uncertain(err)
	}
	return ended(ctx, err)
}

// read runs fn on a connection for reading.
func (s *Store) read(ctx context.Context, fn func(r *reader) error) error {
	return s.reading(ctx, "begin isolation level read committed, read only", fn)
}

// snapshot runs fn so that all its statements see the database as it is at one moment.
func (s *Store) snapshot(ctx context.Context, fn func(r *reader) error) error {
	return s.reading(ctx, "begin isolation level repeatable read, read only", fn)
}

// reader runs queries at an instant.
type reader struct {
	runner
	now   time.Time
	nowAt int64
}

func (s *Store) reading(ctx context.Context, begin string, fn func(r *reader) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.pool.Acquire(wait)
	if err != nil {
		return ended(ctx, err)
	}
	defer conn.Release()
	defer rollback(conn)
	r := &reader{runner: runner{wait, pgxQuerier{conn}, s.texts}}
	if err := conn.SendBatch(wait, s.opening(begin, lockTimeout, &r.nowAt)).Close(); err != nil {
		return ended(ctx, named("begin", err))
	}
	r.now = storekit.Instant(r.nowAt)
	return ended(ctx, fn(r))
}

// usable fails when the context has ended or the store is closed.
func (s *Store) usable(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.closed.Load():
		return errClosed
	}
	return nil
}
