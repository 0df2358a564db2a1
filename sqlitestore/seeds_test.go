package sqlitestore

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// KILN_SQLITE_SEEDS sets how many seeds run, KILN_SQLITE_SEED the only one, with every step in the log.
func seedEnv(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestFaultSeeds writes to a store whose driver fails: calls of every kind, merged as they wait for each other, while
// statements, commits, prepares and connections fail before or after SQLite has done them. What was acknowledged is there,
// what was refused is not, what is said to be unknown is there as a whole or not at all, and the store goes on.
func TestFaultSeeds(t *testing.T) {
	template := filepath.Join(t.TempDir(), "template.db")
	newStore(t, openPool(t, template)).Close()
	empty, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	first, last := uint64(1), seedEnv(t, "KILN_SQLITE_SEEDS", 100)
	one := seedEnv(t, "KILN_SQLITE_SEED", 0)
	switch {
	case one != 0:
		first, last = one, one
	case testing.Short():
		last = min(last, 20)
	}
	told := map[string]int{}
	for seed := first; seed <= last && !t.Failed(); seed++ {
		path := filepath.Join(t.TempDir(), "jobs.db")
		if err := os.WriteFile(path, empty, 0o600); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) { runSeed(t, seed, path, told, one != 0) })
	}
	t.Logf("what calls were told: %v", told)
	if last == 100 && (told["unknown"] == 0 || told["failed"] < 50 || told["canceled"] < 50 || told["done"] < 500) {
		t.Error("the faults do not do what they are for")
	}
}

// trial is one store with what its callers were told.
type trial struct {
	t    *testing.T
	seed uint64
	rand *rand.Rand
	pool *hookedPool
	s    *Store
	told map[string]int
	log  bool

	calls int
	// cancels end the contexts of calls that are to leave while they wait.
	cancels []context.CancelFunc
	// writes are the inserts whose jobs may be there, by the number of their call.
	writes map[int]*insertion
	ids    map[int64]bool
	refs   map[driver.Ref]bool
	// held are the jobs that are processing, by what their callers know; unsure are finishes whose result is unknown.
	held   []driver.Ref
	unsure map[driver.Ref]bool
	final  map[int64]driver.State
	// batch is one that jobs join until the end.
	batch int64
}

type insertion struct {
	jobs    int
	ids     []int64
	unknown bool
}

