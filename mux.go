package kiln

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"
)

// HandlerFunc runs a job whose args are still JSON. What it returns decides what becomes of the job: nil is a success, an error
// a retry until the attempts are used up; see [Permanent], [Cancel] and [Snooze] for the other ways.
type HandlerFunc func(ctx context.Context, j *RawJob) error

// Middleware wraps handlers. It sees the job, the attempt, and the handler's error, which is a *[PanicError] after a panic.
type Middleware func(next HandlerFunc) HandlerFunc

// HandleOption changes how the jobs of one kind run: [Timeout] and [Backoff].
type HandleOption interface {
	handle(*handler)
}

func (t Timeout) handle(h *handler) { h.timeout = time.Duration(t) }
func (b Backoff) handle(h *handler) { h.backoff = b }

// Mux holds the handlers of a server, one per kind. The zero value is an empty Mux. Handlers and middleware are registered
// before a server is made with it; several servers can share one.
type Mux struct {
	mu         sync.Mutex
	handlers   map[string]*handler
	middleware []Middleware
	frozen     bool
}

// handler is what a Mux knows about a kind.
type handler struct {
	fn      HandlerFunc
	timeout time.Duration
	backoff Backoff
}

// NewMux returns an empty Mux.
func NewMux() *Mux { return &Mux{} }

// Use adds middleware around every handler, those registered later included. The first is the outermost. It panics when the
// Mux is in use by a server.
func (m *Mux) Use(mw ...Middleware) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mustBeOpen()
	for _, f := range mw {
		if f != nil {
			m.middleware = append(m.middleware, f)
		}
	}
}

// HandleFunc registers the handler of a kind. It panics for a nil handler, an invalid kind, a kind that has one already, and
// when the Mux is in use by a server.
func (m *Mux) HandleFunc(kind string, h HandlerFunc, opts ...HandleOption) {
	if h == nil {
		panic(fmt.Sprintf("kiln: handler of kind %s is nil", quote(kind)))
	}
	if err := checkKind(kind); err != nil {
		panic(err.Error())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mustBeOpen()
	if m.handlers[kind] != nil {
		panic(fmt.Sprintf("kiln: kind %s has a handler already", quote(kind)))
	}
	if m.handlers == nil {
		m.handlers = map[string]*handler{}
	}
	entry := &handler{fn: h}
	for _, o := range opts {
		if o != nil {
			o.handle(entry)
		}
	}
	m.handlers[kind] = entry
}

// Handle registers the handler of T's kind, which gets its args decoded. T is a concrete type, not a pointer or an interface.
// Args that do not decode into T fail the job for good. It panics as Mux.HandleFunc does.
func Handle[T Args](m *Mux, h func(context.Context, *Job[T]) error, opts ...HandleOption) {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		panic(fmt.Sprintf("kiln: Handle needs a concrete type that is not a pointer, not %s", t))
	}
	var zero T
	kind := zero.Kind()
	if h == nil {
		panic(fmt.Sprintf("kiln: handler of kind %s is nil", quote(kind)))
	}
	m.HandleFunc(kind, func(ctx context.Context, raw *RawJob) error {
		j, err := typed[T](raw)
		if err != nil {
			return err
		}
		return h(ctx, j)
	}, opts...)
}

func (m *Mux) mustBeOpen() {
	if m.frozen {
		panic("kiln: a Mux that a server uses takes no more handlers or middleware")
	}
}

// freeze ends registration and returns the finished handlers by kind.
func (m *Mux) freeze() map[string]*handler {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.frozen = true
	return m.chained()
}

// chained returns copies of the handlers with the middleware around them. The caller holds the lock.
func (m *Mux) chained() map[string]*handler {
	out := make(map[string]*handler, len(m.handlers))
	for kind, h := range m.handlers {
		fn := recovered(h.fn)
		for _, mw := range slices.Backward(m.middleware) {
			fn = mw(fn)
		}
		out[kind] = &handler{fn: fn, timeout: h.timeout, backoff: h.backoff}
	}
	return out
}

func kinds(handlers map[string]*handler) []string { return slices.Sorted(maps.Keys(handlers)) }
