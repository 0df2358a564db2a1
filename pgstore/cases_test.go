package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// The tests named TestCaseB… each try a failure that users of other job systems have reported. A number names the same failure
// everywhere.

// cases are those of restarts, poolers, exhausted pools, bloat, huge backlogs and application's transactions, each with what else
// tries it, in this package if nothing else is said.
var cases = map[string]string{
	"B055": "",
	"B056": "drivertest: Tx/Rollback",
	"B058": "",
	"B094": "TestListenLost",
	"B095": "TestCallsEndWithTheirContexts",
	"B097": "TestLostAnswers, TestTerminatedConnections, TestRestarts",
	"B098": "TestRestarts",
	"B100": "TestPgBouncer",
	"B101": "TestExecModes, TestPgBouncer",
	"B103": "TestSettings",
	"B104": "TestOneConnection",
	"B118": "",
	"B119": "retention: drivertest",
	"B121": "",
	"B122": "",
}

// TestCasesAreComplete pins that no case is forgotten: each has a test, and the other tests that it names exist.
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
		for _, name := range append(regexp.MustCompile(`Test\w+`).FindAllString(also, -1), "TestCase"+id) {
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

// A firewall forgets the listening connection, and no error ever comes. Jobs start at the next poll, and within a minute the store
// has noticed and listens again.
func TestCaseB094(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	proxy := pgserver.NewProxy(t, pg.Addr())
	s := openAt(t, pg.DSN("postgres"), ListenConn(proxy.DSN("postgres")))
	client := kiln.NewClient(openAt(t, pg.DSN("postgres")))
	l := newLedger()
	const poll = 2 * time.Second
	l.work(t, s, kiln.ServerConfig{PollInterval: poll}, 0)
	eventually(t, comeback, "listening connection", func() error {
		if proxy.Open() == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	l.run(t, comeback, l.must(t, client))
	opened := proxy.Opened()
	proxy.Freeze()
	// Until it has noticed, the pool and the promoter take turns with one poll.
	if took := l.run(t, comeback, l.must(t, client)); took > 2*poll+poll/2 {
		t.Errorf("a job starts after %s, the pool polls every %s", took, 2*poll)
	}
	noticed := eventually(t, time.Minute, "new connection", func() error {
		if proxy.Opened() == opened {
			return errors.New("the dead one is still listened on")
		}
		return nil
	})
	t.Logf("noticed after %s", noticed.Round(time.Second))
	eventually(t, comeback, "wake-up", func() error {
		for range 4 {
			if took := l.run(t, comeback, l.must(t, client)); took > poll/4 {
				return fmt.Errorf("a job starts after %s", took)
			}
		}
		return nil
	})
	l.judge(t, s, comeback)
}

// The database takes bytes and never answers, on all connections of one server. Another one leads meanwhile; when there are
// connections that answer every loop has gone on within its deadline, whatever became of the old ones.
func TestCaseB095(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	proxy := pgserver.NewProxy(t, pg.Addr())
	direct := openAt(t, pg.DSN("postgres"))
	client := kiln.NewClient(direct)
	l := newLedger()
	timings := kiln.ServerConfig{HeartbeatInterval: 500 * time.Millisecond, LeaderTTL: 1500 * time.Millisecond}
	theirs := timings
	theirs.Queues = map[string]int{kiln.DefaultQueue: 10, "theirs": 1}
	behind, _ := l.work(t, openAt(t, proxy.DSN("postgres")), theirs, 20*time.Millisecond)
	leads := func(s *kiln.Server) func() error {
		return func() error {
			if !s.Stats().Leader {
				return errors.New("it does not lead")
			}
			return nil
		}
	}
	eventually(t, comeback, "leader", leads(behind))
	other, _ := l.work(t, direct, timings, 20*time.Millisecond)

	for range 100 {
		l.must(t, client)
	}
	l.run(t, comeback, l.must(t, client)) // all of the others may have run already
	proxy.Stall()
	took := eventually(t, 5*timings.LeaderTTL, "new leader", leads(other))
	t.Logf("the other server leads after %s", took.Round(time.Millisecond))
	l.run(t, comeback, l.must(t, client)) // by the other one
	eventually(t, comeback, "end of the old leadership", func() error {
		if behind.Stats().Leader {
			return errors.New("a server that reaches nothing still calls itself the leader")
		}
		return nil
	})
	proxy.Resume()
	beats := func() error {
		if age := behind.Stats().HeartbeatAge; age > time.Second {
			return fmt.Errorf("the last heartbeat is %s old", age)
		}
		return behind.Healthy()
	}
	eventually(t, comeback, "heartbeat", beats)

	proxy.Freeze()
	eventually(t, comeback, "heartbeat", beats)
	// A claim was under way on a connection that never answers; it gives up after ten seconds.
	took = l.run(t, 20*time.Second, l.must(t, client, kiln.Queue("theirs")))
	t.Logf("it claims again after %s", took.Round(time.Millisecond))
	l.judge(t, direct, 60*time.Second)
}

// An enqueue whose connection ends around the commit: one that returned nil has its jobs once, one that returned an error has them
// at most once, all or none, and says that it does not know if they are there.
func TestCaseB097(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	proxy := pgserver.NewProxy(t, pg.Addr())
	client := kiln.NewClient(openAt(t, proxy.DSN("postgres")))
	direct := openAt(t, pg.DSN("postgres"))
	l := newLedger()
	ctx := context.Background()
	var groups [][]int
	enqueues := []func(i int) ([]int, error){
		func(int) ([]int, error) { n, err := l.enqueue(ctx, client); return []int{n}, err },
		func(int) ([]int, error) { return l.bulk(ctx, client, 3) },
		func(int) ([]int, error) { return l.bulk(ctx, client, 1000) },
		func(i int) ([]int, error) {
			return l.bulk(ctx, client, 2, kiln.Limit{Key: fmt.Sprint("k", i%5), Max: 3}, kiln.Delay(time.Hour), kiln.Tags{"a"})
		},
		func(i int) ([]int, error) {
			n, err := l.enqueue(ctx, client, kiln.Unique{Key: fmt.Sprint("u", i)})
			return []int{n}, err
		},
	}
	for i := range 320 {
		fault := []pgserver.Fault{pgserver.CutBefore, pgserver.CutAfter}[i%2]
		proxy.Arm(fault, i/2%8)
		which := i / 16 % len(enqueues)
		if i%40 != 0 && which == 2 {
			which = 0 // a thousand at once are tried now and then
		}
		numbers, _ := enqueues[which](i)
		groups = append(groups, numbers)
	}
	proxy.Arm(pgserver.NoFault, 0)
	if n := proxy.Struck(); n < 100 || l.failures() == 0 || len(l.sure) == 0 {
		t.Errorf("%d faults, %d failed enqueues and %d that went well prove little", n, l.failures(), len(l.sure))
	}
	there := map[int]int{}
	for _, state := range driver.States {
		for _, rec := range listed(t, direct, state) {
			there[number(t, rec)]++
		}
	}
	unknown, kept := 0, 0
	for _, numbers := range groups {
		for _, n := range numbers {
			err, failed := l.unsure[n]
			switch {
			case there[n] != there[numbers[0]]:
				t.Errorf("of the jobs of one call some are there and some are not: %v", numbers[:min(10, len(numbers))])
			case !failed && there[n] != 1:
				t.Errorf("chore %d, whose enqueue returned nil, has %d jobs", n, there[n])
			case failed && there[n] > 1, failed && there[n] == 1 && !errors.Is(err, driver.ErrUnknown):
				t.Errorf("chore %d, whose enqueue returned %v, has %d jobs", n, err, there[n])
			}
			if failed && errors.Is(err, driver.ErrUnknown) {
				unknown++
				kept += there[n]
			}
		}
	}
	t.Logf("%d faults: %d enqueued for certain, %d failed, of them %d of unknown outcome, of which %d are there",
		proxy.Struck(), len(l.sure), len(l.unsure), unknown, kept)
	intact(t, direct)
}

// Programs start while the database is down: New says so, soon and without ending anything. Those that run when it goes down stay,
// knock seldom, say little, and are back at work seconds after it is.
func TestCaseB098(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	proxy := pgserver.NewProxy(t, pg.Addr())
	const servers = 5
	l := newLedger()
	var lines counted
	var running []*kiln.Server
	var s *Store
	for range servers {
		s = openAt(t, proxy.DSN("postgres"))
		server, _ := l.work(t, s, kiln.ServerConfig{Logger: slog.New(&lines)}, 0)
		running = append(running, server)
	}
	proxy.Refuse()
	pool, err := pgxpool.New(context.Background(), proxy.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	began := time.Now()
	if _, err := New(context.Background(), pool); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("without a database New returns %v after %s", err, time.Since(began))
	}
	before := proxy.Opened()
	lines.reset()
	const down = 8 * time.Second
	<-time.After(down)
	knocks := float64(proxy.Opened()-before) / down.Seconds() / servers
	said := float64(lines.n()) / servers
	t.Logf("while the database is down a server knocks %.1f times a second and has said %.1f lines in %s", knocks, said, down)
	if knocks > 10 || said > 12 {
		t.Errorf("a server knocks %.1f times a second and says %.1f lines in %s", knocks, said, down)
	}
	proxy.Accept()
	client := kiln.NewClient(s)
	took := eventually(t, comeback, "server at work", func() error {
		for i, server := range running {
			if st := server.Stats(); st.HeartbeatAge > down || !st.Listening {
				return fmt.Errorf("server %d: %+v", i, st)
			}
		}
		return nil
	})
	took += l.run(t, comeback, l.must(t, client))
	t.Logf("all are back after %s", took.Round(time.Millisecond))
	l.judge(t, s, comeback)
}

// counted counts the lines of a log.
type counted struct {
	mu    sync.Mutex
	lines int
}

func (c *counted) Enabled(context.Context, slog.Level) bool { return true }
func (c *counted) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *counted) WithGroup(string) slog.Handler            { return c }
func (c *counted) Handle(context.Context, slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines++
	return nil
}

func (c *counted) n() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines
}

func (c *counted) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = 0
}

