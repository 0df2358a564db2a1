package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
)

// session is the writer's connection with its prepared statements. It belongs to the writer's goroutine.
type session struct {
	conn        *sql.Conn
	busyTimeout int64
	prepared    map[string]*sql.Stmt
}

// openSession takes a connection out of the pool. Waiting for the write lock is the writer's own business, so SQLite's
// waiting is switched off for the time that the session lasts.
func openSession(ctx context.Context, db *sql.DB) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, prepared: map[string]*sql.Stmt{}}
	if err := conn.QueryRowContext(ctx, "pragma busy_timeout").Scan(&s.busyTimeout); err != nil {
		conn.Close()
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "pragma busy_timeout = 0"); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// close gives the connection back as it was.
func (s *session) close() {
	s.finalize()
	_, err := s.conn.ExecContext(context.Background(), fmt.Sprintf("pragma busy_timeout = %d", s.busyTimeout))
	if err != nil {
		s.discard()
		return
	}
	s.conn.Close()
}

// discard closes a connection that is in an unknown state instead of giving it back.
func (s *session) discard() {
	s.finalize()
	discard(s.conn)
}

// finalize closes the statements, which database/sql does not do for those of a single connection. SQLite keeps a connection
// that is closed before its statements open in secret, with its files and perhaps with the write lock. A connection that
// database/sql has closed already is left alone: drivers crash when its statements are closed after it.
func (s *session) finalize() {
	if s.conn.Raw(func(any) error { return nil }) == nil {
		for _, stmt := range s.prepared {
			stmt.Close()
		}
	}
	s.prepared = nil
}

func discard(conn *sql.Conn) {
	conn.Raw(func(any) error { return errBadConn })
	conn.Close()
}

func (s *session) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := s.prepared[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.prepared[query] = stmt
	return stmt, nil
}

func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := s.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}
