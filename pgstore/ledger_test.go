package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// chore is a job of the tests that break what the store stands on. Each has a number of its own.
type chore struct{ N int }

func (chore) Kind() string { return "chore" }

// ledger knows which chores were enqueued and how often each has run, as somebody outside of the store sees it.
type ledger struct {
	mu   sync.Mutex
	next int
	// sure are the chores whose Enqueue returned nil, unsure those whose Enqueue returned an error.
	sure   map[int]int64
	unsure map[int]error
	runs   map[int]int
	// ran is how many runs there were, of any chore.
	ran int
	// moved is closed and made anew at each run.
	moved chan struct{}
}

func newLedger() *ledger {
	return &ledger{sure: map[int]int64{}, unsure: map[int]error{}, runs: map[int]int{}, moved: make(chan struct{})}
}

// handler runs chores, each for a time.
func (l *ledger) handler(takes time.Duration) func(context.Context, *kiln.Job[chore]) error {
	return func(ctx context.Context, j *kiln.Job[chore]) error {
		l.mu.Lock()
		l.runs[j.Args.N]++
		l.ran++
		close(l.moved)
		l.moved = make(chan struct{})
		l.mu.Unlock()
		if takes == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(takes):
			return nil
		}
	}
}

// take gives out numbers for n chores.
func (l *ledger) take(n int) (numbers []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		numbers = append(numbers, l.next)
		l.next++
	}
	return numbers
}

// note writes down what an enqueue of chores has answered.
func (l *ledger) note(numbers []int, ids []int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range numbers {
		if err == nil {
			l.sure[n] = ids[i]
		} else {
			l.unsure[n] = err
		}
	}
}

// enqueue enqueues one chore.
func (l *ledger) enqueue(ctx context.Context, c *kiln.Client, opts ...kiln.InsertOption) (int, error) {
	n := l.take(1)
	id, err := c.Enqueue(ctx, chore{n[0]}, opts...)
	l.note(n, []int64{id}, err)
	return n[0], err
}

// must enqueues one chore on a database that works.
func (l *ledger) must(t *testing.T, c *kiln.Client, opts ...kiln.InsertOption) int {
	t.Helper()
	n, err := l.enqueue(t.Context(), c, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// bulk enqueues several chores in one call.
func (l *ledger) bulk(ctx context.Context, c *kiln.Client, many int, opts ...kiln.InsertOption) ([]int, error) {
	numbers := l.take(many)
	specs := make([]kiln.Spec, many)
	for i, n := range numbers {
		specs[i] = kiln.Spec{Args: chore{n}, Options: opts}
	}
	out, err := c.EnqueueMany(ctx, specs...)
	ids := make([]int64, len(out))
	for i, in := range out {
		ids[i] = in.ID
	}
	l.note(numbers, ids, err)
	return numbers, err
}

// feed enqueues chores from several goroutines, with a pause after each, until it is stopped.
func (l *ledger) feed(t *testing.T, c *kiln.Client, hands int, every time.Duration) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range hands {
		wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(every):
				}
				call, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				l.enqueue(call, c)
				cancel()
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

// runsOf is how often a chore has run.
func (l *ledger) runsOf(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[n]
}

// failures is how many enqueues have returned an error.
func (l *ledger) failures() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unsure)
}

// await waits until something holds, which is looked at after each run, and says how long that took.
func (l *ledger) await(t *testing.T, within time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	deadline := time.After(within)
	for {
		l.mu.Lock()
		moved := l.moved
		l.mu.Unlock()
		if holds() {
			return time.Since(began)
		}
		select {
		case <-moved:
		case <-deadline:
			t.Fatalf("after %s: no %s", within, what)
		}
	}
}

// run waits until a chore has run, and says how long that took.
func (l *ledger) run(t *testing.T, within time.Duration, n int) time.Duration {
	t.Helper()
	return l.await(t, within, fmt.Sprintf("run of chore %d", n), func() bool { return l.runsOf(n) > 0 })
}

