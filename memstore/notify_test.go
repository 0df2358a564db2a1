package memstore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// listen subscribes inside of a bubble. collect waits until everything is delivered and returns what came since.
func listen(t *testing.T, s *Store) (collect func() []driver.Event, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var got []driver.Event
	done := make(chan error, 1)
	go func() { done <- s.Subscribe(ctx, func(e driver.Event) { got = append(got, e) }) }()
	collect = func() []driver.Event {
		synctest.Wait()
		events := got
		got = nil
		return events
	}
	stop = func() error {
		cancel()
		return <-done
	}
	return collect, stop
}

func wantEvents(t *testing.T, got []driver.Event, want ...driver.Event) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got events %v, want %v", got, want)
	}
}

func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		collect, stop := listen(t, s)
		wantEvents(t, collect(), driver.Event{Kind: driver.Resync})

		jobs := params(4)
		jobs[1].Queue, jobs[2].Delay = "other", time.Hour
		insert(t, s, jobs...)
		ready := driver.Event{Kind: driver.JobsReady, Queue: "default"}
		scheduled := driver.Event{Kind: driver.JobsScheduled, Queue: "default"}
		wantEvents(t, collect(), ready, driver.Event{Kind: driver.JobsReady, Queue: "other"}, scheduled)

		tx := s.Begin()
		insert(t, tx, params(1)...)
		wantEvents(t, collect())
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, collect(), ready)

		for _, paused := range []bool{true, true, false, false} {
			if err := s.PauseQueue(t.Context(), "quiet", paused); err != nil {
				t.Fatal(err)
			}
		}
		changed := driver.Event{Kind: driver.QueueChanged, Queue: "quiet"}
		wantEvents(t, collect(), changed, changed)

		job := claim(t, s, 1)[0]
		finish(t, s, driver.Outcome{Ref: job.Ref, State: driver.Scheduled, Delay: time.Second})
		wantEvents(t, collect(), scheduled)

		if err := stop(); err != nil {
			t.Errorf("Subscribe returned %v", err)
		}
		if len(s.subscribers) != 0 {
			t.Error("the subscription is kept after its end")
		}
	})
}

func TestSubscribeOverflowIsResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		var got []driver.Event
		done := make(chan error, 1)
		go func() {
			done <- s.Subscribe(ctx, func(e driver.Event) {
				<-release
				got = append(got, e)
			})
		}()
		synctest.Wait() // the subscriber is stuck in its first event
		for range buffered + 10 {
			insert(t, s, params(1)...)
		}
		close(release)
		synctest.Wait()
		ready := driver.Event{Kind: driver.JobsReady, Queue: "default"}
		want := []driver.Event{{Kind: driver.Resync}, {Kind: driver.Resync}}
		for range 9 {
			want = append(want, ready)
		}
		wantEvents(t, got, want...)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Subscribe returned %v", err)
		}
	})
}

func TestCloseEndsSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		done := make(chan error, 1)
		go func() { done <- s.Subscribe(t.Context(), func(driver.Event) {}) }()
		synctest.Wait()
		s.Close()
		if err := <-done; !errors.Is(err, errClosed) {
			t.Errorf("Subscribe returned %v", err)
		}
	})
}

// A subscriber may call the store from its function.
func TestSubscriberMayCallTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Subscribe(ctx, func(driver.Event) {
			insert(t, s, params(1)...)
			cancel()
		})
		if err != nil || enqueued(t, s) != 1 {
			t.Errorf("Subscribe returned %v with %d jobs", err, enqueued(t, s))
		}
	})
}
