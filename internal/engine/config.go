package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Config is what a server is made of. The root package fills in every default before.
type Config struct {
	Store driver.Store
	// ID is unique to this start of this process.
	ID, Host, Version string
	PID               int
	Kinds             []string
	Pools             []PoolConfig

	PollInterval       time.Duration
	FetchCooldown      time.Duration
	FetchBatch         int
	ShutdownTimeout    time.Duration
	KillGrace          time.Duration
	HeartbeatInterval  time.Duration
	DeadAfter          time.Duration
	LeaderTTL          time.Duration
	Retention          driver.Retention
	DisableMaintenance bool
	Logger             *slog.Logger

	// Handler runs jobs.
	Handler Handler
	// Causes end the contexts of running jobs.
	Causes Causes
	// Enqueue, when not nil, is what every insert goes through on its way to a writer, those of recurring jobs included.
	Enqueue func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]driver.Inserted, error)
	// RescueDelay is how long a job waits that was rescued twice in a row.
	RescueDelay func(attempt int) time.Duration

	// Now is the process's clock; nil is time.Now. It paces loops and never reaches the store.
	Now func() time.Time
	// Random draws from [0,1) for jitter; nil is the global source.
	Random func() float64
	// Executor starts runs; nil starts goroutines.
	Executor Executor
}

// PoolConfig is a set of queues and the workers that serve it.
type PoolConfig struct {
	Queues  []string
	Workers int
	// Weights, when not nil, shares the pool between its queues; a queue without one counts 1.
	Weights map[string]int
}

// Handler is the application's side of a run.
type Handler interface {
	// Run runs the job and says how it ended. It recovers panics.
	Run(ctx context.Context, job *driver.Job) driver.Outcome
	// Exited says what it means that a run ended its goroutine instead of returning.
	Exited(ctx context.Context, job *driver.Job) driver.Outcome
	// Timeout is the job's time limit, 0 or less for none.
	Timeout(job *driver.Job) time.Duration
}

// Causes are the context causes that tell a run why it must stop.
type Causes struct{ Timeout, Canceled, Shutdown, Lost error }

// Executor starts the runs of jobs.
type Executor interface {
	// Start runs r in the background and passes its outcome to r.End, which returns the run that takes its place, if any.
	Start(r *Run)
}

// Budgets of calls to the store.
const (
	callTimeout       = 10 * time.Second
	pruneTimeout      = time.Minute
	unregisterTimeout = 5 * time.Second
	flushTimeout      = 15 * time.Second
)

func (c *Config) fill() {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Executor == nil {
		c.Executor = goroutines{}
	}
}

// heartbeatTimeout leaves a slow store a second even where heartbeats are more frequent.
func (c *Config) heartbeatTimeout() time.Duration { return max(c.HeartbeatInterval, time.Second) }

// fenceAfter is how long without a heartbeat a server still trusts that its leases hold.
func (c *Config) fenceAfter() time.Duration { return c.DeadAfter - c.HeartbeatInterval - c.KillGrace }