func runSeed(t *testing.T, seed uint64, path string, told map[string]int, log bool) {
	w := &trial{
		t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), pool: openHookedPool(t, path), told: told, log: log,
		writes: map[int]*insertion{}, ids: map[int64]bool{}, refs: map[driver.Ref]bool{}, unsure: map[driver.Ref]bool{}, final: map[int64]driver.State{},
	}
	w.s = newStore(t, w.pool.DB)
	var err error
	if w.batch, err = w.s.OpenBatch(t.Context(), driver.NewBatch{}); err != nil {
		t.Fatal(err)
	}
	for n := range 60 { // one for each call that may come to fire it
		if err := w.s.PutRecurring(t.Context(), driver.Recurring{ID: fmt.Sprintf("r%d", n), Spec: "@daily", Location: "UTC"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 8 {
		w.round()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	w.drain()
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
}

func (w *trial) logf(format string, args ...any) {
	if w.log {
		w.t.Logf(format, args...)
	}
}

// outcome says what an error tells, and counts it.
func (w *trial) outcome(err error) string {
	what := "failed"
	switch {
	case err == nil:
		what = "done"
	case errors.Is(err, driver.ErrUnknown):
		what = "unknown"
	case errors.Is(err, context.Canceled):
		what = "canceled"
	}
	w.told[what]++
	return what
}

// round lets several calls wait for each other, and then fails some of what they do. Each call is made in a goroutine of its
// own and returns what is to be checked when all have returned.
func (w *trial) round() {
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := w.s.InTx(context.Background(), func(driver.Writer) error {
			close(held)
			<-release
			return nil
		})
		if err != nil {
			w.t.Errorf("the round's first transaction returns %v", err)
		}
	})
	<-held
	makers := []func() func() func(){w.insert, w.insert, w.claim, w.claim, w.finish, w.finish, w.promote, w.inTx, w.heartbeat, w.fire, w.say}
	var checks []func()
	var mu sync.Mutex
	for range 1 + w.rand.IntN(6) {
		call := makers[w.rand.IntN(len(makers))]()
		wg.Go(func() {
			check := call()
			mu.Lock()
			defer mu.Unlock()
			checks = append(checks, check)
		})
		synctest.Wait() // the call is queued behind those before it
	}
	for _, cancel := range w.cancels {
		cancel()
	}
	w.cancels = nil
	synctest.Wait()
	w.pool.obey(w.faults())
	close(release)
	wg.Wait()
	w.pool.obey(nil)
	for _, check := range checks {
		check()
	}
	if err := w.s.Check(context.Background()); err != nil {
		w.t.Error(err)
	}
	<-time.After(time.Second)
}

// faults makes a rule that fails some steps, from the next transaction on.
func (w *trial) faults() rule {
	errs := []error{ioError{}, full{}, busy{}, sqldriver.ErrBadConn, readOnly{}, errors.New("no such thing")}
	fault := errs[w.rand.IntN(len(errs))]
	does := []string{"exec", "exec", "query", "next", "prepare", "open", "any"}[w.rand.IntN(7)]
	words := []string{"", "", "commit", "commit", "commit", "begin immediate", "rollback", "kiln_jobs", "kiln_lease"}
	word := words[w.rand.IntN(len(words))]
	after := w.rand.IntN(2) == 0
	skip, left := w.rand.IntN(4), 1+w.rand.IntN(3)
	if word == "commit" || word == "begin immediate" || word == "rollback" {
		does, skip = "exec", w.rand.IntN(2)
	}
	w.logf("faults: %d times after %d: %v, %s %q, after %v", left, skip, fault, does, word, after)
	began := false
	return func(s step) error {
		began = began || s.query == "begin immediate"
		if s.query != "" && (s.after || s.does != "prepare") {
			w.logf("  %s %v %.60q", s.does, s.after, strings.Join(strings.Fields(s.query), " "))
		}
		switch {
		case !began, left == 0, s.after != after && s.does != "next", does != "any" && s.does != does, !strings.Contains(s.query, word):
			return nil
		case s.after && s.query == "commit" && fault == error(full{}):
			return nil // SQLite rolls back what does not fit: that is never the answer to a commit which happened
		case skip > 0:
			skip--
			return nil
		}
		left--
		w.logf("  fails with %v", fault)
		return fault
	}
}

type busy struct{}

func (busy) Error() string { return "database is locked" }
func (busy) Code() int     { return codeBusy }

type readOnly struct{}

func (readOnly) Error() string { return "attempt to write a readonly database" }
func (readOnly) Code() int     { return codeReadOnly }

// context returns the context of a call. One in eight calls leaves while it waits.
func (w *trial) context() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	if w.rand.IntN(8) == 0 {
		w.cancels = append(w.cancels, cancel)
	} else {
		w.t.Cleanup(cancel)
	}
	return ctx
}

func (w *trial) number() int {
	w.calls++
	return w.calls
}

// jobs are the jobs of a call, marked with its number.
func (w *trial) jobs(call int) []driver.InsertParams {
	jobs := make([]driver.InsertParams, 1+w.rand.IntN(4))
	for i := range jobs {
		jobs[i] = driver.InsertParams{Kind: "k", Queue: "q", MaxAttempts: 5, Args: fmt.Appendf(nil, `{"call":%d,"i":%d}`, call, i)}
		switch w.rand.IntN(6) {
		case 0:
			jobs[i].Delay = time.Second
		case 1:
			jobs[i].Tags = []string{"t"}
			jobs[i].Deadline = time.Now().Add(time.Hour)
		case 2:
			if i > 0 {
				jobs[i].Parents = []driver.Parent{{Index: i - 1, On: driver.OnFinished}}
			}
			if known := slices.Sorted(maps.Keys(w.ids)); len(known) > 0 {
				parent := driver.Parent{ID: known[w.rand.IntN(len(known))], On: driver.OnSucceeded | driver.OnFailed}
				jobs[i].Parents = append(jobs[i].Parents, parent)
			}
		case 3:
			jobs[i].BatchID = w.batch
		}
	}
	return jobs
}

