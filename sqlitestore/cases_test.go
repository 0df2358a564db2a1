package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// The tests named TestCaseB… each try a failure that users of other job systems have reported. A number names the same failure
// everywhere.

// cases are those that a SQLite file can have, each with what else tries it, in this package if nothing else is said.
var cases = map[string]string{
	"B020": "TestMicroseconds; the other drivers in proof",
	"B031": "TestMergedDuplicates",
	"B032": "drivertest: Tx/Rollback/unique, Tx/Unique",
	"B034": "TestSweepLimits; drivertest: Unique/Released",
	"B055": "TestTxWithoutNotify",
	"B056": "TestRefusedInsert; drivertest: Tx/Rollback",
	"B059": "parameter limits: drivertest, which inserts by the thousand",
	"B061": "",
	"B097": "TestCommitAnswerLost, TestFaultSeeds",
	"B098": "TestPools, TestConcurrentNew",
	"B104": "TestOwnTransaction, TestReadFallback",
	"B113": "TestLockedForAMinute, TestBusyWaits, TestTxReadFirst; the other drivers in proof",
	"B115": "TestConcurrentNew, TestMigrationIsOneTransaction",
	"B116": "there is only one migration yet, so nothing is rewritten",
	"B119": "TestFull, TestFullResults; retention: drivertest",
	"B124": "TestLargePayload",
	"B125": "drivertest, for the bounds of each field",
	"B127": "TestBinaryText; drivertest",
	"B128": "drivertest, for text in every field",
}

// casesElsewhere are cases of the same kinds that need what SQLite does not have.
var casesElsewhere = map[string]string{
	"B019": "needs a database with a time zone of its own; a stamp is a number of microseconds here",
	"B058": "needs transactions that commit in another order than they took their ids; there is one writer",
	"B094": "needs a network to the database",
	"B095": "needs a network to the database; statements of an embedded one are bounded by what they read",
	"B106": "needs deadlocks between transactions; SQLite has one writer",
	"B107": "needs row locks; there is one lock, see B113",
	"B112": "needs locks that belong to sessions; leases are rows",
	"B118": "needs dead rows; in WAL mode a long reader lets the log grow, and claims read the same pages as ever",
}

// TestCasesAreComplete pins that no case is forgotten: each has a test or a reason, and the tests it names exist.
func TestCasesAreComplete(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
	}
	for id, also := range cases {
		if !tests["TestCase"+id] || casesElsewhere[id] != "" {
			t.Errorf("case %s: tested %v, elsewhere: %q", id, tests["TestCase"+id], casesElsewhere[id])
		}
		for _, name := range regexp.MustCompile(`Test\w+`).FindAllString(also, -1) {
			if !tests[name] {
				t.Errorf("case %s names %s, which there is not", id, name)
			}
		}
	}
	for name := range tests {
		if id, ok := strings.CutPrefix(name, "TestCaseB"); ok {
			if _, listed := cases["B"+id]; !listed {
				t.Errorf("case B%s is not in the list", id)
			}
		}
	}
}

// Timestamps compare right at every fraction of a second, since they are numbers.
func TestCaseB020(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, newPool(t))
	base := time.Date(2038, 1, 19, 3, 14, 7, 0, time.UTC)
	fractions := []time.Duration{999_999, 100_000, 0, 120_000, 1, 999_000, 10}
	for _, us := range fractions {
		at := base.Add(us * time.Microsecond)
		out, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1, RunAt: at}})
		if err != nil {
			t.Fatal(err)
		}
		if rec, err := s.Job(ctx, out[0].ID); err != nil || !rec.RunAt.Equal(at) || rec.RunAt.Location() != time.UTC {
			t.Errorf("%v comes back as %v, %v", at, rec.RunAt, err)
		}
	}
	page, err := s.Jobs(ctx, driver.JobQuery{State: driver.Scheduled, Limit: 10})
	if err != nil || len(page.Records) != len(fractions) || !slices.IsSortedFunc(page.Records, func(a, b driver.Record) int { return a.RunAt.Compare(b.RunAt) }) {
		t.Errorf("%d jobs are listed, not by their time, %v", len(page.Records), err)
	}
}

