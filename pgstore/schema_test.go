package pgstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln/storekit"
)

// schemaQuery describes everything in a schema, from the catalogs, in words that all versions of PostgreSQL have in common.
const schemaQuery = `
with n as (select oid from pg_namespace where nspname = $1),
tables as (
    select c.oid, c.relname, coalesce(' with (' || (select string_agg(o, ', ' order by o) from unnest(c.reloptions) o) || ')', '') as options
    from pg_class c, n where c.relnamespace = n.oid and c.relkind = 'r'
)
select 'sequence ' || c.relname || ' as ' || format_type(s.seqtypid, null) || ';'
from pg_class c join pg_sequence s on s.seqrelid = c.oid, n
where c.relnamespace = n.oid and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'i')
union all
select e'\ntable ' || t.relname || e' (\n' || (
    select string_agg('    ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        || case when co.collname is not null and co.collname <> 'default' then ' collate ' || quote_ident(co.collname) else '' end
        || case when a.attnotnull then ' not null' else '' end
        || case a.attidentity when '' then '' else ' generated as identity' end
        || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''), e',\n' order by a.attnum)
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_collation co on co.oid = a.attcollation
    where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped)
    || e'\n)' || t.options || ';'
    || coalesce((select string_agg(e'\n' || pg_get_indexdef(i.indexrelid) || ';', '' order by pg_get_indexdef(i.indexrelid) collate "C") from pg_index i where i.indrelid = t.oid), '')
    || coalesce((select string_agg(e'\n' || pg_get_constraintdef(k.oid) || ';', '' order by k.conname collate "C") from pg_constraint k
        where k.conrelid = t.oid and k.contype in ('c', 'f', 'u', 'x')), '')
from tables t`

// TestSchemaGolden shows every change of the schema in review. KILN_UPDATE_GOLDEN=1 writes the file.
func TestSchemaGolden(t *testing.T) {
	pool := newPool(t)
	s := openStore(t, pool, newSchema(t))
	got := "-- The schema after all migrations, as the catalogs describe it. KILN_UPDATE_GOLDEN=1 writes this file.\n\n" + describe(t, pool, s.schema)
	const golden = "testdata/schema.golden.sql"
	if os.Getenv("KILN_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("the schema is not that of %s; KILN_UPDATE_GOLDEN=1 writes it anew:\n%s", golden, got)
	}
}

// describe is a schema as text, without its name.
func describe(t *testing.T, pool *pgxpool.Pool, schema string) string {
	t.Helper()
	rows, err := pool.Query(context.Background(), schemaQuery, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var parts []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, strings.ReplaceAll(text, " "+schema+".", " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(parts)
	return strings.TrimLeft(strings.Join(parts, "\n"), "\n") + "\n"
}

// shippedMigrations are the hashes of the migrations. Once one is released it never changes; until the first release they
// may, and this list with them.
var shippedMigrations = map[string]string{
	"001_start": "518fcc4df6422b32",
}

func TestShippedMigrations(t *testing.T) {
	m, err := storekit.ParseMigrations(migrationFiles, "migrations", storekit.PrefixMark)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, step := range m.Migrations() {
		sum := sha256.Sum256([]byte(step.SQL))
		found[step.String()] = hex.EncodeToString(sum[:8])
	}
	if len(found) == 0 {
		t.Fatal("no migrations")
	}
	for name, want := range shippedMigrations {
		if found[name] != want {
			t.Errorf("migration %s has the hash %s, it was released with %s; add a new one instead", name, found[name], want)
		}
	}
	if len(shippedMigrations) != len(found) {
		t.Errorf("%d migrations are listed with their hashes, there are %d: %v", len(shippedMigrations), len(found), found)
	}
}

// TestStatementsUsed compares the names in the SQL files with those that the code mentions.
func TestStatementsUsed(t *testing.T) {
	texts, err := newTexts("kiln")
	if err != nil {
		t.Fatal(err)
	}
	mentioned, run := namesInCode(t)
	names := texts.Names()
	for _, name := range names {
		if !mentioned[name] {
			t.Errorf("statement %s is not used", name)
		}
	}
	for name := range run {
		if !slices.Contains(names, name) {
			t.Errorf("the code runs %q, which no SQL file has", name)
		}
	}
	if len(run) < 50 {
		t.Errorf("only %d names of statements are found in the code", len(run))
	}
}

// running are the methods that run a statement, with the place of its name among their arguments.
var running = map[string]int{"exec": 0, "affect": 0, "must": 1, "each": 0, "one": 0, "list": 0, "names": 0, "SQL": 0}

// namesInCode collects the string literals of the package, and those that are the name in a call that runs a statement.
func namesInCode(t *testing.T) (mentioned, run map[string]bool) {
	t.Helper()
	mentioned, run = map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					mentioned[s] = true
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					break
				}
				at, ok := running[sel.Sel.Name]
				if !ok || len(n.Args) <= at {
					break
				}
				if lit, ok := n.Args[at].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					s, _ := strconv.Unquote(lit.Value)
					run[s] = true
				}
			}
			return true
		})
	}
	return mentioned, run
}
