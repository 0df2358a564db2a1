package kiln

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/kilnjobs/kiln/internal/engine"
)

// Pool is a set of queues and the workers that serve it.
type Pool struct {
	// Queues are served strictly in this order, unless Weights says otherwise. A queue belongs to one pool only.
	Queues []string
	// Workers is how many jobs of the pool run at once, at least 1.
	Workers int
	// Weights, when set, shares the pool between its queues: under load each gets about its weight's part of the claims, and
	// a queue with nothing to do leaves its part to the others. Every weight is at least 1; a queue without one counts 1.
	Weights map[string]int
}

// ServerConfig configures a [Server]. The zero value works. A zero field takes the default named at it; negative ones are
// ErrInvalid, except where a field says what they mean.
type ServerConfig struct {
	// Queues gives queues and the workers of each; every entry is a pool of its own, after Pools, by name.
	Queues map[string]int
	// Pools are the server's pools. Without Pools and Queues there is one: the queue "default" with 10 workers.
	Pools []Pool
	// Name is the host that the server reports, and the first part of its id. Default: the host's name, or "localhost".
	Name string
	// PollInterval is how often an idle server looks for work that no notification told it of, at least 1ms. Default 1s.
	PollInterval time.Duration
	// FetchCooldown is the least time between two fetches that found little. Default 5ms; negative turns it off.
	FetchCooldown time.Duration
	// FetchBatch is the most jobs that a claim asks for. 0 means the free workers and what the pool takes ahead.
	FetchBatch int
	// ShutdownTimeout is how long Run waits for running jobs after its context has ended. Default 30s.
	ShutdownTimeout time.Duration
	// KillGrace is how long a job that was told to stop is waited for. Default 5s.
	KillGrace time.Duration
	// Timeout limits each attempt of jobs that set no limit and whose kind sets none. Default 30m; negative means none.
	Timeout Timeout
	// Backoff is for kinds without one of their own. Default: (attempt-1)⁴ + 15 seconds, and up to 29 more per attempt.
	Backoff Backoff
	// HeartbeatInterval is how often the server tells the store that it lives, at least 1ms. Default 5s.
	HeartbeatInterval time.Duration
	// DeadAfter is the silence after which a server's running jobs are given to others. It must be at least
	// 3*HeartbeatInterval + KillGrace + 5s. Default 60s.
	DeadAfter time.Duration
	// LeaderTTL is how long leadership outlasts a leader that dies, at least 1ms. Default 15s.
	LeaderTTL time.Duration
	// Retention is how long ended jobs are kept. Default: succeeded and deleted ones 24h, failed ones [Forever].
	Retention Retention
	// DisableMaintenance keeps the server from standing for leader. One server of all must not set it.
	DisableMaintenance bool
	// Logger gets what the server has to say. Default: nobody.
	Logger *slog.Logger
	// UnknownKindTTL is how long after its creation a job may wait for a server that has a handler for its kind. Default 24h.
	UnknownKindTTL time.Duration
}

// filled returns the configuration with its defaults, or what is wrong with it.
func (c ServerConfig) filled() (ServerConfig, error) {
	if err := c.checkNegative(); err != nil {
		return c, err
	}
	c.fillDurations()
	if c.Name == "" {
		c.Name, _ = os.Hostname()
	}
	if c.Name == "" {
		c.Name = "localhost"
	}
	if c.Backoff == nil {
		c.Backoff = defaultBackoff
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Pools = c.pools()
	if err := c.checkTimes(); err != nil {
		return c, err
	}
	return c, checkPools(c.Pools)
}

func (c *ServerConfig) checkNegative() error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"PollInterval", c.PollInterval}, {"ShutdownTimeout", c.ShutdownTimeout}, {"KillGrace", c.KillGrace},
		{"HeartbeatInterval", c.HeartbeatInterval}, {"DeadAfter", c.DeadAfter}, {"LeaderTTL", c.LeaderTTL},
		{"UnknownKindTTL", c.UnknownKindTTL},
	} {
		if f.value < 0 {
			return fmt.Errorf("%w: ServerConfig.%s %s is below 0", ErrInvalid, f.name, f.value)
		}
	}
	if c.FetchBatch < 0 {
		return fmt.Errorf("%w: ServerConfig.FetchBatch %d is below 0", ErrInvalid, c.FetchBatch)
	}
	return nil
}

