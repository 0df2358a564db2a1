//go:build unix

package process

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/sqlitestore"
	_ "modernc.org/sqlite"
)

// workerEnv makes the test binary run one server instead of tests: its value is a workerConfig as JSON.
const workerEnv = "KILN_PROCESS_WORKER"

type workerConfig struct {
	// Dir holds the database and the ledger.
	Dir string
	// Queue is the queue that the worker serves.
	Queue   string
	Workers int
}

// timings make everything that takes a minute in production take a second or less here, except DeadAfter, whose least is above
// five seconds.
const (
	heartbeat = 100 * time.Millisecond
	killGrace = 200 * time.Millisecond
	deadAfter = 5600 * time.Millisecond
	patience  = 60 * time.Second
)

func TestMain(m *testing.M) {
	if text := os.Getenv(workerEnv); text != "" {
		var cfg workerConfig
		if err := json.Unmarshal([]byte(text), &cfg); err != nil {
			panic(err)
		}
		if err := worker(cfg); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// work is a job that takes a while, and perhaps ignores that it should stop.
type work struct {
	Milliseconds int
	// First is how long the first attempt takes instead.
	First    int
	Stubborn bool
}

// Kind names the handler.
func (work) Kind() string { return "work" }

func open(ctx context.Context, dir string) (*sqlitestore.Store, func(), error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "jobs.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(4)
	s, err := sqlitestore.New(ctx, db)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return s, func() { s.Close(); db.Close() }, nil
}

// worker runs one server until SIGTERM.
func worker(cfg workerConfig) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, shut, err := open(ctx, cfg.Dir)
	if err != nil {
		return err
	}
	defer shut()
	book, err := openLedger(cfg.Dir)
	if err != nil {
		return err
	}
	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[work]) error {
		book.note("start", j.ID, j.Attempt)
		length := j.Args.Milliseconds
		if j.Attempt == 1 && j.Args.First > 0 {
			length = j.Args.First
		}
		end := time.After(time.Duration(length) * time.Millisecond)
		if j.Args.Stubborn {
			<-end
		} else {
			select {
			case <-end:
			case <-ctx.Done():
				book.note("interrupted", j.ID, j.Attempt)
				return context.Cause(ctx)
			}
		}
		book.note("end", j.ID, j.Attempt)
		return nil
	}, kiln.Constant(0))
	server, err := kiln.NewServer(kiln.NewClient(s), mux, kiln.ServerConfig{
		Queues: map[string]int{cfg.Queue: cfg.Workers}, PollInterval: 100 * time.Millisecond,
		HeartbeatInterval: heartbeat, KillGrace: killGrace, DeadAfter: deadAfter, LeaderTTL: 600 * time.Millisecond,
		ShutdownTimeout: 300 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1})),
	})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
