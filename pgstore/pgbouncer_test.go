package pgstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// installations counts schemas, so that each store of a test has one of its own.
var installations atomic.Int64

// emptyStore opens a store in a schema that is new, and dropped at the end of the test by way of another connection string.
func emptyStore(t *testing.T, dsn, direct string, opts ...Option) *Store {
	t.Helper()
	schema := fmt.Sprint("s", installations.Add(1))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn, err := pgx.Connect(ctx, direct)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "drop schema if exists "+schema+" cascade"); err != nil {
			t.Error(err)
		}
	})
	return openAt(t, dsn, append(opts, Schema(schema))...)
}

// suite runs the conformance suite on stores at an address.
func suite(t *testing.T, dsn, direct string, opts ...Option) {
	t.Helper()
	drivertest.RunClock(t, func(t *testing.T, now func() time.Time) driver.Store {
		return emptyStore(t, dsn, direct, append(opts, Clock(now))...)
	})
}

// allEnv asks for the whole suite in every variation of a test; without it some get a short round.
const allEnv = "KILN_POSTGRES_ALL"

// suiteOrRound runs the suite if all of it is asked for.
func suiteOrRound(t *testing.T, dsn, direct string, opts ...Option) {
	t.Helper()
	if os.Getenv(allEnv) != "" {
		suite(t, dsn, direct, opts...)
	}
	round(t, emptyStore(t, dsn, direct, opts...))
}

// TestPgBouncer runs the suite through a pooler in transaction mode, with the settings that the documentation names: with a
// connection of its own to listen on, and without, for a role whose sessions begin with odd settings.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	direct, role := odd(t, pg, oddSettings[0])
	bouncer := pgserver.StartPgBouncer(t, pg.Addr(), pgserver.Pooling{Roles: []string{"postgres", role}})
	t.Logf("PgBouncer %s, PostgreSQL %s", pgserver.BouncerVersion(), pg.Programs().Full)
	t.Run("listening past it", func(t *testing.T) {
		suiteOrRound(t, bouncer.DSN("postgres"), pg.DSN("postgres"), ExecMode(pgx.QueryExecModeExec), ListenConn(pg.DSN("postgres")))
	})
	t.Run("listening through it", func(t *testing.T) {
		suite(t, bouncer.DSNFor(role, role), direct, ExecMode(pgx.QueryExecModeExec))
	})
}

// prepares reports whether the PgBouncer that is here keeps prepared statements, which it does since 1.21.
func prepares() bool {
	m := regexp.MustCompile(`^(\d+)\.(\d+)`).FindStringSubmatch(pgserver.BouncerVersion())
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > 1 || minor >= 21
}

// execModes are all that pgx has.
var execModes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

// TestExecModes works in every exec mode of pgx, directly and through PgBouncer, where modes that prepare statements need one that
// keeps them.
func TestExecModes(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	pooling := pgserver.Pooling{}
	if prepares() {
		pooling.MaxPrepared = 200
	}
	bouncer := pgserver.StartPgBouncer(t, pg.Addr(), pooling)
	for _, mode := range execModes {
		for name, dsn := range map[string]string{"direct": pg.DSN("postgres"), "PgBouncer": bouncer.DSN("postgres")} {
			keeps := mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol
			if name != "direct" && keeps && !prepares() {
				continue // TestCaseB101 pins what then happens
			}
			t.Run(mode.String()+"/"+name, func(t *testing.T) {
				suiteOrRound(t, dsn, pg.DSN("postgres"), ExecMode(mode))
			})
		}
	}
}