// Handlers hold every connection of the application's pool, for twice as long as a silent server lives. The store's own connections
// are not among them: heartbeats go on, nothing is rescued, results are written. Enqueueing in a transaction of the last connection
// waits for nobody.
func TestCaseB104(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	config, err := pgxpool.ParseConfig(pg.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 2
	app, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	s, err := New(context.Background(), app)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	client := kiln.NewClient(s)
	cfg := kiln.ServerConfig{HeartbeatInterval: 300 * time.Millisecond, KillGrace: 100 * time.Millisecond, DeadAfter: 6 * time.Second}
	mux := kiln.NewMux()
	var mu sync.Mutex
	held := map[int64]int{}
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[hog]) error {
		tx, err := app.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		mu.Lock()
		held[j.ID]++
		mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * cfg.DeadAfter):
		}
		if _, err := client.EnqueueTx(ctx, s.Tx(tx), chore{int(j.ID)}); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
	l := newLedger()
	kiln.Handle(mux, l.handler(0))
	server, err := kiln.NewServer(client, mux, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	var hogs []int64
	for range 2 {
		id, err := client.Enqueue(ctx, hog{})
		if err != nil {
			t.Fatal(err)
		}
		hogs = append(hogs, id)
	}
	eventually(t, comeback, "taken pool", func() error {
		if n := app.Stat().AcquiredConns(); n < 2 {
			return fmt.Errorf("%d are taken", n)
		}
		return nil
	})
	// Another server looks out for silent ones.
	l.work(t, openAt(t, pg.DSN("postgres")), cfg, 0)
	var oldest time.Duration
	for app.Stat().AcquiredConns() == 2 {
		l.run(t, comeback, l.must(t, client))
		oldest = max(oldest, server.Stats().HeartbeatAge)
		<-time.After(50 * time.Millisecond)
	}
	if oldest > 3*cfg.HeartbeatInterval+time.Second {
		t.Errorf("the oldest heartbeat was %s old, one comes every %s", oldest, cfg.HeartbeatInterval)
	}
	for _, id := range hogs {
		eventually(t, comeback, "end of a handler", func() error {
			mu.Lock()
			runs := held[id]
			mu.Unlock()
			rec, err := s.Job(ctx, id)
			if err == nil && (rec.State != driver.Succeeded || rec.Attempt != 1 || runs != 1) {
				err = fmt.Errorf("job %d is %s after %d attempts and %d runs: %+v", id, rec.State, rec.Attempt, runs, rec.History)
			}
			return err
		})
	}
}

// hog holds a connection.
type hog struct{}

func (hog) Kind() string { return "hog" }
