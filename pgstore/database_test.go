package pgstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// defaultServer is where tests look for a server when KILN_POSTGRES names none.
const defaultServer = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"

// testDatabase is the address of the database that the tests of this run have for themselves.
var testDatabase string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// testMain makes a database for the tests and drops it when they are over.
func testMain(m *testing.M) int {
	address := os.Getenv("KILN_POSTGRES")
	if address == "" {
		address = defaultServer
	}
	name := "kiln_test_" + strings.ToLower(rand.Text()[:10])
	if err := onServer(address, "create database "+name); err != nil {
		fmt.Fprintf(os.Stderr, "pgstore: the tests need a PostgreSQL server on which they may create databases; KILN_POSTGRES names one: %v\n", err)
		return 1
	}
	defer func() {
		if err := onServer(address, "drop database "+name+" with (force)"); err != nil {
			fmt.Fprintf(os.Stderr, "pgstore: the database %s of the tests is still there: %v\n", name, err)
		}
	}()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	testDatabase = inDatabase(address, config.Database, name)
	return m.Run()
}

// inDatabase is the address of another database of a server.
func inDatabase(address, from, to string) string {
	if at := strings.LastIndex(address, "/"+from); strings.Contains(address, "://") && from != "" && at >= 0 {
		return address[:at] + "/" + to + address[at+1+len(from):]
	}
	return address + " dbname=" + to
}

func onServer(address, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// schemas numbers the schemas of the tests.
var schemas atomic.Int64

func schemaName() string { return fmt.Sprintf("t%d", schemas.Add(1)) }

// newSchema is the option of a schema that no other test has, and that is dropped at the end of the test.
func newSchema(t testing.TB) Option {
	t.Helper()
	name := schemaName()
	t.Cleanup(func() {
		if err := onServer(testDatabase, "drop schema if exists "+name+" cascade"); err != nil {
			t.Error(err)
		}
	})
	return Schema(name)
}

// newPool opens an application's pool on the database of the tests.
func newPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return openPool(t, func(*pgxpool.Config) {})
}

// openPool is newPool with other settings.
func openPool(t testing.TB, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(testDatabase)
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// newStore opens a store in a schema of its own and closes it at the end of the test. Options may name another schema.
func newStore(t testing.TB, opts ...Option) *Store {
	t.Helper()
	return openStore(t, newPool(t), append([]Option{newSchema(t)}, opts...)...)
}

// openStore opens a store on a pool and closes it at the end of the test.
func openStore(t testing.TB, pool *pgxpool.Pool, opts ...Option) *Store {
	t.Helper()
	s, err := New(context.Background(), pool, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
