package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// small are the tables that a statement may read whole, with the reason.
var small = map[string]string{
	"lease":    "as many rows as jobs run",
	"queues":   "a row per paused queue",
	"servers":  "a row per server",
	"leaders":  "a row per lease",
	"totals":   "one row",
	"counts":   "rows that wait for the next fold",
	"arrivals": "rows that wait to be taken in",
	"tallies":  "rows that wait to be taken in",
	"job_ids":  "a sequence",
	"limits":   "a row per limit key that is in use",
}

// whole are the statements that may read a growing table whole, with the reason.
var whole = map[string]string{
	"recurring_list": "it lists them all, for a page of theirs",
	"arrivals_any":   "it ends with the first row of an index of what is to be done",
	"promote_look":   "it ends with the first row of an index of what is to be done",
	"sweep_look":     "it ends with the first row of each index",
}

// The two ways of the server to plan a prepared statement.
const (
	custom  = "force_custom_plan"
	generic = "force_generic_plan"
)

// plan is a node of a plan, as far as these tests look at it.
type plan struct {
	Type      string `json:"Node Type"`
	Relation  string `json:"Relation Name"`
	Index     string `json:"Index Name"`
	IndexCond string `json:"Index Cond"`
	TidCond   string `json:"TID Cond"`
	Filter    string `json:"Filter"`
	Role      string `json:"Parent Relationship"`
	Hit       int    `json:"Shared Hit Blocks"`
	Read      int    `json:"Shared Read Blocks"`
	Plans     []plan `json:"Plans"`
}

// planner explains prepared statements on one connection, under the settings of the store.
type planner struct {
	t    *testing.T
	s    *Store
	conn *pgx.Conn
	n    int
}

func newPlanner(t *testing.T, s *Store, conn *pgx.Conn) *planner {
	t.Helper()
	p := &planner{t: t, s: s, conn: conn}
	for _, text := range []string{"set enable_seqscan = off", "set jit = off", "set search_path = pg_catalog"} {
		p.run(text)
	}
	return p
}

func (p *planner) run(text string) {
	p.t.Helper()
	if _, err := p.conn.Exec(context.Background(), text); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
}

// prepare prepares a statement and returns its name there and its parameters' types.
func (p *planner) prepare(text string) (name string, types []uint32) {
	p.t.Helper()
	p.n++
	name = fmt.Sprint("plan", p.n)
	prepared, err := p.conn.Prepare(context.Background(), name, text)
	if err != nil {
		p.t.Fatalf("%v in %s", err, text)
	}
	return name, prepared.ParamOIDs
}

// explain returns the plan of a prepared statement. With analyze it runs it, and takes back what it did.
func (p *planner) explain(name, args, mode string, analyze bool) plan {
	p.t.Helper()
	p.run("begin")
	defer p.run("rollback")
	p.run("set local plan_cache_mode = " + mode)
	how := "format json"
	if analyze {
		how += ", analyze, buffers, timing off"
	}
	var text []byte
	query := "explain (" + how + ") execute " + name + args
	if err := p.conn.QueryRow(context.Background(), query, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		p.t.Fatalf("%s: %v in %s", name, err, query)
	}
	var out []struct{ Plan plan }
	if err := json.Unmarshal(text, &out); err != nil {
		p.t.Fatal(err)
	}
	return out[0].Plan
}

// someArgs are arguments of the types, a thousand of each that is a list.
func someArgs(t *testing.T, types []uint32) string {
	t.Helper()
	if len(types) == 0 {
		return ""
	}
	list := func(format string, from int) string {
		var parts []string
		for i := range 1000 {
			parts = append(parts, strings.ReplaceAll(format, "#", fmt.Sprint(from+i)))
		}
		return "'{" + strings.Join(parts, ",") + "}'"
	}
	var args []string
	for _, oid := range types {
		switch oid {
		case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID:
			args = append(args, "1000")
		case pgtype.TextOID:
			args = append(args, "'default'")
		case pgtype.BoolOID:
			args = append(args, "true")
		case pgtype.ByteaOID:
			args = append(args, "'x'")
		case pgtype.Int8ArrayOID:
			args = append(args, list("#", 1_500_000))
		case pgtype.Int4ArrayOID, pgtype.Int2ArrayOID:
			args = append(args, list("1", 1))
		case pgtype.TextArrayOID:
			args = append(args, list("key#", 1))
		case pgtype.BoolArrayOID:
			args = append(args, list("true", 1))
		case pgtype.ByteaArrayOID:
			args = append(args, list(`\\\\x#`, 10_000_000))
		default:
			t.Fatalf("no argument for a parameter of type %d", oid)
		}
	}
	return "(" + strings.Join(args, ", ") + ")"
}