func (w *trial) insert() func() func() {
	n := w.number()
	jobs, ctx := w.jobs(n), w.context()
	return func() func() {
		out, err := w.s.Insert(ctx, jobs)
		return func() { w.inserted(n, len(jobs), out, err) }
	}
}

func (w *trial) inTx() func() func() {
	n := w.number()
	jobs, ctx := w.jobs(n), w.context()
	return func() func() {
		var out []driver.Inserted
		err := w.s.InTx(ctx, func(in driver.Writer) (err error) {
			out, err = in.Insert(ctx, jobs)
			return err
		})
		return func() { w.inserted(n, len(jobs), out, err) }
	}
}

func (w *trial) inserted(n, jobs int, out []driver.Inserted, err error) {
	what := w.outcome(err)
	w.logf("call %d: insert of %d: %s %v", n, jobs, what, err)
	switch what {
	case "unknown":
		w.writes[n] = &insertion{jobs: jobs, unknown: true}
	case "done":
		in := &insertion{jobs: jobs}
		for _, o := range out {
			if w.ids[o.ID] {
				w.t.Errorf("the id %d is given out twice", o.ID)
			}
			w.ids[o.ID] = true
			in.ids = append(in.ids, o.ID)
		}
		w.writes[n] = in
	}
	w.present(n, jobs, w.writes[n])
}

// present counts the jobs of a call that are in the database.
func (w *trial) present(n, jobs int, in *insertion) {
	rows, err := w.pool.Query("select id from kiln_jobs where args ->> 'call' = ? order by args ->> 'i'", n)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	switch {
	case in == nil && len(ids) > 0:
		w.t.Errorf("call %d was refused, %d of its %d jobs are there", n, len(ids), jobs)
	case in != nil && in.unknown && len(ids) != 0 && len(ids) != jobs:
		w.t.Errorf("the result of call %d is unknown, %d of its %d jobs are there", n, len(ids), jobs)
	case in != nil && !in.unknown && !slices.Equal(ids, in.ids):
		w.t.Errorf("call %d was told the ids %v, %v are there", n, in.ids, ids)
	}
}

func (w *trial) claim() func() func() {
	n, ctx := w.number(), w.context()
	q := driver.ClaimQuery{Queues: []string{"q"}, Limit: 1 + w.rand.IntN(5), Server: fmt.Sprintf("s%d", n)}
	return func() func() {
		jobs, err := w.s.Claim(ctx, q)
		return func() {
			what := w.outcome(err)
			w.logf("call %d: claim: %s, %d jobs, %v", n, what, len(jobs), err)
			for _, j := range jobs {
				if w.refs[j.Ref] {
					w.t.Errorf("%v is handed out twice", j.Ref)
				}
				w.refs[j.Ref] = true
				w.held = append(w.held, j.Ref)
			}
			leased := w.count("select count(*) from kiln_lease where server = ?", q.Server)
			if what != "unknown" && leased != len(jobs) {
				w.t.Errorf("call %d claims %d jobs, %v; %d are leased", n, len(jobs), err, leased)
			}
		}
	}
}