// A call inserts all of its jobs or none, however many.
func TestCaseB059(t *testing.T) {
	ctx := context.Background()
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	n := 0
	db.set(func(query string) error {
		if strings.Contains(query, "insert into kiln_jobs") {
			if n++; n == 50 {
				return full{}
			}
		}
		return nil
	})
	const many = 20_000
	if _, err := s.Insert(ctx, plainJobs(many)); primary(err) != codeFull {
		t.Errorf("Insert returns %v", err)
	}
	db.set(nil)
	checked(t, s, 0)
	out, err := s.Insert(ctx, plainJobs(many))
	if err != nil || len(out) != many {
		t.Errorf("Insert returns %d results, %v", len(out), err)
	}
	checked(t, s, many)
}

// Rows that are deleted behind the store's back cost their jobs, and nothing else.
func TestCaseB061(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	fill(t, s, 3)
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 3, Server: "a"})
	if err != nil || len(jobs) != 3 {
		t.Fatal(jobs, err)
	}
	for _, table := range []string{"kiln_lease", "kiln_jobs"} {
		if _, err := db.Exec("delete from "+table+" where id = ?", jobs[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	results, err := s.Finish(ctx, "a", []driver.Outcome{{Ref: jobs[0].Ref, State: driver.Succeeded}, {Ref: jobs[1].Ref, State: driver.Succeeded}})
	if err != nil || results[0] != driver.Stale || results[1] != driver.Applied {
		t.Errorf("Finish returns %v, %v", results, err)
	}
	if err := s.SetMeta(ctx, jobs[0].Ref, map[string]string{"a": "b"}); !errors.Is(err, driver.ErrLost) {
		t.Errorf("SetMeta returns %v", err)
	}
	checked(t, s, 0)
}

// An enqueue that returns nil has stored its job once; one that returns an error has stored it at most once, and says so if it
// may have.
func TestCaseB097(t *testing.T) {
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	client := kiln.NewClient(s)
	for i := range 40 {
		fits, also := committing, looking
		if i%2 == 0 {
			fits = committed
		}
		if i%4 < 2 {
			also = nil
		}
		db.obey(once(ioError{}, fits, also))
		_, err := client.Enqueue(context.Background(), task{i})
		db.obey(nil)
		var n int
		if err := db.QueryRow("select count(*) from kiln_jobs where args ->> 'N' = ?", i).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if err == nil && n != 1 || err != nil && n > 1 || n == 1 && err != nil && !errors.Is(err, driver.ErrUnknown) {
			t.Errorf("enqueue %d returns %v, %d jobs are there", i, err, n)
		}
	}
}

// A store that cannot be opened is an error of New, which keeps nothing, and not the end of the process.
func TestCaseB098(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{"no folder": filepath.Join(dir, "none", "jobs.db"), "a folder": dir} {
		db := openPool(t, path)
		if _, err := New(context.Background(), db); err == nil || db.Stats().InUse != 0 {
			t.Errorf("%s: New returns %v and keeps %d connections", name, err, db.Stats().InUse)
		}
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(context.Background(), openPool(t, text)); primary(err) != codeNotADB {
		t.Errorf("on a text file New returns %v", err)
	}
}

// The application holds every connection but the store's for longer than a silent server lives: the server goes on.
func TestCaseB104(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		db := openPool(t, path)
		db.SetMaxOpenConns(3)
		s := newStore(t, db)
		var runs atomic.Int64
		server := start(t, s, kiln.ServerConfig{}, counted(&runs))
		for range 2 {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			var n int
			if err := tx.QueryRow("select count(*) from kiln_jobs").Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
		ids := []int64{enqueue(t, s, -100), enqueue(t, s, 1)}
		pass(120 * time.Second)
		if st := server.Stats(); server.Healthy() != nil || st.HeartbeatAge > 10*time.Second {
			t.Errorf("after two minutes Healthy returns %v, the last heartbeat is %s old", server.Healthy(), st.HeartbeatAge)
		}
		succeeded(t, s, ids...)
	})
}

// Writers of several processes and an application with long transactions: nobody ever hears of a busy database.
func TestCaseB113(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		own := openPool(t, path)
		server := newStore(t, openPool(t, path))
		var runs atomic.Int64
		srv := start(t, server, kiln.ServerConfig{}, counted(&runs))
		stop := make(chan struct{})
		var app, wg sync.WaitGroup
		app.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(500 * time.Millisecond):
				}
				release := lock(t, own)
				<-time.After(2 * time.Second)
				release()
			}
		})
		for range 3 {
			s := newStore(t, openPool(t, path))
			for range 4 {
				wg.Go(func() {
					for range 10 {
						if _, err := s.Insert(context.Background(), plainJobs(2)); err != nil {
							t.Errorf("Insert returns %v", err)
						}
						<-time.After(time.Second)
					}
				})
			}
		}
		wg.Wait()
		if st := srv.Stats(); st.HeartbeatAge > 15*time.Second || srv.Healthy() != nil {
			t.Errorf("the last heartbeat is %s old, %v", st.HeartbeatAge, srv.Healthy())
		}
		close(stop)
		app.Wait()
		checked(t, server, 3*4*10*2)
	})
}