// round lets a server do a bit of everything.
func round(t *testing.T, s *Store) {
	t.Helper()
	ctx := context.Background()
	client := kiln.NewClient(s)
	l := newLedger()
	l.work(t, s, kiln.ServerConfig{}, 0)
	for i := range 3 {
		l.must(t, client, kiln.Unique{Key: fmt.Sprint("k", i), For: time.Hour}, kiln.Tags{"a", `b"\'`}, kiln.Meta{"m": `v"\'ü`}, kiln.Title("Übung \\ 'x'"))
		l.must(t, client, kiln.Limit{Key: "l", Max: 1, Rate: 1000, Per: time.Second, Burst: 1000})
		l.must(t, client, kiln.Delay(20*time.Millisecond), kiln.Deadline(time.Now().Add(time.Hour)))
	}
	if _, err := l.bulk(ctx, client, 700); err != nil {
		t.Fatal(err)
	}
	first := l.must(t, client)
	l.must(t, client, kiln.After{l.sure[first]})
	batch := &kiln.Batch{Description: "batch", Meta: map[string]string{"a": "b"}}
	n := l.take(2)
	batch.Add(chore{n[0]})
	batch.Then(chore{n[1]})
	if _, err := client.StartBatch(ctx, batch); err != nil {
		t.Fatal(err)
	}
	if err := client.SetRecurring(ctx, "r", "@every 1s", chore{l.take(1)[0]}); err != nil {
		t.Fatal(err)
	}
	eventually(t, comeback, "run of everything", func() error {
		for n := range l.next {
			if l.runsOf(n) == 0 {
				rec, err := s.Job(ctx, l.sure[n])
				return fmt.Errorf("chore %d of %d has not run: %+v, %v", n, l.next, rec, err)
			}
		}
		return nil
	})
	if err := client.RemoveRecurring(ctx, "r"); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}