// scans finds what reads a growing table whole. bounded says that the rows are wanted one by one, up to a limit.
func (n *plan) scans(bounded bool, found []string) []string {
	switch n.Type {
	case "Limit":
		bounded = true
	case "Sort", "Incremental Sort", "Aggregate", "Hash", "WindowAgg", "Unique", "SetOp", "Materialize", "ModifyTable":
		bounded = false
	}
	if n.Relation != "" && small[n.Relation] == "" && strings.HasSuffix(n.Type, "Scan") {
		seeks := n.IndexCond != "" || n.TidCond != "" || n.Type == "Bitmap Heap Scan"
		inOrder := bounded && n.Index != "" && n.Filter == ""
		if !seeks && !inOrder {
			found = append(found, fmt.Sprintf("%s of %s by %q, filter %q", n.Type, n.Relation, n.Index, n.Filter))
		}
	}
	for i := range n.Plans {
		child := &n.Plans[i]
		found = child.scans(bounded && child.Role != "Inner" && child.Role != "InitPlan" && child.Role != "SubPlan", found)
	}
	return found
}

// explainable reports whether the server plans a statement.
func explainable(text string) bool { return !strings.HasPrefix(text, "copy ") }

// checkShapes looks for statements that would read a growing table whole.
func checkShapes(t *testing.T, p *planner, when string, modes ...string) {
	t.Helper()
	for _, name := range p.s.texts.Names() {
		text := p.s.texts.SQL(name)
		if strings.HasPrefix(name, "check_") || whole[name] != "" || !explainable(text) {
			continue
		}
		prepared, types := p.prepare(text)
		args := someArgs(t, types)
		for _, mode := range modes {
			tree := p.explain(prepared, args, mode, false)
			for _, scan := range tree.scans(false, nil) {
				t.Errorf("%s, %s, %s: %s", name, when, mode, scan)
			}
		}
		p.run("deallocate " + prepared)
	}
}

// checkPages does the same for the queries of pages, with every filter. They are planned for their own arguments.
func checkPages(t *testing.T, p *planner) {
	t.Helper()
	for _, state := range driver.States {
		for filters := range 32 {
			for _, cursor := range []*storekit.Cursor{nil, {Value: 1, ID: 1}} {
				q := driver.JobQuery{State: state}
				pick := func(bit int, set func()) {
					if filters&bit != 0 {
						set()
					}
				}
				pick(1, func() { q.Queue = "queue1" })
				pick(2, func() { q.Kind = "kind1" })
				pick(4, func() { q.BatchID = 1 })
				pick(8, func() { q.Tag = "tag" })
				pick(16, func() { q.Retries = true })
				checkPage(t, p, q, cursor, false)
				if q.BatchID > 0 {
					checkPage(t, p, q, cursor, true)
				}
			}
		}
	}
}

func checkPage(t *testing.T, p *planner, q driver.JobQuery, cursor *storekit.Cursor, byBatch bool) {
	t.Helper()
	b := newPage(q, p.s.schema)
	b.cursor, b.byBatch = cursor, byBatch
	if q.State == driver.Enqueued && !byBatch {
		b.build([]string{"default", "mail", "rare"})
	} else {
		b.build(nil)
	}
	text := b.text(b.arg(int64(21), "bigint"))
	if got := parameters(text); got != len(b.args) {
		t.Errorf("%+v: %d parameters, %d arguments", q, got, len(b.args))
	}
	prepared, _ := p.prepare(text)
	tree := p.explain(prepared, literals(b.args), custom, false)
	for _, scan := range tree.scans(false, nil) {
		t.Errorf("page %+v, cursor %v, by batch %v: %s", q, cursor != nil, byBatch, scan)
	}
	p.run("deallocate " + prepared)
}

// literals writes arguments of a page's query into the text of an execute.
func literals(args []any) string {
	var parts []string
	for _, arg := range args {
		if text, ok := arg.(string); ok {
			parts = append(parts, "'"+text+"'")
			continue
		}
		parts = append(parts, fmt.Sprint(arg))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// parameters counts the parameters of a statement.
func parameters(text string) int {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\d+`).FindAllString(text, -1) {
		seen[m] = true
	}
	return len(seen)
}

// TestPlansOfEmptyTables looks at the plans that a server makes before there are any jobs, and that prepared statements keep for a
// while when there are: those that are made anew for each call see how large the tables have become.
func TestPlansOfEmptyTables(t *testing.T) {
	pool := newPool(t)
	s := openStore(t, pool, newSchema(t))
	conn := planConn(t)
	p := newPlanner(t, s, conn)
	checkShapes(t, p, "tables never looked at", generic)
	for _, table := range tableNames(t, p) {
		p.run("vacuum analyze " + quoted(s.schema) + table)
	}
	checkShapes(t, p, "empty tables", generic)
}

// planConn opens a connection of its own.
func planConn(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), testDatabase)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func tableNames(t *testing.T, p *planner) []string {
	t.Helper()
	rows, err := p.conn.Query(context.Background(), "select relname from pg_class where relkind = 'r' and relnamespace = $1::regnamespace", p.s.schema)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	slices.Sort(names)
	return names
}