// A migration that fails at any statement, before or after it was done, leaves a database that the next one finishes.
func TestCaseB115(t *testing.T) {
	ctx := context.Background()
	for _, after := range []bool{false, true} {
		for k := 0; ; k++ {
			db := newHookedPool(t)
			n, failed := 0, false
			db.obey(func(s step) error {
				if s.does != "exec" || s.after != after {
					return nil
				}
				if n++; n == k+1 {
					failed = true
					return ioError{}
				}
				return nil
			})
			err := Migrate(ctx, db.DB)
			db.obey(nil)
			if !failed {
				if k < 4 || err != nil {
					t.Errorf("a migration without a fault returns %v after %d statements", err, k)
				}
				break
			}
			if err == nil {
				t.Errorf("a migration whose statement %d fails returns nil", k)
			}
			if err := Migrate(ctx, db.DB); err != nil {
				t.Errorf("after a fault at statement %d (after %v) Migrate returns %v", k, after, err)
			}
			checked(t, newStore(t, db.DB, NoMigrate()), 0)
		}
	}
}

// A start on a finished schema waits for nobody: neither for a writer nor for a long reader.
func TestCaseB116(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	newStore(t, openPool(t, path))
	db := openPool(t, path)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRow("select count(*) from kiln_jobs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	lock(t, db)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	began := time.Now()
	s, err := New(ctx, openPool(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("beside a writer New takes %s", took)
	}
}

// A full disk still lets old jobs be pruned, and then there is room.
func TestCaseB119(t *testing.T) {
	ctx := context.Background()
	now := time.Now()
	s := newStore(t, newPool(t), Clock(func() time.Time { return now }))
	jobs := plainJobs(300)
	for i := range jobs {
		jobs[i].Args = []byte(`"` + strings.Repeat("x", 3000) + `"`)
	}
	if _, err := s.Insert(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 300, Server: "a"})
	if err != nil || len(claimed) != 300 {
		t.Fatal(len(claimed), err)
	}
	outs := make([]driver.Outcome, len(claimed))
	for i, j := range claimed {
		outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Succeeded}
	}
	if _, err := s.Finish(ctx, "a", outs); err != nil {
		t.Fatal(err)
	}
	pragma(t, s, "max_page_count = 1") // not one page more than there are
	for err == nil {
		_, err = s.Insert(ctx, jobs[:1])
	}
	if primary(err) != codeFull {
		t.Fatalf("Insert returns %v", err)
	}
	now = now.Add(25 * time.Hour)
	if n, err := s.Prune(ctx, driver.PruneParams{Retention: driver.Retention{Succeeded: 24 * time.Hour}, Limit: 1000}); err != nil || n != 300 {
		t.Errorf("Prune on a full database removes %d, %v", n, err)
	}
	if _, err := s.Insert(ctx, jobs[:100]); err != nil {
		t.Errorf("afterwards Insert returns %v", err)
	}
}