// more waits for some more runs, and says how long that took.
func (l *ledger) more(t *testing.T, within time.Duration, runs int) time.Duration {
	t.Helper()
	ran := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.ran
	}
	want := ran() + runs
	return l.await(t, within, fmt.Sprintf("%d runs more", runs), func() bool { return ran() >= want })
}

// judge waits until every chore is done, and then holds the store to what the ledger says: a chore whose enqueue returned nil has
// one job, one whose enqueue returned an error has at most one and the error says so if it has, and every job has run once, in its
// first attempt.
func (l *ledger) judge(t *testing.T, s *Store, within time.Duration) {
	t.Helper()
	ctx := context.Background()
	eventually(t, within, "end of all jobs", func() error {
		c, err := s.Counts(ctx)
		if err == nil && c.Enqueued+c.Scheduled+c.Processing+c.Throttled+c.Awaiting > 0 {
			err = fmt.Errorf("%+v", c)
		}
		return err
	})
	jobs := map[int]int{}
	for _, rec := range listed(t, s, driver.Succeeded) {
		n := number(t, rec)
		jobs[n]++
		if id, ok := l.sure[n]; ok && id != rec.ID {
			t.Errorf("chore %d is job %d, its enqueue said %d", n, rec.ID, id)
		}
		if rec.Attempt != 1 || l.runsOf(n) != 1 {
			t.Errorf("chore %d (job %d) ran %d times in %d attempts: %+v", n, rec.ID, l.runsOf(n), rec.Attempt, rec.History)
		}
	}
	for _, state := range []driver.State{driver.Failed, driver.Deleted} {
		for _, rec := range listed(t, s, state) {
			t.Errorf("chore %d (job %d) is %s: %+v", number(t, rec), rec.ID, state, rec.History)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.sure {
		if jobs[n] != 1 {
			t.Errorf("chore %d, whose enqueue returned nil, has %d jobs", n, jobs[n])
		}
	}
	for n, err := range l.unsure {
		if jobs[n] > 1 || jobs[n] == 1 && !errors.Is(err, driver.ErrUnknown) {
			t.Errorf("chore %d, whose enqueue returned %v, has %d jobs", n, err, jobs[n])
		}
	}
	intact(t, s)
}

func number(t *testing.T, rec driver.Record) int {
	t.Helper()
	var c chore
	if err := json.Unmarshal(rec.Args, &c); err != nil {
		t.Fatal(err)
	}
	return c.N
}

// listed reads all jobs in a state.
func listed(t *testing.T, s *Store, state driver.State) (all []driver.Record) {
	t.Helper()
	for q := (driver.JobQuery{State: state, Limit: 500}); ; {
		page, err := s.Jobs(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Records...)
		if page.Next == "" {
			return all
		}
		q.Cursor = page.Next
	}
}

// intact checks that everything in the store fits together and that there is nothing to repair.
func intact(t *testing.T, s *Store) {
	t.Helper()
	ctx := context.Background()
	if n, err := s.Sweep(ctx, 10_000); n != 0 || err != nil {
		t.Errorf("Sweep repairs %d rows, %v", n, err)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}

// eventually waits until a check has nothing to say.
func eventually(t *testing.T, within time.Duration, what string, check func() error) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		err := check()
		if err == nil {
			return time.Since(began)
		}
		if time.Since(began) > within {
			t.Fatalf("after %s: no %s: %v", within, what, err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// dial opens an application's pool, until the end of the test.
func dial(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// openAt opens a store at an address, as a process of its own would, until the end of the test.
func openAt(t *testing.T, dsn string, opts ...Option) *Store {
	t.Helper()
	pool := dial(t, dsn)
	s, err := New(context.Background(), pool, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// work runs a server for chores until the test ends or it is stopped.
func (l *ledger) work(t *testing.T, s *Store, cfg kiln.ServerConfig, takes time.Duration) (server *kiln.Server, stop func()) {
	t.Helper()
	mux := kiln.NewMux()
	kiln.Handle(mux, l.handler(takes))
	server, err := kiln.NewServer(kiln.NewClient(s), mux, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returns %v", err)
		}
	})
	t.Cleanup(stop)
	eventually(t, 30*time.Second, "first heartbeat", func() error { return server.Healthy() })
	return server, stop
}
