package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/storekit"
)

// Migrate brings the schema to the version of this program. New does it too, unless NoMigrate is set. Any number of
// processes may do it at once: one migrates in one transaction, the others wait and find nothing left to do.
func Migrate(ctx context.Context, db *sql.DB, opts ...Option) error {
	c, err := configure(opts)
	if err != nil {
		return err
	}
	conn, err := checkedConn(ctx, db)
	if err != nil {
		return err
	}
	defer conn.Close()
	return migrate(ctx, conn, c.prefix)
}

func migrations(prefix string) (storekit.Migrator, error) {
	return storekit.ParseMigrations(migrationFiles, "migrations", prefix)
}

func migrate(ctx context.Context, conn *sql.Conn, prefix string) error {
	m, err := migrations(prefix)
	if err != nil {
		return err
	}
	s := &schema{conn: conn, prefix: prefix}
	// Stores that start on a finished schema need not wait for the write lock.
	if version, err := s.Version(ctx); err == nil && version == m.Latest() {
		return nil
	}
	if err := beginImmediate(ctx, conn); err != nil {
		discard(conn) // the transaction may be open, and must not go back to the pool
		return fmt.Errorf("sqlitestore: migrate: %w", err)
	}
	_, err = m.Migrate(ctx, s)
	end := "commit"
	if err != nil {
		end = "rollback"
	}
	if _, failed := conn.ExecContext(context.WithoutCancel(ctx), end); failed != nil {
		discard(conn)
		if err == nil {
			err = failed
		}
	}
	if err != nil {
		return fmt.Errorf("sqlitestore: migrate: %w", err)
	}
	return nil
}

// checkSchema is what New does instead of migrating when NoMigrate is set.
func checkSchema(ctx context.Context, conn *sql.Conn, prefix string) error {
	m, err := migrations(prefix)
	if err != nil {
		return err
	}
	version, err := (&schema{conn: conn, prefix: prefix}).Version(ctx)
	if err != nil {
		return err
	}
	return m.Check(version, "sqlitestore.Migrate")
}

// beginImmediate waits for the write lock until ctx ends, however short the pool's own busy timeout is.
func beginImmediate(ctx context.Context, conn *sql.Conn) error {
	for {
		_, err := conn.ExecContext(ctx, "begin immediate")
		if err == nil || !isBusy(err) {
			return err
		}
		timer := time.NewTimer(5 * time.Millisecond)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-timer.C:
		}
	}
}

// schema is the installation of one prefix. It is a storekit.Schema.
type schema struct {
	conn   *sql.Conn
	prefix string
}

func (s *schema) Version(ctx context.Context) (int, error) {
	var there int
	err := s.conn.QueryRowContext(ctx, "select count(*) from sqlite_schema where type = 'table' and name = ?", s.prefix+"migrations").Scan(&there)
	if err != nil || there == 0 {
		return 0, err
	}
	var version int
	err = s.conn.QueryRowContext(ctx, "select coalesce(max(version), 0) from "+s.prefix+"migrations").Scan(&version)
	return version, err
}

func (s *schema) Apply(ctx context.Context, m storekit.Migration) error {
	if m.Version == 1 {
		_, err := s.conn.ExecContext(ctx, "create table "+s.prefix+"migrations (version integer primary key, name text not null, applied_at integer not null) strict")
		if err != nil {
			return err
		}
	}
	if _, err := s.conn.ExecContext(ctx, m.SQL); err != nil {
		return err
	}
	_, err := s.conn.ExecContext(ctx, "insert into "+s.prefix+"migrations (version, name, applied_at) values (?, ?, ?)",
		int64(m.Version), m.Name, time.Now().UnixMicro())
	return err
}