// What other processes are told is small, however many queues a call touches.
func TestCaseB124(t *testing.T) {
	db := newPool(t)
	s := newStore(t, db)
	jobs := plainJobs(10_000)
	for i := range jobs {
		jobs[i].Queue = fmt.Sprintf("%0200d", i/2)
	}
	jobs[0].Args = []byte(`"` + strings.Repeat("x", 20<<20) + `"`)
	if _, err := s.Insert(context.Background(), jobs); err != nil {
		t.Fatal(err)
	}
	var rows, size int
	if err := db.QueryRow("select count(*), coalesce(sum(length(queue)), 0) from kiln_signals").Scan(&rows, &size); err != nil || rows > mostSignals || size > 200*mostSignals {
		t.Errorf("%d signals of %d bytes are written, %v", rows, size, err)
	}
}

// A job that is put off thousands of times does not grow.
func TestCaseB125(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	fill(t, s, 1)
	for range 10 * storekit.MaxHistory {
		jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "a"})
		if err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		out := driver.Outcome{Ref: jobs[0].Ref, State: driver.Enqueued, Refund: true, Reason: "snoozed"}
		if _, err := s.Finish(ctx, "a", []driver.Outcome{out}); err != nil {
			t.Fatal(err)
		}
	}
	var rows int
	if err := db.QueryRow("select count(*) from kiln_history").Scan(&rows); err != nil || rows != storekit.MaxHistory {
		t.Errorf("the history has %d rows, %v", rows, err)
	}
	checked(t, s, 1)
}

// Text that is cut is cut between characters, and what is not text is replaced.
func TestCaseB127(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, newPool(t))
	fill(t, s, 8)
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 8, Server: "a"})
	if err != nil {
		t.Fatal(err)
	}
	outs := make([]driver.Outcome, len(jobs))
	for i, j := range jobs {
		text := strings.Repeat("x", storekit.MaxError-i) + "😀\xf0\x9f\x98" + "\xff\x00tail"
		outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Failed, Reason: "permanent", Error: text, Trace: strings.Repeat("😀", storekit.MaxTrace)[i:]}
	}
	if _, err := s.Finish(ctx, "a", outs); err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		rec, err := s.Job(ctx, j.ID)
		if err != nil || len(rec.History) != 1 {
			t.Fatal(rec, err)
		}
		if e := rec.History[0]; !utf8.ValidString(e.Error) || !utf8.ValidString(e.Trace) || len(e.Error) > storekit.MaxError ||
			len(e.Error) < storekit.MaxError-4 || len(e.Trace) > storekit.MaxTrace {
			t.Errorf("text %d is kept as %d bytes ending in %q, and a trace of %d", i, len(e.Error), e.Error[len(e.Error)-8:], len(e.Trace))
		}
	}
}

// Args come back byte for byte, whatever a JSON type would make of them.
func TestCaseB128(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, newPool(t))
	texts := []string{
		`{"a":9223372036854775807,"b":18446744073709551615}`, `[1e308,-0.0,1e400,0.10]`, `{"a":1,"a":2}`, `"\ud800\u0000"`, `"😀 é é"`,
		`{}`, `null`, `[]`, ` { "z" : 1 , "a" : 2 } `, strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	}
	for _, text := range texts {
		out, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte(text), MaxAttempts: 1}})
		if err != nil {
			t.Errorf("Insert of %.50s returns %v", text, err)
			continue
		}
		jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"q"}, Limit: 1, Server: "a"})
		if err != nil || len(jobs) != 1 || string(jobs[0].Args) != text {
			t.Errorf("%.50s is claimed as %+v, %v", text, jobs, err)
		}
		if rec, err := s.Job(ctx, out[0].ID); err != nil || string(rec.Args) != text {
			t.Errorf("%.50s is read as %.50s, %v", text, rec.Args, err)
		}
	}
}