// Two processes behind a pooler in transaction mode, where LISTEN succeeds and nothing is ever delivered. Jobs of the other process
// start within a poll, pauses and cancellations are obeyed within two heartbeats.
func TestCaseB100(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	bouncer := pgserver.StartPgBouncer(t, pg.Addr(), pgserver.Pooling{Size: 5})
	mode := ExecMode(pgx.QueryExecModeExec)
	client := kiln.NewClient(openAt(t, bouncer.DSN("postgres"), mode))
	s := openAt(t, bouncer.DSN("postgres"), mode)
	l := newLedger()
	const beat = 500 * time.Millisecond
	cfg := kiln.ServerConfig{HeartbeatInterval: beat}
	server, _ := l.work(t, s, cfg, 0)
	eventually(t, 3*answerWithin, "end of the belief to hear others", func() error {
		if !s.hub.isDeaf() || server.Stats().Listening {
			return errors.New("it believes that it listens")
		}
		return nil
	})
	for range 5 {
		if took := l.run(t, comeback, l.must(t, client)); took > 1500*time.Millisecond {
			t.Errorf("a job starts after %s, a poll takes 1s", took)
		}
		l.run(t, comeback, l.must(t, client, kiln.Delay(100*time.Millisecond)))
	}

	mux := kiln.NewMux()
	canceled := make(chan time.Time, 1)
	kiln.Handle(mux, func(ctx context.Context, _ *kiln.Job[hog]) error {
		<-ctx.Done()
		canceled <- time.Now()
		return ctx.Err()
	})
	slow, err := kiln.NewServer(client, mux, kiln.ServerConfig{HeartbeatInterval: beat, Queues: map[string]int{"slow": 1}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- slow.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	id, err := kiln.NewClient(s).Enqueue(ctx, hog{}, kiln.Queue("slow"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, comeback, "run", func() error {
		if slow.Stats().Running == 0 {
			return errors.New("nothing runs")
		}
		return nil
	})
	began := time.Now()
	if n, err := kiln.NewClient(s).Delete(ctx, id); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	select {
	case at := <-canceled:
		if took := at.Sub(began); took > 2*beat+500*time.Millisecond {
			t.Errorf("a cancellation is heard after %s, a heartbeat comes every %s", took, beat)
		}
	case <-time.After(comeback):
		t.Error("a cancellation is never heard")
	}

	if err := client.PauseQueue(ctx, kiln.DefaultQueue); err != nil {
		t.Fatal(err)
	}
	held := l.must(t, client)
	<-time.After(4 * beat) // nobody tells of what does not happen
	if l.runsOf(held) != 0 {
		t.Error("a job of a paused queue runs")
	}
	if err := client.ResumeQueue(ctx, kiln.DefaultQueue); err != nil {
		t.Fatal(err)
	}
	if took := l.run(t, comeback, held); took > 2*beat+1500*time.Millisecond {
		t.Errorf("after a pause a job starts after %s", took)
	}
}

// The default exec mode needs a pooler that keeps prepared statements. Where there is none New or the first calls fail, they do not
// hang, and nothing is written twice or half; the documented mode then works on the same installation.
func TestCaseB101(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	if prepares() {
		bouncer := pgserver.StartPgBouncer(t, pg.Addr(), pgserver.Pooling{MaxPrepared: 200})
		suite(t, bouncer.DSN("postgres"), pg.DSN("postgres"))
		return
	}
	bouncer := pgserver.StartPgBouncer(t, pg.Addr(), pgserver.Pooling{Size: 2})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	direct := openAt(t, pg.DSN("postgres"))
	l := newLedger()
	failed := 0
	for range 4 {
		s, err := New(ctx, dial(t, bouncer.DSN("postgres")))
		if err != nil {
			failed++
			continue
		}
		client := kiln.NewClient(s)
		for range 10 {
			if _, err := l.enqueue(ctx, client); err != nil {
				failed++
			}
		}
		s.Close()
	}
	if failed == 0 {
		t.Error("prepared statements work through a pooler that loses them: is the mode still the default?")
	}
	if ctx.Err() != nil {
		t.Error("calls hang")
	}
	there := map[int]int{}
	for _, rec := range listed(t, direct, driver.Enqueued) {
		there[number(t, rec)]++
	}
	for n := range l.next {
		if _, sure := l.sure[n]; sure && there[n] != 1 || !sure && there[n] != 0 {
			t.Errorf("chore %d, whose enqueue returned %v, has %d jobs", n, l.unsure[n], there[n])
		}
	}
	s := openAt(t, bouncer.DSN("postgres"), ExecMode(pgx.QueryExecModeExec))
	l.work(t, s, kiln.ServerConfig{}, 0)
	l.run(t, comeback, l.must(t, kiln.NewClient(s)))
}

// A pooler that refuses startup parameters that it does not know is connected to, and what the store sets for its statements does
// not stay on the connections that others are given next.
func TestCaseB103(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	bouncer := pgserver.StartPgBouncer(t, pg.Addr(), pgserver.Pooling{Size: 1})
	ctx := context.Background()
	// One connection to the server, which everybody shares: whatever stays on it is seen here.
	config, err := pgx.ParseConfig(bouncer.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	app, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(ctx)
	look := func() (set string) {
		t.Helper()
		var locks int
		err := app.QueryRow(ctx, `select coalesce(string_agg(name || '=' || setting, ' ' order by name) filter (where source in ('session', 'client')), ''),
			(select count(*) from pg_locks where locktype = 'advisory')
			from pg_settings where name not in ('application_name', 'client_encoding')`).Scan(&set, &locks)
		if err != nil {
			t.Fatal(err)
		}
		if locks != 0 {
			t.Errorf("%d advisory locks are held", locks)
		}
		return set
	}
	before := look()
	s := openAt(t, bouncer.DSN("postgres"), ExecMode(pgx.QueryExecModeExec), ListenConn(pg.DSN("postgres")))
	round(t, s)
	if after := look(); after != before {
		t.Errorf("before the store was used the session had %q set, after it %q", before, after)
	}
	// A name that only the server's search path would find must not have been used: the store works with any.
	if _, err := app.Exec(ctx, "alter role postgres set search_path = nowhere"); err != nil {
		t.Fatal(err)
	}
	round(t, emptyStore(t, bouncer.DSN("postgres"), pg.DSN("postgres"), ExecMode(pgx.QueryExecModeExec)))
}
