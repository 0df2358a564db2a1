package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// heard collects the events of a subscription.
type heard struct {
	mu     sync.Mutex
	events []driver.Event
}

func (h *heard) add(e driver.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// take returns what was heard since the last take.
func (h *heard) take() []driver.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	events := h.events
	h.events = nil
	return events
}

func (h *heard) has(e driver.Event) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.events, e)
}

func (h *heard) wait(t testing.TB, e driver.Event) {
	t.Helper()
	eventually(t, fmt.Sprintf("event %+v", e), func() bool { return h.has(e) })
}

// subscribed subscribes for the length of the test and returns after the first Resync.
func subscribed(t testing.TB, s *Store) *heard {
	t.Helper()
	h := &heard{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Subscribe(ctx, h.add); err != nil {
			t.Errorf("Subscribe returns %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	h.wait(t, driver.Event{Kind: driver.Resync})
	h.take()
	return h
}

// twoStores opens two stores on one file with a pool each, as two processes have.
func twoStores(t testing.TB) (a, b *Store) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	return newStore(t, openPool(t, path)), newStore(t, openPool(t, path))
}

// TestOtherProcess checks that each kind of write wakes the subscribers of another process.
func TestOtherProcess(t *testing.T) {
	ctx := context.Background()
	a, b := twoStores(t)
	events := subscribed(t, b)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ready := driver.Event{Kind: driver.JobsReady, Queue: "default"}
	fill(t, a, 3)
	events.wait(t, ready)
	_, err := a.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "later", Args: []byte("1"), MaxAttempts: 1, Delay: time.Hour}})
	must(err)
	events.wait(t, driver.Event{Kind: driver.JobsScheduled, Queue: "later"})
	must(a.PauseQueue(ctx, "p", true))
	events.wait(t, driver.Event{Kind: driver.QueueChanged, Queue: "p"})
	jobs, err := a.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 3, Server: "s"})
	must(err)
	_, err = a.Delete(ctx, driver.Filter{IDs: []int64{jobs[0].ID}})
	must(err)
	events.wait(t, driver.Event{Kind: driver.CancelRequested, ID: jobs[0].ID})
	events.take()
	_, err = a.Finish(ctx, "s", []driver.Outcome{{Ref: jobs[1].Ref, State: driver.Enqueued}})
	must(err)
	events.wait(t, ready)
	events.take()
	_, err = a.Finish(ctx, "s", []driver.Outcome{{Ref: jobs[2].Ref, State: driver.Failed}})
	must(err)
	_, err = a.Requeue(ctx, driver.Filter{IDs: []int64{jobs[2].ID}})
	must(err)
	events.wait(t, ready)
	if events.has(driver.Event{Kind: driver.Resync}) {
		t.Error("a write of another process arrives as a Resync")
	}
}

// TestOtherProcessBulk inserts more jobs than are looked at one by one.
func TestOtherProcessBulk(t *testing.T) {
	a, b := twoStores(t)
	events := subscribed(t, b)
	jobs := plainJobs(3 * mostNewJobs)
	jobs[len(jobs)-1].Queue = "last"
	jobs[len(jobs)-2].Queue, jobs[len(jobs)-2].Delay = "later", time.Hour
	if _, err := a.Insert(context.Background(), jobs); err != nil {
		t.Fatal(err)
	}
	events.wait(t, driver.Event{Kind: driver.JobsReady, Queue: "last"})
	events.wait(t, driver.Event{Kind: driver.JobsScheduled, Queue: "later"})
}

// TestMissedSignals lets signals be trimmed before they are read.
func TestMissedSignals(t *testing.T) {
	ctx := context.Background()
	a, b := twoStores(t)
	events := subscribed(t, b)
	err := a.do(ctx, func(w *work) error {
		for i := range int64(100) {
			if err := w.exec("signals_add", int64(1), int64(driver.QueueChanged), fmt.Sprint(i), int64(0)); err != nil {
				return err
			}
		}
		return w.exec("signals_trim", int64(50))
	})
	if err != nil {
		t.Fatal(err)
	}
	events.wait(t, driver.Event{Kind: driver.Resync})
}

