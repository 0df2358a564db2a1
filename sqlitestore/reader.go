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
		var failed error
		err := s.do(ctx, func(w *work) error {
			failed = fn(&reader{w.runner, w.now})
			return nil
		})
		return errors.Join(err, failed)
	}
	defer conn.Close()
	if same {
		if _, err := conn.ExecContext(ctx, "begin deferred"); err != nil {
			return named("begin", err)
		}
		defer func() {
			if _, err := conn.ExecContext(context.Background(), "rollback"); err != nil {
				discard(conn)
			}
		}()
	}
	err = fn(&reader{runner{ctx, conn, s.texts}, s.clock.now()})
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err) // drivers have their own words for an interrupted statement
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
