package sqlitestore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// TestSchemaGolden shows every change of the schema in review. KILN_UPDATE_GOLDEN=1 writes the file.
func TestSchemaGolden(t *testing.T) {
	db := newPool(t)
	newStore(t, db)
	var b strings.Builder
	b.WriteString("-- The schema after all migrations. KILN_UPDATE_GOLDEN=1 writes this file.\n")
	rows, err := db.Query("select sql from sqlite_schema where sql is not null order by type desc, name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n" + text + ";\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/schema.golden.sql"
	if os.Getenv("KILN_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != b.String() {
		t.Errorf("the schema is not that of %s; KILN_UPDATE_GOLDEN=1 writes it anew:\n%s", golden, b.String())
	}
}

// shippedMigrations are the hashes of the migrations. Once one is released it never changes; until the first release they
// may, and this list with them.
var shippedMigrations = map[string]string{
	"001_start": "824c3b019e9ac5d4",
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
	texts, err := newTexts("kiln_")
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
}

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
				if !ok || len(n.Args) == 0 || !slices.Contains([]string{"exec", "affect", "many", "each", "one", "strings", "SQL"}, sel.Sel.Name) {
					break
				}
				if lit, ok := n.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					s, _ := strconv.Unquote(lit.Value)
					run[s] = true
				}
			}
			return true
		})
	}
	return mentioned, run
}

// parameters counts the parameters of a statement.
func parameters(text string) int {
	n := 0
	for _, m := range regexp.MustCompile(`\?(\d*)`).FindAllStringSubmatch(text, -1) {
		if k, err := strconv.Atoi(m[1]); err == nil {
			n = max(n, k)
		} else {
			n++
		}
	}
	return n
}

