package pgstore

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// spares are schemas that tests of the conformance suite have left empty. Making one takes longer than most of its cases.
var spares struct {
	sync.Mutex
	names []string
	// empty is the text that empties a schema, with its name for NAME.
	empty string
}

// newSuiteStore is newStore for the many cases of the conformance suite and of the model, which leave a schema for the next one.
func newSuiteStore(t *testing.T, opts ...Option) *Store {
	t.Helper()
	spares.Lock()
	name := ""
	if n := len(spares.names); n > 0 {
		name = spares.names[n-1]
		spares.names = spares.names[:n-1]
	}
	spares.Unlock()
	if name == "" {
		name = schemaName()
	}
	// Nothing goes down in these cases, so that they need not wait for the disk.
	pool := openPool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["synchronous_commit"] = "off" })
	t.Cleanup(func() {
		if t.Failed() {
			return // the database goes with it
		}
		if err := emptySchema(name); err != nil {
			t.Errorf("emptying schema %s: %v", name, err)
			return
		}
		spares.Lock()
		spares.names = append(spares.names, name)
		spares.Unlock()
	})
	return openStore(t, pool, append([]Option{Schema(name)}, opts...)...)
}

// emptySchema removes all that a store has written.
func emptySchema(name string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, testDatabase)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	text, err := emptyText(ctx, conn, name)
	if err != nil {
		return err
	}
	_, err = conn.PgConn().Exec(ctx, strings.ReplaceAll(text, "NAME", name)).ReadAll()
	return err
}

func emptyText(ctx context.Context, conn *pgx.Conn, name string) (string, error) {
	spares.Lock()
	defer spares.Unlock()
	if spares.empty != "" {
		return spares.empty, nil
	}
	rows, err := conn.Query(ctx, `select case when relkind = 'S' then 'alter sequence NAME.' || relname || ' restart'
		when relname = 'totals' then 'update NAME.totals set succeeded = 0, failed = 0, deleted = 0, retried = 0'
		else 'delete from NAME.' || relname end
		from pg_class where relnamespace = $1::text::regnamespace and relkind in ('r', 'S') and relname <> 'migrations'`, name)
	if err != nil {
		return "", err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	spares.empty = strings.Join(statements, ";\n")
	return spares.empty, err
}
