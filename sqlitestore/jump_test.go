package sqlitestore

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// wildClock is a wall clock that jumps and runs at a speed of its own. All processes of a machine have the same.
type wildClock struct {
	offset, speed atomic.Int64
	since         time.Time
}

func newWildClock() *wildClock {
	c := &wildClock{since: time.Now()}
	c.speed.Store(1)
	return c
}

func (c *wildClock) now() time.Time {
	return c.since.Add(time.Since(c.since)*time.Duration(c.speed.Load()) + time.Duration(c.offset.Load()))
}

func (c *wildClock) jump(d time.Duration) { c.offset.Add(int64(d)) }

// jumps is how often a clock jumps, each time in another phase of what servers repeat.
const jumps = 30

// wild runs two servers, each with a store of its own, on one file and one wild clock, and eight jobs of 50 minutes that are
// to run once each, whatever the clock does meanwhile. The servers are not told of anything, which saves looking every 10 ms.
func wild(t *testing.T, what func(t *testing.T, c *wildClock, s *Store)) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		c := newWildClock()
		var runs atomic.Int64
		handle := counted(&runs)
		a, b := newStore(t, openPool(t, path), Clock(c.now)), newStore(t, openPool(t, path), Clock(c.now))
		cfg := kiln.ServerConfig{Queues: map[string]int{"default": 4}, Timeout: kiln.NoTimeout}
		start(t, struct{ driver.Store }{a}, cfg, handle)
		start(t, struct{ driver.Store }{b}, cfg, handle)
		var ids []int64
		for range 8 {
			ids = append(ids, enqueue(t, a, -50*60))
		}
		pass(90 * time.Second) // a leader is one for long enough to judge others
		if n := runs.Load(); n != 8 {
			t.Fatalf("%d jobs run", n)
		}
		what(t, c, b)
		pass(51 * time.Minute)
		succeeded(t, a, ids...)
		for _, id := range ids {
			rec, err := a.Job(context.Background(), id)
			if err != nil || len(rec.History) != 0 {
				t.Errorf("the history of job %d is %+v, %v", id, rec.History, err)
			}
		}
		if err := a.Check(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// led waits until a leader holds the lease by the store's clock, for at most the time that a lease lasts.
func led(t *testing.T, c *wildClock, s *Store) {
	t.Helper()
	for began := time.Now(); time.Since(began) <= 15*time.Second; pass(500 * time.Millisecond) {
		var n int
		err := s.db.QueryRow("select count(*) from kiln_leaders where acquired_at <= ?1 and expires_at > ?1 and expires_at <= ?2",
			c.now().UnixMicro(), c.now().Add(15*time.Second).UnixMicro()).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			return
		}
	}
	t.Error("nobody leads for longer than a lease lasts")
}

// TestClockAnHourAhead jumps an hour ahead, again and again, in every phase of heartbeats, renewals and prunes.
func TestClockAnHourAhead(t *testing.T) {
	wild(t, func(t *testing.T, c *wildClock, s *Store) {
		for range jumps {
			pass(89*time.Second + 700*time.Millisecond)
			c.jump(time.Hour)
			led(t, c, s)
		}
	})
}

// TestClockAnHourBack jumps back instead.
func TestClockAnHourBack(t *testing.T) {
	wild(t, func(t *testing.T, c *wildClock, s *Store) {
		for range jumps {
			pass(89*time.Second + 700*time.Millisecond)
			c.jump(-time.Hour)
			led(t, c, s)
		}
	})
}

// TestClockToAndFro jumps ahead and soon back, as when a wrong time source is put right.
func TestClockToAndFro(t *testing.T) {
	wild(t, func(t *testing.T, c *wildClock, s *Store) {
		for range jumps {
			pass(80*time.Second + 700*time.Millisecond)
			c.jump(time.Hour)
			pass(8 * time.Second)
			c.jump(-time.Hour)
			led(t, c, s)
		}
	})
}

// TestClockAtDoubleSpeed runs at double and then at half speed.
func TestClockAtDoubleSpeed(t *testing.T) {
	wild(t, func(t *testing.T, c *wildClock, s *Store) {
		c.speed.Store(2)
		for range jumps {
			pass(30 * time.Second)
			led(t, c, s)
		}
	})
}

// TestClockDeadServer jumps back right when the leader dies. Another leads when the lease ends, and gives the dead one's jobs
// to others, as if nothing had happened to the clock.
func TestClockDeadServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newWildClock()
		a, b := newStore(t, openPool(t, path), Clock(c.now)), newStore(t, openPool(t, path), Clock(c.now))
		// The dead server, as it left its traces.
		if _, err := a.Heartbeat(ctx, driver.ServerInfo{ID: "dead"}); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := a.Lead(ctx, "kiln.leader", "dead", 15*time.Second); err != nil || !ok {
			t.Fatal(ok, err)
		}
		id := enqueue(t, a, 1)
		if jobs, err := a.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "dead"}); err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		c.jump(-time.Hour)
		var runs atomic.Int64
		start(t, b, kiln.ServerConfig{}, counted(&runs))
		pass(22 * time.Second)
		led(t, c, b)
		pass(90 * time.Second)
		if rec, err := b.Job(ctx, id); err != nil || rec.State != driver.Succeeded || runs.Load() != 1 {
			t.Errorf("two minutes after its server died the job is %s, %v", rec.State, err)
		}
	})
}
