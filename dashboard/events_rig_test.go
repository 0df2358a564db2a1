package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// eventSink is the connection of a viewer. One that is blocked takes nothing, until it is released or the deadline has passed.
type eventSink struct {
	mu       sync.Mutex
	header   http.Header
	status   int
	text     strings.Builder
	flushes  int
	blocked  chan struct{} // nil when it takes what comes
	deadline time.Time
}

func (s *eventSink) Header() http.Header { return s.header }

func (s *eventSink) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 {
		s.status = status
	}
}

func (s *eventSink) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	blocked, deadline := s.blocked, s.deadline
	s.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-time.After(time.Until(deadline)):
			return 0, os.ErrDeadlineExceeded
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *eventSink) Flush() {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes++
}

func (s *eventSink) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	return nil
}

func (s *eventSink) block() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked = make(chan struct{})
}

func (s *eventSink) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.blocked)
	s.blocked = nil
}

// event is one event of a stream.
type event struct{ name, id, data string }

// take returns what came since the last take: events, and how many comments.
func (s *eventSink) take() (events []event, comments int) {
	s.mu.Lock()
	text := s.text.String()
	s.text.Reset()
	s.mu.Unlock()
	for block := range strings.SplitSeq(text, "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			switch name, value, _ := strings.Cut(line, ": "); name {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case ":":
				comments++
			}
		}
		if e.name != "" {
			events = append(events, e)
		}
	}
	return events, comments
}

// listener is a viewer in a test.
type listener struct {
	*eventSink
	cancel context.CancelFunc
	done   chan struct{}
}

// listen opens a stream. An empty watch watches nothing but the overview.
func (g *apiRig) listen(watch string, change ...func(*http.Request)) *listener {
	ctx, cancel := context.WithCancel(g.t.(*testing.T).Context())
	target := "/api/events"
	if watch != "" {
		target += "?watch=" + url.QueryEscape(watch)
	}
	r := httptest.NewRequest(http.MethodGet, target, nil).WithContext(ctx)
	for _, c := range change {
		c(r)
	}
	l := &listener{&eventSink{header: make(http.Header)}, cancel, make(chan struct{})}
	go func() {
		defer close(l.done)
		g.handler.ServeHTTP(l, r)
	}()
	return l
}

// leave closes the stream and waits until its handler has returned.
func (l *listener) leave() {
	l.cancel()
	<-l.done
}

// over says that the handler has ended the stream.
func (l *listener) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// wantEvents checks which events came since the last take, in the order of their names, and returns them.
func (s *eventSink) wantEvents(t *testing.T, names ...string) []event {
	t.Helper()
	events, _ := s.take()
	slices.SortStableFunc(events, func(a, b event) int { return strings.Compare(a.name, b.name) })
	var got []string
	for _, e := range events {
		got = append(got, e.name)
		if !json.Valid([]byte(e.data)) || e.id == "" {
			t.Errorf("event %s with id %q has the data %s", e.name, e.id, e.data)
		}
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the events are %q, want %q", got, names)
	}
	for len(events) < len(names) {
		events = append(events, event{})
	}
	return events
}

// busyStore counts reads, and can be slow and broken.
type busyStore struct {
	fullStore
	reads atomic.Int64
	each  time.Duration
	err   atomic.Pointer[error]
}

func (s *busyStore) read() error {
	s.reads.Add(1)
	if s.each > 0 {
		<-time.After(s.each)
	}
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *busyStore) Counts(ctx context.Context) (driver.Counts, error) {
	if err := s.read(); err != nil {
		return driver.Counts{}, err
	}
	return s.fullStore.Counts(ctx)
}

func (s *busyStore) Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
	if err := s.read(); err != nil {
		return driver.Page{}, err
	}
	return s.fullStore.Jobs(ctx, q)
}

func (s *busyStore) Job(ctx context.Context, id int64) (driver.Record, error) {
	if err := s.read(); err != nil {
		return driver.Record{}, err
	}
	return s.fullStore.Job(ctx, id)
}

func newBusyRig(t *testing.T, change ...func(*Options)) (*apiRig, *busyStore) {
	t.Helper()
	store := &busyStore{}
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store {
		store.fullStore = fullStore{mem, mem, mem}
		return store
	}, change...)
	return g, store
}