// TestStatementsPrepare prepares every statement, those for several rows included.
func TestStatementsPrepare(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	for _, name := range s.texts.Names() {
		texts := []string{s.texts.SQL(name)}
		if (strings.HasPrefix(name, "insert_") || name == "history_add") && strings.Contains(texts[0], "values (?") {
			texts = append(texts, s.texts.rows(name, 3))
		}
		for _, text := range texts {
			stmt, err := db.Prepare(text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			stmt.Close()
		}
	}
}

// mayScan lists the tables that a statement may read whole, with the reason. Tables without a row per job or per minute
// are small.
var mayScan = map[string]string{
	"lease":   "as many rows as jobs run",
	"queues":  "a row per paused queue",
	"servers": "a row per server",
	"leaders": "a row per lease",
	"totals":  "one row",
	"ids":     "one row",
}

// boundedScans are statements that stop after a fixed number of rows.
var boundedScans = map[string]string{
	"counts":               "each count stops at the cap",
	"recurring_list":       "it lists them all, for a page of theirs",
	"problems_failed_runs": "the first definitions by id, up to a limit",
	"batch_idle":           "an index of what should not be there, up to a limit",
	"endings_next":         "the oldest ones in order, up to a limit",
	"prune_batches":        "an index of what is over, up to a limit",
}

// TestPlans looks for statements that would read a growing table whole.
func TestPlans(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	fillForPlans(t, s)
	for range 2 {
		for _, name := range s.texts.Names() {
			if strings.HasPrefix(name, "check_") || boundedScans[name] != "" {
				continue
			}
			checkPlan(t, db, name, s.texts.SQL(name))
		}
		// The same with the statistics that an application's own ANALYZE leaves.
		if _, err := db.Exec("analyze"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagePlans does the same for the queries of pages, with every filter.
func TestPagePlans(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	fillForPlans(t, s)
	for _, state := range driver.States {
		for filters := range 32 {
			for _, cursor := range []*storekit.Cursor{nil, {Value: 1, ID: 1}} {
				q := driver.JobQuery{State: state}
				pick := func(bit int, set func()) {
					if filters&bit != 0 {
						set()
					}
				}
				pick(1, func() { q.Queue = "default" })
				pick(2, func() { q.Kind = "kind" })
				pick(4, func() { q.BatchID = 1 })
				pick(8, func() { q.Tag = "tag" })
				pick(16, func() { q.Retries = true })
				b := pageBuilder{query: q, limit: 20, prefix: "kiln_", cursor: cursor}
				b.build()
				text := b.text()
				if got, want := parameters(text), len(b.args)+len(b.filterArgs)+1; got != want {
					t.Errorf("%+v: %d parameters, %d arguments", q, got, want)
				}
				// A table of candidates is read in the order of an index up to the limit.
				checkPlan(t, db, fmt.Sprintf("page %+v", q), text, b.scanned())
				if q.BatchID > 0 {
					b = pageBuilder{query: q, limit: 20, prefix: "kiln_", cursor: cursor, byBatch: true}
					b.build()
					checkPlan(t, db, fmt.Sprintf("page of a small batch %+v", q), b.text())
				}
			}
		}
	}
}

// scanned names the table whose candidates may be scanned in order when no filter narrows them.
func (b *pageBuilder) scanned() string {
	if b.query.State == driver.Enqueued {
		return ""
	}
	return places[b.query.State].table
}

var tableName = regexp.MustCompile(`kiln_(\w+)(?:\s+(?:as\s+)?(\w+))?`)

func checkPlan(t *testing.T, db *sql.DB, name, text string, ordered ...string) {
	t.Helper()
	alias := map[string]string{}
	for _, m := range tableName.FindAllStringSubmatch(text, -1) {
		alias["kiln_"+m[1]] = m[1]
		alias[m[2]] = m[1]
	}
	args := make([]any, parameters(text))
	for i := range args {
		args[i] = int64(1)
	}
	rows, err := db.Query("explain query plan "+text, args...)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		rest, scan := strings.CutPrefix(detail, "SCAN ")
		if !scan {
			continue
		}
		table := alias[strings.Fields(rest)[0]]
		inOrder := slices.Contains(ordered, table) && (strings.Contains(rest, "USING") || table == "awaiting" || table == "lease")
		if table != "" && mayScan[table] == "" && !inOrder {
			t.Errorf("%s scans %s: %s", name, table, detail)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// fillForPlans puts some thousand jobs into several states.
func fillForPlans(t *testing.T, s *Store) {
	t.Helper()
	ctx := context.Background()
	fill(t, s, 3000)
	jobs := plainJobs(1000)
	for i := range jobs {
		jobs[i].Delay = 1e15
	}
	if _, err := s.Insert(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 2000, Server: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var consoles []driver.ConsoleWrite
	for _, job := range claimed {
		consoles = append(consoles, driver.ConsoleWrite{Ref: job.Ref, Lines: make([]string, 5), Progress: 50})
	}
	if _, err := s.WriteConsoles(ctx, consoles); err != nil {
		t.Fatal(err)
	}
	keyed := plainJobs(2000)
	for i := range keyed {
		p := &keyed[i]
		switch i % 4 {
		case 0:
			p.UniqueKey, p.UniqueFor = fmt.Append(nil, i), time.Duration(i%8)*time.Hour
		case 1:
			p.LimitKey, p.LimitMax = "max", 1
		case 2:
			p.LimitKey, p.LimitRate, p.LimitPer, p.LimitBurst = "rate", 1, time.Hour, 1
		case 3:
			p.LimitKey, p.LimitMax = fmt.Sprint("key ", i), 1
		}
	}
	if _, err := s.Insert(ctx, keyed); err != nil {
		t.Fatal(err)
	}
	states := []driver.Outcome{{State: driver.Succeeded}, {State: driver.Deleted}, {State: driver.Failed, Reason: "permanent"}, {State: driver.Scheduled, Delay: 1e12, Reason: "retry"}}
	outs := make([]driver.Outcome, len(claimed)-100)
	for i := range outs {
		outs[i] = states[i%len(states)]
		outs[i].Ref = claimed[i].Ref
	}
	if _, err := s.Finish(ctx, "a", outs); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		r := driver.Recurring{ID: fmt.Sprint(i), Spec: "@daily", Location: "UTC", NextRunAt: storekit.Instant(int64(1 + i)), Paused: i%2 == 0}
		if err := s.PutRecurring(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	fillFlows(t, s, claimed[len(claimed)-100:])
	for i := range 20 { // signals
		if err := s.PauseQueue(ctx, "paused", i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
}

// fillFlows adds batches with members, jobs that wait for them and for others, and endings that are not settled.
func fillFlows(t *testing.T, s *Store, running []driver.Job) {
	t.Helper()
	ctx := context.Background()
	for range 20 {
		outer, err := s.OpenBatch(ctx, driver.NewBatch{})
		if err != nil {
			t.Fatal(err)
		}
		inner, err := s.OpenBatch(ctx, driver.NewBatch{Parent: outer})
		if err != nil {
			t.Fatal(err)
		}
		jobs := plainJobs(100)
		for i := range jobs {
			switch i % 4 {
			case 0:
				jobs[i].BatchID = inner
			case 1:
				jobs[i].AfterBatch = inner
			case 2:
				jobs[i].Parents = []driver.Parent{{Index: i - 1, On: driver.OnSucceeded}, {ID: running[i%len(running)].ID, On: driver.OnSucceeded}}
			}
		}
		if _, err := s.Insert(ctx, jobs); err != nil {
			t.Fatal(err)
		}
	}
	wide := plainJobs(3 * settleAtMost)
	for i := range wide {
		wide[i].Parents = []driver.Parent{{ID: running[0].ID, On: driver.OnSucceeded}}
	}
	if _, err := s.Insert(ctx, wide); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(ctx, "a", []driver.Outcome{{Ref: running[0].Ref, State: driver.Succeeded}}); err != nil {
		t.Fatal(err)
	}
}

// TestStatsForgotten runs ANALYZE on tables of one row, which would make SQLite read them whole for ever.
func TestStatsForgotten(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "jobs.db")
	db := openPool(t, path)
	s := newStore(t, db)
	fill(t, s, 1)
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "a"})
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	if _, err := s.Finish(ctx, "a", []driver.Outcome{{Ref: jobs[0].Ref, State: driver.Succeeded}}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("create table own (id integer primary key, x); create index own_x on own (x); insert into own values (1, 1)"); err != nil {
		t.Fatal(err)
	}
	analyze := func() {
		t.Helper()
		if _, err := db.Exec("analyze"); err != nil {
			t.Fatal(err)
		}
		if notes(t, db, "kiln_done") == 0 {
			t.Fatal("ANALYZE noted nothing about the store's tables, so this test shows nothing")
		}
	}
	forgotten := func(when string) {
		t.Helper()
		if n := notes(t, db, "kiln_%"); n != 0 {
			t.Errorf("%s %d notes are left", when, n)
		}
		if notes(t, db, "own") == 0 {
			t.Errorf("%s the notes on another table are gone", when)
		}
		checkPlan(t, openPool(t, path), "locate "+when, s.texts.SQL("locate"))
	}
	analyze()
	if _, err := s.Heartbeat(ctx, driver.ServerInfo{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	forgotten("after a heartbeat")
	analyze()
	newStore(t, db)
	forgotten("after New")
}

func notes(t *testing.T, db *sql.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRow("select count(*) from sqlite_stat1 where tbl like ?", table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