// TestSignalsAreTrimmed writes more signals than are kept.
func TestSignalsAreTrimmed(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	if _, err := db.Exec("insert into kiln_signals values (20998, 0, 4, 'x', 0), (500, 0, 4, 'x', 0)"); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := s.PauseQueue(ctx, "q", i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	var least, most int64
	if err := db.QueryRow("select min(seq), max(seq) from kiln_signals").Scan(&least, &most); err != nil {
		t.Fatal(err)
	}
	if least <= 500 || most != 21002 {
		t.Errorf("signals from %d to %d are kept, want the old one gone and the newest 21002", least, most)
	}
}

// TestOwnWritesOnce checks that a store does not tell of its own writes a second time when it looks at the file.
func TestOwnWritesOnce(t *testing.T) {
	ctx := context.Background()
	a, b := twoStores(t)
	events := subscribed(t, a)
	for range 3 {
		if _, err := insertOne(a, "mine"); err != nil {
			t.Fatal(err)
		}
		if err := a.PauseQueue(ctx, "mine", true); err != nil {
			t.Fatal(err)
		}
		if err := a.PauseQueue(ctx, "mine", false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := insertOne(b, "other"); err != nil {
		t.Fatal(err)
	}
	events.wait(t, driver.Event{Kind: driver.JobsReady, Queue: "other"})
	n := map[driver.Event]int{}
	for _, e := range events.take() {
		n[e]++
	}
	if n[driver.Event{Kind: driver.JobsReady, Queue: "mine"}] != 3 || n[driver.Event{Kind: driver.QueueChanged, Queue: "mine"}] != 6 {
		t.Errorf("three rounds of own writes are told as %v", n)
	}
}

// TestIdle counts the statements of a store that has a subscriber and nothing to do, for a minute of virtual time, while
// another process sends heartbeats: they must not wake it.
func TestIdle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		db := openHookedPool(t, path)
		s := newStore(t, db.DB)
		other := newStore(t, openPool(t, path))
		events := subscribed(t, s)
		synctest.Wait()
		var c counter
		db.set(c.hook)
		for range 6 {
			<-time.After(10 * time.Second)
			if _, err := other.Heartbeat(context.Background(), driver.ServerInfo{ID: "b"}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		n := c.take()
		looks := n["pragma data_version"]
		if looks < 1000 || looks > 6100 {
			t.Errorf("an idle store looks at data_version %d times a minute", looks)
		}
		delete(n, "pragma data_version")
		total := 0
		for _, k := range n {
			total += k
		}
		if total > 2*6 {
			t.Errorf("beside those it runs %d statements, want two per heartbeat of the other process at most: %v", total, n)
		}
		if heard := events.take(); len(heard) != 0 {
			t.Errorf("heartbeats of another process arrive as %v", heard)
		}
	})
}

// TestIdleUnsubscribed counts the statements of a store that nobody listens to.
func TestIdleUnsubscribed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		db := openHookedPool(t, path)
		newStore(t, db.DB)
		synctest.Wait()
		var c counter
		db.set(c.hook)
		<-time.After(time.Hour)
		if n := c.take(); len(n) != 0 {
			t.Errorf("a store that nobody uses runs %v", n)
		}
	})
}

// fakeBus is a bus of one process.
type fakeBus struct {
	mu        sync.Mutex
	published []driver.Event
	subscribe func(ctx context.Context, fn func(driver.Event)) error
	fail      error
}

func (b *fakeBus) Publish(_ context.Context, events []driver.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.published = append(b.published, events...)
	return b.fail
}

func (b *fakeBus) Subscribe(ctx context.Context, fn func(driver.Event)) error {
	return b.subscribe(ctx, fn)
}

func TestBus(t *testing.T) {
	foreign := driver.Event{Kind: driver.JobsReady, Queue: "elsewhere"}
	bus := &fakeBus{fail: errors.New("the network is down"), subscribe: func(ctx context.Context, fn func(driver.Event)) error {
		fn(foreign)
		<-ctx.Done()
		return nil
	}}
	s := newStore(t, newPool(t), Bus(bus))
	h := &heard{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Subscribe(ctx, h.add) }()
	h.wait(t, foreign)
	if _, err := insertOne(s, "a"); err != nil {
		t.Fatal(err)
	}
	mine := driver.Event{Kind: driver.JobsReady, Queue: "a"}
	h.wait(t, mine)
	eventually(t, "the store's event is published", func() bool {
		bus.mu.Lock()
		defer bus.mu.Unlock()
		return slices.Contains(bus.published, mine)
	})
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Subscribe returns %v after its context", err)
	}
}

// TestBusFails ends the subscription, so that the server tries again, unless the bus cannot subscribe at all.
func TestBusFails(t *testing.T) {
	down := errors.New("down")
	for _, c := range []struct{ fails, want error }{{down, down}, {errors.ErrUnsupported, nil}} {
		bus := &fakeBus{subscribe: func(context.Context, func(driver.Event)) error { return c.fails }}
		s := newStore(t, newPool(t), Bus(bus))
		ctx, cancel := context.WithCancel(context.Background())
		h := &heard{}
		done := make(chan error, 1)
		go func() { done <- s.Subscribe(ctx, h.add) }()
		if c.want == nil {
			h.wait(t, driver.Event{Kind: driver.Resync})
			cancel()
		}
		if err := <-done; !errors.Is(err, c.want) {
			t.Errorf("a bus that returns %v gives %v, want %v", c.fails, err, c.want)
		}
		cancel()
	}
}
