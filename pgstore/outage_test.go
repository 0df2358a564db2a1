package pgstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// comeback is how long after the database is back everything has to work again.
const comeback = 10 * time.Second

// TestRestarts stops and kills the database while one process enqueues and another works. Nothing is lost and nothing runs twice,
// and seconds after the database is back so are they.
func TestRestarts(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	s := openAt(t, pg.DSN("postgres"))
	l := newLedger()
	l.work(t, s, kiln.ServerConfig{}, 5*time.Millisecond)
	stop := l.feed(t, kiln.NewClient(openAt(t, pg.DSN("postgres"))), 4, 5*time.Millisecond)
	for _, outage := range []struct {
		name string
		do   func()
	}{
		{"restart -m fast", func() { pg.Restart(pgserver.Fast) }},
		{"kill -9 of the postmaster", func() { pg.Kill9(); pg.Start() }},
		{"restart -m immediate", func() { pg.Restart(pgserver.Immediate) }},
		{"three seconds without a database", func() { pg.Stop(pgserver.Fast); <-time.After(3 * time.Second); pg.Start() }},
		{"a second kill -9", func() { pg.Kill9(); pg.Start() }},
	} {
		l.more(t, comeback, 100)
		before := l.failures()
		outage.do()
		took := l.more(t, comeback, 100)
		t.Logf("%s: a hundred jobs had run %s after it, %d enqueues failed", outage.name, took.Round(time.Millisecond), l.failures()-before)
	}
	stop()
	if l.failures() == 0 {
		t.Error("no enqueue has failed: the outages were none")
	}
	l.judge(t, s, comeback)
}

// TestTerminatedConnections ends all connections of kiln twice a second, the listening ones too.
func TestTerminatedConnections(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	operator := dial(t, pg.DSN("postgres"))
	s := openAt(t, pg.DSN("postgres"))
	l := newLedger()
	l.work(t, s, kiln.ServerConfig{}, 5*time.Millisecond)
	stop := l.feed(t, kiln.NewClient(openAt(t, pg.DSN("postgres"))), 4, 5*time.Millisecond)
	ended := 0
	for range 16 {
		<-time.After(500 * time.Millisecond)
		var n int
		err := operator.QueryRow(context.Background(),
			"select count(*) from (select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'kiln') x").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		ended += n
	}
	l.more(t, comeback, 100)
	stop()
	if ended < 16*2 {
		t.Errorf("only %d connections were ended", ended)
	}
	t.Logf("%d connections ended, %d of %d enqueues failed", ended, l.failures(), l.next)
	l.judge(t, s, comeback)
}

// TestLostAnswers loses questions and answers between a server and its database all the time: claims, finishes, heartbeats. Every
// job runs once all the same.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	direct := openAt(t, pg.DSN("postgres"))
	proxy := pgserver.NewProxy(t, pg.Addr())
	s := openAt(t, proxy.DSN("postgres"), ListenConn(pg.DSN("postgres")))
	l := newLedger()
	l.work(t, s, kiln.ServerConfig{HeartbeatInterval: 200 * time.Millisecond}, 2*time.Millisecond)
	stop := l.feed(t, kiln.NewClient(direct), 4, 5*time.Millisecond)
	const faults = 100
	for i := range faults {
		fault := pgserver.CutBefore
		if i%2 == 0 {
			fault = pgserver.CutAfter
		}
		proxy.Arm(fault, i%7)
		eventually(t, comeback, "fault", func() error {
			if n := proxy.Struck(); n <= i {
				return fmt.Errorf("%d have struck", n)
			}
			return nil
		})
	}
	l.more(t, comeback, 50)
	stop()
	l.judge(t, direct, 2*comeback)
}

// lostEnv is for how long the listening connection is taken away, as time.ParseDuration reads it; a few jobs long without it.
const lostEnv = "KILN_POSTGRES_LOST"

// TestListenLost takes the listening connection away for a while. Nothing but latency changes: jobs start at the next poll, and at
// once again when it is back.
func TestListenLost(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	proxy := pgserver.NewProxy(t, pg.Addr())
	s := openAt(t, pg.DSN("postgres"), ListenConn(proxy.DSN("postgres")))
	client := kiln.NewClient(openAt(t, pg.DSN("postgres")))
	l := newLedger()
	lasts := lasting(t, lostEnv, 0)
	const poll = 2 * time.Second
	server, _ := l.work(t, s, kiln.ServerConfig{PollInterval: poll}, 0)
	listening := func(want bool) {
		t.Helper()
		eventually(t, 4*answerWithin, fmt.Sprint("Listening ", want), func() error {
			if server.Stats().Listening != want {
				return errors.New("it says otherwise")
			}
			return nil
		})
	}
	prompt := func() error {
		for range 4 { // one could have met a poll
			if took := l.run(t, comeback, l.must(t, client)); took > poll/4 {
				return fmt.Errorf("a job starts after %s", took)
			}
		}
		return nil
	}
	eventually(t, comeback, "wake-up", prompt)
	for _, how := range []struct {
		name      string
		take, end func()
	}{
		{"connections are refused", proxy.Refuse, proxy.Accept},
		{"the connection ends, and new ones are not answered", func() { proxy.Stall(); proxy.Cut() }, proxy.Resume},
	} {
		listening(true)
		how.take()
		listening(false)
		var worst time.Duration
		began := time.Now()
		for n := 0; n < 3 || time.Since(began) < lasts; n++ {
			worst = max(worst, l.run(t, 2*poll, l.must(t, client)))
		}
		if worst > poll+poll/2 {
			t.Errorf("%s: a job starts after %s, a poll takes %s", how.name, worst, poll)
		}
		how.end()
		back := eventually(t, comeback, "wake-up", prompt)
		t.Logf("%s: the slowest start took %s; wake-ups were back after %s", how.name, worst.Round(time.Millisecond), back.Round(time.Millisecond))
	}
	l.judge(t, s, comeback)
}

// TestCallsEndWithTheirContexts lets the database stand still: whoever waits for it waits as long as they said.
func TestCallsEndWithTheirContexts(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	proxy := pgserver.NewProxy(t, pg.Addr())
	s := openAt(t, proxy.DSN("postgres"))
	for _, warm := range []bool{true, false} {
		if !warm {
			proxy.Cut() // the next call needs a new connection, and is not given one
		}
		proxy.Stall()
		for name, call := range map[string]func(context.Context) error{
			"Insert": func(ctx context.Context) error {
				_, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}})
				return err
			},
			"Claim": func(ctx context.Context) error {
				_, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"q"}, Limit: 1, Server: "a"})
				return err
			},
			"Counts": func(ctx context.Context) error { _, err := s.Counts(ctx); return err },
			"Heartbeat": func(ctx context.Context) error {
				_, err := s.Heartbeat(ctx, driver.ServerInfo{ID: "a"})
				return err
			},
			"InTx": func(ctx context.Context) error {
				return s.InTx(ctx, func(w driver.Writer) error { _, err := w.OpenBatch(ctx, driver.NewBatch{}); return err })
			},
		} {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			began := time.Now()
			err := call(ctx)
			cancel()
			if took := time.Since(began); err == nil || took > 2*time.Second {
				t.Errorf("warm %t: %s returns %v after %s", warm, name, err, took)
			}
		}
		proxy.Resume()
		eventually(t, comeback, "answer", func() error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := s.Counts(ctx)
			return err
		})
	}
}
