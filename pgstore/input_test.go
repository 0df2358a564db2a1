package pgstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// mustRefuse checks that New and Migrate fail with an error that is driver.ErrInvalid, if that is wanted, and has some words in it.
func mustRefuse(t *testing.T, pool *pgxpool.Pool, invalid bool, words []string, opts ...Option) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	judge := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s returns nil, want an error with %q", what, words)
			return
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s returns %q, which does not say %q", what, err, word)
			}
		}
		if invalid && !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s returns %v, which is not ErrInvalid", what, err)
		}
	}
	s, err := New(ctx, pool, opts...)
	judge("New", err)
	if s != nil {
		s.Close()
	}
	judge("Migrate", Migrate(ctx, pool, opts...))
}

// TestOptions gives options that are out of their bounds; the error names option, value and bound.
func TestOptions(t *testing.T) {
	t.Parallel()
	pool := dial(t, "postgres://nobody@127.0.0.1:1/none?sslmode=disable") // options are looked at before the database
	for name, c := range map[string]struct {
		opt   Option
		words []string
	}{
		"empty schema":    {Schema(""), []string{"Schema", "empty"}},
		"long schema":     {Schema(strings.Repeat("a", 49)), []string{"Schema", "49", "48"}},
		"capital":         {Schema("Kiln"), []string{"Schema", `"Kiln"`}},
		"quote":           {Schema(`ki"ln`), []string{"Schema", `ki\"ln`}},
		"space":           {Schema("ki ln"), []string{"Schema", `"ki ln"`}},
		"digit":           {Schema("1kiln"), []string{"Schema", `"1kiln"`, "digit"}},
		"no connection":   {MaxConns(0), []string{"MaxConns", "0", "1"}},
		"fewer":           {MaxConns(-3), []string{"MaxConns", "-3", "1"}},
		"listening":       {ListenConn("postgres://host:port:x/"), []string{"ListenConn"}},
		"listening badly": {ListenConn("host=localhost sslmode=maybe"), []string{"ListenConn"}},
		"exec mode":       {ExecMode(pgx.QueryExecMode(99)), []string{"ExecMode", "99"}},
		"clock":           {Clock(nil), []string{"Clock"}},
	} {
		t.Run(name, func(t *testing.T) { mustRefuse(t, pool, true, c.words, c.opt) })
	}
	t.Run("names that are words", func(t *testing.T) {
		pg := pgserver.Start(t, 0)
		for _, name := range []string{"user", "select", "_", strings.Repeat("a", 48)} {
			s := openAt(t, pg.DSN("postgres"), Schema(name))
			if out, err := s.Insert(context.Background(), []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}}); err != nil || len(out) != 1 {
				t.Errorf("in the schema %q Insert returns %v, %v", name, out, err)
			}
		}
	})
}

// TestPoolsThatCannotWork gives New pools that lead nowhere.
func TestPoolsThatCannotWork(t *testing.T) {
	t.Parallel()
	mustRefuse(t, nil, true, []string{"pool is nil"})
	pg := pgserver.Start(t, 0)
	closed := dial(t, pg.DSN("postgres"))
	closed.Close()
	mustRefuse(t, closed, true, []string{"closed"})
	mustRefuse(t, dial(t, pg.DSN("nothing")), false, []string{"connect", `"nothing"`, "does not exist"})
	mustRefuse(t, dial(t, pg.DSNFor("stranger", "postgres")), false, []string{"connect", `"stranger"`, "does not exist"})
	pg.Stop(pgserver.Fast)
	mustRefuse(t, dial(t, pg.DSN("postgres")), false, []string{"connect", "refused"})
}

// TestUsedPool works beside a pool whose connections are all in use, and keeps none of them.
func TestUsedPool(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	pool := dial(t, pg.DSN("postgres")+"&pool_max_conns=1")
	conn, err := pool.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := New(ctx, pool)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Counts(ctx); err != nil {
		t.Error(err)
	}
	conn.Release()
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("the store keeps %d connections of the application's pool", n)
	}
}

// TestOldServer refuses a server before PostgreSQL 14.
func TestOldServer(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 13)
	mustRefuse(t, dial(t, pg.DSN("postgres")), true, []string{"PostgreSQL 13.", "14 or later"})
}

// TestPrivileges opens stores for roles that may not do what is needed; the error says what they need.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	admin := dial(t, pg.DSN("postgres"))
	exec := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			if _, err := admin.Exec(ctx, statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	exec("create role guest login", "create role worker login", "create role reader login")
	guest := dial(t, pg.DSNFor("guest", "postgres"))
	mustRefuse(t, guest, false, []string{"privileges", "CREATE on the database", "permission denied"})

	openAt(t, pg.DSN("postgres"))
	if _, err := New(ctx, guest); err == nil || !strings.Contains(err.Error(), "USAGE on the schema") {
		t.Errorf("without USAGE on the schema New returns %v", err)
	}
	exec("grant usage on schema kiln to reader", "grant select on all tables in schema kiln to reader")
	if s, err := New(ctx, dial(t, pg.DSNFor("reader", "postgres"))); err == nil {
		defer s.Close()
		if _, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}}); sqlState(err) != codePrivilege {
			t.Errorf("a role that may only read gets %v from Insert", err)
		}
		if _, err := s.Counts(ctx); err != nil {
			t.Errorf("a role that may only read gets %v from Counts", err)
		}
	} else if !strings.Contains(err.Error(), "privileges") {
		t.Errorf("for a role that may only read New returns %v", err)
	}
	// What the error asks for is enough.
	exec("grant usage on schema kiln to worker", "grant all on all tables in schema kiln to worker", "grant all on all sequences in schema kiln to worker")
	round(t, openAt(t, pg.DSNFor("worker", "postgres"), NoMigrate()))
	// So is a schema that somebody else has made for a role that may not make any.
	exec("create schema given authorization guest")
	round(t, openAt(t, pg.DSNFor("guest", "postgres"), Schema("given")))
}

// TestSchemaOfOtherVersions refuses a schema that is newer than the program, and with NoMigrate one that is older.
func TestSchemaOfOtherVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	pool := dial(t, pg.DSN("postgres"))
	if _, err := New(ctx, pool, NoMigrate()); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "pgstore.Migrate") ||
		!strings.Contains(err.Error(), "001_start") {
		t.Errorf("New on an empty database with NoMigrate returns %v, want what is missing and what to run", err)
	}
	if err := Migrate(ctx, pool); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, pg.DSN("postgres"), NoMigrate())
	s.Close()
	if _, err := pool.Exec(ctx, "insert into kiln.migrations (version, name, applied_at) values (999, 'future', now())"); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, pool, true, []string{"newer", "999"})
	if _, err := New(ctx, pool, NoMigrate()); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("New with NoMigrate on a newer schema returns %v", err)
	}
}

// TestReadOnlyServer meets a server that takes no writes, as a standby does: New on an empty one says so, an open store's writes say so,
// and reads work.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pg := pgserver.Start(t, 0)
	s := openAt(t, pg.DSN("postgres"))
	s.Close()
	pg.Stop(pgserver.Fast)
	pg.Standby()
	pg.Start()
	s = openAt(t, pg.DSN("postgres"))
	if _, err := s.Counts(ctx); err != nil {
		t.Errorf("Counts returns %v", err)
	}
	if _, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}}); err == nil || !strings.Contains(err.Error(), "during recovery") {
		t.Errorf("Insert returns %v", err)
	}
	if _, err := New(ctx, dial(t, pg.DSN("postgres")), Schema("other")); err == nil || !strings.Contains(err.Error(), "during recovery") {
		t.Errorf("New returns %v", err)
	}
}
