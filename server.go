package kiln

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/engine"
)

// Server claims jobs, runs their handlers and writes back how they ended. Any number of servers, in one process or in many,
// share a store. A Server runs once.
type Server struct {
	client *Client
	cfg    ServerConfig
	kinds  []string
	runner *runner

	mu     sync.Mutex
	id     string
	engine *engine.Server
}

// NewServer returns a server that runs the jobs of the mux's kinds. It freezes the mux. A nil client or mux, a mux without
// handlers and a bad configuration are ErrInvalid.
func NewServer(c *Client, m *Mux, cfg ServerConfig) (*Server, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: NewServer needs a Client", ErrInvalid)
	}
	if m == nil {
		return nil, fmt.Errorf("%w: NewServer needs a Mux", ErrInvalid)
	}
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	empty := len(m.handlers) == 0
	m.mu.Unlock()
	if empty {
		return nil, fmt.Errorf("%w: the Mux has no handlers", ErrInvalid)
	}
	handlers := m.freeze()
	r := &runner{
		client: c, handlers: handlers, timeout: time.Duration(cfg.Timeout), backoff: cfg.Backoff,
		unknownTTL: cfg.UnknownKindTTL,
	}
	return &Server{client: c, cfg: cfg, kinds: kinds(handlers), runner: r}, nil
}

// Run runs jobs until ctx ends, then shuts down: it claims nothing more, waits for running jobs for ShutdownTimeout, ends the
// contexts of the rest with ErrShutdown, waits for KillGrace, and sends what still runs back to its queue. Handlers' contexts
// carry ctx's values. Run returns nil after the shutdown, also when ctx ends before the store could be reached; while it
// cannot, Run keeps trying. It returns an error only when the server was run before.
func (s *Server) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.engine != nil {
		s.mu.Unlock()
		return errors.New("kiln: server was run before; make a new one")
	}
	s.id = newServerID(s.cfg.Name)
	s.engine = engine.New(s.engineConfig())
	e := s.engine
	s.mu.Unlock()
	e.Run(ctx)
	return nil
}

// ID returns the server's id, which is unique to this run: name, process id and random digits. It is empty before Run.
func (s *Server) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

func (s *Server) engineConfig() engine.Config {
	c := s.cfg
	var enqueue EnqueueFunc
	if !s.client.plain {
		enqueue = s.client.enqueue
	}
	return engine.Config{
		Store: s.client.store, ID: s.id, Host: c.Name, Version: version(), PID: os.Getpid(),
		Kinds: s.kinds, Pools: enginePools(c.Pools),
		PollInterval: c.PollInterval, FetchCooldown: c.FetchCooldown, FetchBatch: c.FetchBatch,
		ShutdownTimeout: c.ShutdownTimeout, KillGrace: c.KillGrace,
		HeartbeatInterval: c.HeartbeatInterval, DeadAfter: c.DeadAfter, LeaderTTL: c.LeaderTTL,
		Retention: c.Retention, DisableMaintenance: c.DisableMaintenance, Logger: c.Logger,
		Handler: s.runner, Enqueue: enqueue,
		Causes:      engine.Causes{Timeout: ErrTimeout, Canceled: ErrCanceled, Shutdown: ErrShutdown, Lost: ErrLost},
		RescueDelay: func(attempt int) time.Duration { return defaultBackoff(attempt, nil) },
	}
}

func newServerID(name string) string {
	var b [8]byte
	// Never fails since Go 1.24.
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%s:%d:%s", name, os.Getpid(), hex.EncodeToString(b[:]))
}

const modulePath = "github.com/kilnjobs/kiln"

// version is what servers report: the module's version as the program was built with, or kiln/devel.
var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "kiln/devel"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == modulePath && m.Replace == nil && strings.HasPrefix(m.Version, "v") {
			return "kiln/" + m.Version
		}
	}
	return "kiln/devel"
})

// runner is the engine's view of the mux.
type runner struct {
	client     *Client
	handlers   map[string]*handler
	timeout    time.Duration
	backoff    Backoff
	unknownTTL time.Duration
}

// Run runs one job: what keeps it from starting first, then its handler.
func (r *runner) Run(ctx context.Context, job *driver.Job) driver.Outcome {
	if out, cannot := r.refuse(job); cannot {
		return out
	}
	h := r.handlers[job.Kind]
	v := invoke(ctx, r.client, job)
	// The handler's own panics are caught inside of the middleware; this catches the middleware's.
	err := recovered(h.fn)(&v.ctx, &v.raw)
	return classify(ctx, job, err, v.raw.Output(), r.backoffOf(h))
}

// refuse is the outcome of a job that must not start: no handler knows its kind, or its deadline has passed.
func (r *runner) refuse(job *driver.Job) (out driver.Outcome, cannot bool) {
	if r.handlers[job.Kind] == nil {
		return r.unknown(job), true
	}
	if t := deadlineOf(job.Meta); !t.IsZero() && job.AttemptedAt.After(t) {
		return driver.Outcome{State: driver.Deleted, Reason: "deadline",
			Error: fmt.Sprintf("kiln: deadline %s had passed when the job was claimed", t.Format(time.RFC3339Nano))}, true
	}
	return driver.Outcome{}, false
}

// Exited is the outcome of a handler that called runtime.Goexit: a failed attempt.
func (r *runner) Exited(ctx context.Context, job *driver.Job) driver.Outcome {
	return classify(ctx, job, errExited, nil, r.backoffOf(r.handlers[job.Kind]))
}

// Timeout is the job's own limit, else its kind's, else the server's.
func (r *runner) Timeout(job *driver.Job) time.Duration {
	if job.Timeout != 0 {
		return job.Timeout
	}
	if h := r.handlers[job.Kind]; h != nil && h.timeout != 0 {
		return h.timeout
	}
	return r.timeout
}

func (r *runner) backoffOf(h *handler) Backoff {
	if h != nil && h.backoff != nil {
		return h.backoff
	}
	return r.backoff
}

// unknown is the outcome of a job whose kind has no handler here: it waits for a server that has one, for a while.
func (r *runner) unknown(job *driver.Job) driver.Outcome {
	out := driver.Outcome{State: driver.Scheduled, Delay: time.Minute, Refund: true, Reason: "unknown kind",
		Error: fmt.Sprintf("kiln: no handler for kind %s", quote(job.Kind))}
	if job.AttemptedAt.Sub(job.CreatedAt) > r.unknownTTL {
		out.State, out.Delay, out.Refund = driver.Failed, 0, false
	}
	return out
}
