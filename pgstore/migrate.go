package pgstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// oldest is the oldest version of PostgreSQL that the store works with, as server_version_num says it.
const oldest = 140000

// Migrate brings the schema to the version of this program, and makes it if it is missing. New does it too, unless NoMigrate is
// set. Any number of processes may do it at once: one migrates in one transaction, the others wait and find nothing left to do.
func Migrate(ctx context.Context, pool *pgxpool.Pool, opts ...Option) error {
	c, err := configure(opts)
	if err != nil {
		return err
	}
	c.noMigrate = false
	own, err := ownPool(ctx, pool, &c)
	if err != nil {
		return err
	}
	defer own.Close()
	return prepare(ctx, own, &c)
}

// isClosedPool knows the error by its words: its variable belongs to a module that pgx keeps to itself.
func isClosedPool(err error) bool { return strings.Contains(err.Error(), "closed pool") }

// prepare checks the server and brings the schema up to date.
func prepare(ctx context.Context, pool *pgxpool.Pool, c *config) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("pgstore: connecting: %w", err)
	}
	defer conn.Release()
	if err := checkServer(ctx, conn.Conn()); err != nil {
		return err
	}
	m, err := migrations(c.schema)
	if err != nil {
		return err
	}
	version, err := (&schema{conn.Conn(), c.schema}).Version(ctx)
	switch {
	case err != nil:
		return explain(err, c.schema)
	case c.noMigrate:
		return m.Check(version, "pgstore.Migrate")
	case version == m.Latest():
		return nil // stores that start on a finished schema need not wait for anybody
	}
	return explain(migrate(ctx, conn.Conn(), m, c.schema), c.schema)
}

// checkServer refuses what is not a PostgreSQL that the store works with.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var number int
	var version string
	err := conn.QueryRow(ctx, "select current_setting('server_version_num')::int, current_setting('server_version')").Scan(&number, &version)
	if err != nil {
		return fmt.Errorf("pgstore: this does not look like a PostgreSQL server: %w", err)
	}
	if number < oldest {
		return fmt.Errorf("%w: the server is PostgreSQL %s, the store needs %d or later", driver.ErrInvalid, version, oldest/10000)
	}
	return nil
}

// explain says what an error of a migration means for whoever starts the program.
func explain(err error, schema string) error {
	if sqlState(err) == codePrivilege {
		return fmt.Errorf("pgstore: schema %q: the role lacks privileges: it needs CREATE on the database to make the schema, and USAGE on the schema with all privileges on its tables to work: %w", schema, err)
	}
	return err
}

// migrationWait is how long a migration waits for a lock before it steps back, so that it never makes the application's own
// statements queue behind it, and tries again.
const migrationWait = "3s"

// migrate applies what is missing, in one transaction, under a lock that one process at a time has.
func migrate(ctx context.Context, conn *pgx.Conn, m storekit.Migrator, name string) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "select set_config('lock_timeout', $1, true), set_config('statement_timeout', '0', true), "+
				"set_config('idle_in_transaction_session_timeout', '0', true)", migrationWait); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 7277816997830720))", name); err != nil {
				return err
			}
			_, err := m.Migrate(ctx, &schema{conn, name})
			return err
		})
		if err == nil {
			return nil
		}
		if !isLocked(err) || !pause(ctx, wait) {
			return fmt.Errorf("pgstore: migrate: %w", ended(ctx, err))
		}
	}
}

// schema is the installation of one name. It is a storekit.Schema.
type schema struct {
	conn *pgx.Conn
	name string
}

func (s *schema) Version(ctx context.Context) (version int, err error) {
	table := quoted(s.name) + "migrations"
	var there bool
	err = s.conn.QueryRow(ctx, "select to_regclass($1) is not null", table).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = s.conn.QueryRow(ctx, "select coalesce(max(version), 0) from "+table).Scan(&version)
	return version, err
}

func (s *schema) Apply(ctx context.Context, m storekit.Migration) error {
	run := func(text string) error {
		// The simple protocol takes several statements in one text.
		_, err := s.conn.PgConn().Exec(ctx, text).ReadAll()
		return err
	}
	if m.Version == 1 {
		if err := s.create(ctx, run); err != nil {
			return err
		}
	}
	if err := run(m.SQL); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, "insert into "+quoted(s.name)+"migrations (version, name, applied_at) values ($1, $2, now())", m.Version, m.Name)
	return err
}

// create makes the schema, unless it is there: roles that may not make schemas are given one.
func (s *schema) create(ctx context.Context, run func(string) error) error {
	var there bool
	if err := s.conn.QueryRow(ctx, "select exists (select 1 from pg_namespace where nspname = $1)", s.name).Scan(&there); err != nil {
		return err
	}
	if !there {
		if err := run("create schema " + strings.TrimSuffix(quoted(s.name), ".")); err != nil {
			return err
		}
	}
	return run("create table " + quoted(s.name) + "migrations (version integer not null primary key, applied_at timestamptz not null, name text not null)")
}
