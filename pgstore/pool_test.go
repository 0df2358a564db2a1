package pgstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"
	"github.com/kilnjobs/kiln/pgstore/internal/pgserver"
)

// TestOneConnection runs the suite on a store that has one connection, made from an application's pool of one.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	dsn := pg.DSN("postgres") + "&pool_max_conns=1"
	drivertest.RunClock(t, func(t *testing.T, now func() time.Time) driver.Store {
		s := emptyStore(t, dsn, pg.DSN("postgres"), MaxConns(1), Clock(now))
		return onlooked{s, openAt(t, dsn, MaxConns(1), Clock(now), Schema(s.schema))}
	})
}

// onlooked is a store whose only connection a transaction of InTx may have. What the suite then looks at from outside another process
// has to look at.
type onlooked struct {
	*Store
	outside *Store
}

func (o onlooked) Counts(ctx context.Context) (driver.Counts, error) { return o.outside.Counts(ctx) }

// TestConnectionsPerProcess counts what a process with a server holds: six by default, and what MaxConns says plus one.
func TestConnectionsPerProcess(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0)
	operator := dial(t, pg.DSN("postgres"))
	for _, c := range []struct {
		opts []Option
		most int
	}{{nil, 6}, {[]Option{MaxConns(1)}, 2}, {[]Option{MaxConns(3)}, 4}} {
		t.Run(fmt.Sprint(c.most), func(t *testing.T) {
			s := openAt(t, pg.DSN("postgres"), append(c.opts, Schema(fmt.Sprint("s", c.most)))...)
			l := newLedger()
			client := kiln.NewClient(s)
			l.work(t, s, kiln.ServerConfig{}, 0)
			stop := l.feed(t, client, 16, time.Millisecond)
			most := 0
			for range 50 {
				l.more(t, comeback, 20)
				var n int
				if err := operator.QueryRow(context.Background(), "select count(*) from pg_stat_activity where application_name = 'kiln'").Scan(&n); err != nil {
					t.Fatal(err)
				}
				most = max(most, n)
			}
			stop()
			if most > c.most || most < 2 {
				t.Errorf("the process had up to %d connections, want at most %d", most, c.most)
			}
			l.judge(t, s, comeback)
			s.Close()
			eventually(t, comeback, "end of its connections", func() error {
				var n int
				err := operator.QueryRow(context.Background(), "select count(*) from pg_stat_activity where application_name = 'kiln'").Scan(&n)
				if err == nil && n > 0 {
					err = fmt.Errorf("%d are left", n)
				}
				return err
			})
		})
	}
}

// TestServerWithoutRoom meets a server that has no connection left. Nothing gets worse than late.
func TestServerWithoutRoom(t *testing.T) {
	t.Parallel()
	pg := pgserver.Start(t, 0, "max_connections=12", "superuser_reserved_connections=0")
	s := openAt(t, pg.DSN("postgres"), MaxConns(2))
	l := newLedger()
	client := kiln.NewClient(s)
	l.work(t, s, kiln.ServerConfig{}, 0)
	hogs := dial(t, pg.DSN("postgres")+"&pool_max_conns=20")
	var free []func()
	defer func() {
		for _, f := range free {
			f()
		}
	}()
	for {
		conn, err := hogs.Acquire(context.Background())
		if err != nil {
			break
		}
		free = append(free, conn.Release)
		if len(free) > 12 {
			t.Fatal("the server does not get full")
		}
	}
	if _, err := New(context.Background(), dial(t, pg.DSN("postgres")), Schema("other")); err == nil {
		t.Error("New works on a server without room")
	}
	for range 20 {
		l.run(t, comeback, l.must(t, client))
	}
	for _, f := range free {
		f()
	}
	free = nil
	hogs.Reset()
	eventually(t, comeback, "room", func() error {
		other, err := New(context.Background(), dial(t, pg.DSN("postgres")), Schema("other"))
		if err == nil {
			other.Close()
		}
		return err
	})
	l.judge(t, s, comeback)
}
