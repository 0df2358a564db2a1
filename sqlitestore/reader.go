package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// patience is how long a read waits for a connection of the pool before it asks the writer for its own: an application
// whose transactions hold all others must be able to look into the store.
const patience = 50 * time.Millisecond

// reader is one read and the instant it is made at.
type reader struct {
	runner
	now time.Time
}

// read runs fn on a connection of the pool. What several statements see may differ.
func (s *Store) read(ctx context.Context, fn func(r *reader) error) error {
	return s.withReader(ctx, false, fn)
}

// snapshot runs fn in a transaction that reads, so that all statements see the same.
func (s *Store) snapshot(ctx context.Context, fn func(r *reader) error) error {
	return s.withReader(ctx, true, fn)
}

func (s *Store) withReader(ctx context.Context, same bool, fn func(r *reader) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := s.file.check(); err != nil {
		return err
	}
	conn, err := s.readConn(ctx)
	if err != nil {
		return err
	}
	if conn == nil {
		return s.submit(&call{ctx: ctx, look: fn, same: same})
	}
	defer conn.Close()
	err, usable := s.readOn(ctx, conn, same, fn)
	if !usable {
		discard(conn)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err) // drivers have their own words for an interrupted statement
	}
	return err
}

// readOn runs fn on a connection, in a transaction if it is to see one state, and reports whether that has ended.
func (s *Store) readOn(ctx context.Context, db querier, same bool, fn func(r *reader) error) (err error, usable bool) {
	if same {
		if _, err := db.ExecContext(ctx, "begin deferred"); err != nil {
			return named("begin", err), false // it may have begun
		}
		defer func() {
			_, failed := db.ExecContext(context.Background(), "rollback")
			usable = failed == nil
		}()
	}
	return fn(&reader{runner{ctx, db, s.texts}, s.clock.now()}), true
}

// serve makes the reads that found no connection in the pool. The writer does so also while it waits for the write lock: who
// reads may be who holds it.
func (w *writer) serve() {
	w.mu.Lock()
	reads := w.reads
	w.reads = nil
	w.mu.Unlock()
	for _, c := range reads {
		if c.take() {
			c.finish(w.read(c))
		}
	}
}

func (w *writer) read(c *call) error {
	if w.session == nil {
		if err := w.connect(w.ctx); err != nil {
			return err
		}
	}
	err, usable := w.s.readOn(context.Background(), w.session, c.same, c.look)
	if !usable || isLost(err) {
		w.drop()
	}
	return err
}

// readConn takes a connection from the pool; nil when the pool has none to give.
func (s *Store) readConn(ctx context.Context) (*sql.Conn, error) {
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.db.Conn(short)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return nil, nil // whatever the driver calls it when it is interrupted while it connects
	}
	return conn, err
}