func (w *trial) count(query string, args ...any) (n int) {
	if err := w.pool.QueryRow(query, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *trial) finish() func() func() {
	n, ctx := w.number(), w.context()
	size := w.rand.IntN(len(w.held) + 1)
	w.rand.Shuffle(len(w.held), func(i, j int) { w.held[i], w.held[j] = w.held[j], w.held[i] })
	refs := w.held[:size:size]
	w.held = w.held[size:]
	outs := make([]driver.Outcome, len(refs))
	for i, ref := range refs {
		outs[i] = []driver.Outcome{
			{State: driver.Succeeded}, {State: driver.Succeeded, Output: []byte(`[1]`)}, {State: driver.Failed, Reason: "permanent", Error: "x"},
			{State: driver.Scheduled, Delay: time.Second, Reason: "retry"}, {State: driver.Enqueued, Refund: true, Reason: "shutdown"},
		}[w.rand.IntN(5)]
		outs[i].Ref = ref
	}
	return func() func() {
		results, err := w.s.Finish(ctx, "f", outs)
		return func() { w.finished(n, outs, results, err) }
	}
}

func (w *trial) finished(n int, outs []driver.Outcome, results []driver.Result, err error) {
	what := w.outcome(err)
	w.logf("call %d: finish of %d: %s, %v %v", n, len(outs), what, results, err)
	running := 0
	for i, o := range outs {
		leased := w.count("select count(*) from kiln_lease where id = ? and claim = ?", o.ID, int64(o.Claim))
		running += leased
		if what != "done" {
			w.held = append(w.held, o.Ref)
			w.unsure[o.Ref] = w.unsure[o.Ref] || what == "unknown"
			if what != "unknown" && leased != 1 && !w.unsure[o.Ref] {
				w.t.Errorf("call %d was refused, and %v is not processing any more", n, o.Ref)
			}
			continue
		}
		if results[i] == driver.Stale && !w.unsure[o.Ref] || results[i] == driver.Rejected || leased != 0 {
			w.t.Errorf("call %d: the result for %v is %v, leased %d", n, o.Ref, results[i], leased)
		}
		if results[i] == driver.Applied && o.State.Final() {
			w.final[o.ID] = o.State
		}
	}
	if what == "unknown" && running != 0 && running != len(outs) {
		w.t.Logf("call %d: %d of %d jobs are processing after an unknown result", n, running, len(outs))
	}
}

func (w *trial) promote() func() func() {
	ctx := w.context()
	return func() func() {
		_, err := w.s.Promote(ctx, 3)
		return func() { w.logf("promote: %s %v", w.outcome(err), err) }
	}
}

func (w *trial) heartbeat() func() func() {
	ctx := w.context()
	return func() func() {
		_, err := w.s.Heartbeat(ctx, driver.ServerInfo{ID: "h"})
		return func() { w.logf("heartbeat: %s %v", w.outcome(err), err) }
	}
}

// drain ends everything without faults, and takes stock.
func (w *trial) drain() {
	ctx := context.Background()
	for range 100 {
		<-time.After(2 * time.Second)
		if _, err := w.s.Promote(ctx, 1000); err != nil {
			w.t.Fatal(err)
		}
		d, err := w.s.Orphans(ctx, 0, 1000) // what claims of unknown results hold
		if err != nil {
			w.t.Fatal(err)
		}
		for _, o := range d {
			if !slices.Contains(w.held, o.Ref) {
				w.held = append(w.held, o.Ref)
			}
		}
		w.claim()()()
		w.cancels = nil
		outs := make([]driver.Outcome, len(w.held))
		for i, ref := range w.held {
			outs[i] = driver.Outcome{Ref: ref, State: driver.Succeeded}
		}
		w.held = nil
		results, err := w.s.Finish(ctx, "f", outs)
		w.finished(0, outs, results, err)
		c, err := w.s.Counts(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		if c.Enqueued+c.Scheduled+c.Processing+c.Awaiting == 0 {
			break
		}
	}
	if err := w.s.SealBatch(ctx, w.batch); err != nil {
		w.t.Error(err)
	}
	if b, err := w.s.Batch(ctx, w.batch); err != nil || b.FinishedAt.IsZero() != (b.Counts[driver.Failed] > 0) {
		w.t.Errorf("in the end the batch is %+v (%v)", b, err)
	}
	for n, in := range w.writes {
		w.present(n, in.jobs, in)
	}
	for id, state := range w.final {
		if rec, err := w.s.Job(ctx, id); err != nil || rec.State != state {
			w.t.Errorf("job %d was finished as %s and is %s, %v", id, state, rec.State, err)
		}
	}
	if n := w.count("select count(*) from kiln_jobs") - w.count("select count(*) from kiln_done") - w.count("select count(*) from kiln_failed"); n != 0 {
		w.t.Errorf("%d jobs do not end", n)
	}
	var verdict string
	if err := w.pool.QueryRow("pragma integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		w.t.Errorf("integrity_check says %q, %v", verdict, err)
	}
	if err := w.s.Check(ctx); err != nil {
		w.t.Error(err)
	}
}