func (c *ServerConfig) fillDurations() {
	for _, f := range []struct {
		value     *time.Duration
		otherwise time.Duration
	}{
		{&c.PollInterval, time.Second},
		{&c.FetchCooldown, 5 * time.Millisecond},
		{&c.ShutdownTimeout, 30 * time.Second},
		{&c.KillGrace, 5 * time.Second},
		{(*time.Duration)(&c.Timeout), 30 * time.Minute},
		{&c.HeartbeatInterval, 5 * time.Second},
		{&c.DeadAfter, time.Minute},
		{&c.LeaderTTL, 15 * time.Second},
		{&c.Retention.Succeeded, 24 * time.Hour},
		{&c.Retention.Deleted, 24 * time.Hour},
		{&c.Retention.Failed, Forever},
		{&c.UnknownKindTTL, 24 * time.Hour},
	} {
		if *f.value == 0 {
			*f.value = f.otherwise
		}
	}
	c.FetchCooldown = max(c.FetchCooldown, 0)
}

func (c *ServerConfig) checkTimes() error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"PollInterval", c.PollInterval}, {"HeartbeatInterval", c.HeartbeatInterval}, {"LeaderTTL", c.LeaderTTL}} {
		if f.value < time.Millisecond {
			return fmt.Errorf("%w: ServerConfig.%s %s is below 1ms", ErrInvalid, f.name, f.value)
		}
	}
	if least := 3*c.HeartbeatInterval + c.KillGrace + 5*time.Second; c.DeadAfter < least {
		return fmt.Errorf("%w: ServerConfig.DeadAfter %s is below 3*HeartbeatInterval + KillGrace + 5s = %s", ErrInvalid, c.DeadAfter, least)
	}
	return nil
}

// pools returns Pools, and Queues as pools of their own behind them.
func (c *ServerConfig) pools() []Pool {
	pools := slices.Clone(c.Pools)
	for i, p := range pools {
		pools[i].Queues, pools[i].Weights = slices.Clone(p.Queues), maps.Clone(p.Weights)
	}
	names := make([]string, 0, len(c.Queues))
	for name := range c.Queues {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		pools = append(pools, Pool{Queues: []string{name}, Workers: c.Queues[name]})
	}
	if len(pools) == 0 {
		pools = []Pool{{Queues: []string{DefaultQueue}, Workers: 10}}
	}
	return pools
}

func checkPools(pools []Pool) error {
	owner := map[string]int{}
	for i, p := range pools {
		if len(p.Queues) == 0 {
			return fmt.Errorf("%w: pool %d has no Queues", ErrInvalid, i)
		}
		if p.Workers < 1 {
			return fmt.Errorf("%w: pool %d of queue %s has %d Workers, below 1", ErrInvalid, i, quote(p.Queues[0]), p.Workers)
		}
		for _, q := range p.Queues {
			if err := checkQueue(q); err != nil {
				return fmt.Errorf("pool %d: %w", i, err)
			}
			if other, taken := owner[q]; taken {
				return fmt.Errorf("%w: queue %s is in pool %d and in pool %d", ErrInvalid, quote(q), other, i)
			}
			owner[q] = i
		}
		for q, w := range p.Weights {
			if at, ok := owner[q]; !ok || at != i {
				return fmt.Errorf("%w: pool %d has a weight for queue %s, which is not in it", ErrInvalid, i, quote(q))
			}
			if w < 1 {
				return fmt.Errorf("%w: pool %d gives queue %s the weight %d, below 1", ErrInvalid, i, quote(q), w)
			}
		}
	}
	return nil
}

func enginePools(pools []Pool) []engine.PoolConfig {
	out := make([]engine.PoolConfig, len(pools))
	for i, p := range pools {
		out[i] = engine.PoolConfig{Queues: p.Queues, Workers: p.Workers, Weights: p.Weights}
	}
	return out
}
