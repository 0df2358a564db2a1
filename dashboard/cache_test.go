package dashboard

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pass lets virtual time go by, and what it starts come to rest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// counter is a read that counts and can be held up, be made to fail and to panic.
type counter struct {
	calls atomic.Int64
	hold  chan struct{}
	fail  atomic.Pointer[error]
}

func (c *counter) read(ctx context.Context) (int, error) {
	n := c.calls.Add(1)
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if err := c.fail.Load(); err != nil {
		return 0, *err
	}
	return int(n), nil
}

func (c *counter) breakWith(err error) {
	if err == nil {
		c.fail.Store(nil)
		return
	}
	c.fail.Store(&err)
}

func wantShared(t *testing.T, s *shared[int], want int) {
	t.Helper()
	if got, err := s.get(t.Context()); got != want || err != nil {
		t.Errorf("got %d, %v; want %d", got, err, want)
	}
}

func TestSharedIsKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		s := &shared[int]{keep: time.Second, read: c.read}
		wantShared(t, s, 1)
		pass(999 * time.Millisecond)
		wantShared(t, s, 1)
		pass(time.Millisecond)
		wantShared(t, s, 2)
		s.forget()
		wantShared(t, s, 3)
		pass(time.Hour)
		if n := c.calls.Load(); n != 3 {
			t.Errorf("%d reads while nobody asked, want 3 in all", n)
		}
	})
}

func TestSharedReadsOnceForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{hold: make(chan struct{})}
		s := &shared[int]{keep: time.Second, read: c.read}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { wantShared(t, s, 1) })
		}
		// One who leaves does not end the read of the others, not even the one who began it.
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := s.get(ctx)
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
		close(c.hold)
		all.Wait()
		if n := c.calls.Load(); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
	})
}

func TestSharedFirstCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{hold: make(chan struct{})}
		s := &shared[int]{keep: time.Second, read: c.read}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who left got %v", err)
		}
		close(c.hold)
		wantShared(t, s, 1)
	})
}

// What was being read while something changed is not kept.
func TestSharedForgetsWhatIsBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{hold: make(chan struct{})}
		s := &shared[int]{keep: time.Second, read: c.read}
		before := make(chan int, 1)
		go func() {
			n, _ := s.get(t.Context())
			before <- n
		}()
		synctest.Wait()
		s.forget()
		after := make(chan int, 1)
		go func() {
			n, _ := s.get(t.Context())
			after <- n
		}()
		synctest.Wait()
		close(c.hold)
		if a, b := <-before, <-after; a != 1 || b != 2 {
			t.Errorf("before the change %d, after it %d", a, b)
		}
		wantShared(t, s, 2)
	})
}

// A value stands in for a read that fails while it is younger than ten seconds, and no longer.
func TestSharedStandsInForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		broken := errors.New("broken")
		s := &shared[int]{keep: time.Second, read: c.read}
		c.breakWith(broken)
		if _, err := s.get(t.Context()); !errors.Is(err, broken) {
			t.Errorf("without a value: %v", err)
		}
		c.breakWith(nil)
		wantShared(t, s, 2)
		c.breakWith(broken)
		pass(staleFor - time.Millisecond)
		wantShared(t, s, 2)
		pass(time.Millisecond)
		if _, err := s.get(t.Context()); !errors.Is(err, broken) {
			t.Errorf("with a value that is too old: %v", err)
		}
		c.breakWith(nil)
		wantShared(t, s, 5)
	})
}

func TestSharedReadThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{hold: make(chan struct{})}
		s := &shared[int]{keep: time.Second, read: c.read}
		began := time.Now()
		if _, err := s.get(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != readTimeout {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A panic of the store is an error: it must not end the program from a goroutine of ours.
func TestSharedReadThatPanics(t *testing.T) {
	s := &shared[int]{read: func(context.Context) (int, error) { panic("nil map") }}
	if _, err := s.get(t.Context()); err == nil || !strings.Contains(err.Error(), "nil map") {
		t.Errorf("got %v", err)
	}
}
