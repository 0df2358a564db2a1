package main

import (
	"context"
	"os"
	"time"
)

// backend is what systems keep their jobs in.
type backend interface {
	name() string
	// reference is the system on it that others are compared with.
	reference() string
	// describe reaches it, and says which version it is and which of its settings decide how fast it is.
	describe(ctx context.Context) ([]string, error)
	// place makes a place with nothing in it.
	place(ctx context.Context) (place, error)
	// close ends what the backend has started.
	close() error
}

// place is a fresh database, for one round of one system.
type place interface {
	// address is what a system's open needs, in this process or another.
	address() string
	// settle does at once what a database does by itself as time passes: it takes statistics of what is in it.
	settle(ctx context.Context) error
	// meter reads what the database's server has spent for this place so far. It is nil where there is no server.
	meter(ctx context.Context) (func(ctx context.Context) (spent, error), error)
	remove(ctx context.Context) error
}

// spent is what a server used between two moments.
type spent struct {
	cpu time.Duration
	// log is how many bytes went to its write-ahead log.
	log int64
}

// unknown stands for what cannot be measured.
const unknown = -1

// committer is a place that can tell how long a durable commit takes.
type committer interface {
	// commit writes a row and waits until it is durable.
	commit(ctx context.Context) (time.Duration, error)
}

// synchronous is the durability of every SQLite database here: 1 is NORMAL, 2 is FULL.
var synchronous = "1"

// sqliteFile is the database's name in its folder.
const sqliteFile = "jobs.db"

var (
	onMemory = &folders{label: "memory"}
	onSQLite = &folders{label: "sqlite"}
)

// folders is the backend of systems that need a folder at most.
type folders struct{ label string }

func (f *folders) name() string    { return f.label }
func (*folders) reference() string { return "kiln-sqlite" }
func (*folders) close() error      { return nil }

func (f *folders) describe(context.Context) ([]string, error) {
	if f.label == "memory" {
		return nil, nil
	}
	return []string{"SQLite (modernc.org/sqlite), WAL, synchronous=" + synchronous}, nil
}

func (f *folders) place(context.Context) (place, error) {
	dir, err := os.MkdirTemp("", "kiln-bench-")
	return folder(dir), err
}

// folder is a place whose database runs in the systems' own process.
type folder string

func (f folder) address() string              { return string(f) }
func (folder) settle(context.Context) error   { return nil }
func (f folder) remove(context.Context) error { return os.RemoveAll(string(f)) }

func (folder) meter(context.Context) (func(context.Context) (spent, error), error) { return nil, nil }
