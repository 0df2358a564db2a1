package main

import (
	"context"
	"strings"
)

// system is something that runs jobs.
type system struct {
	name string
	// shared says that several processes can work on one database.
	shared bool
	// open makes a fresh database in dir, or attaches to the one that is there.
	open func(ctx context.Context, dir string) (instance, error)
}

// instance is a system on one database.
type instance interface {
	// insert stores n jobs, in one call or transaction if n is above 1, numbered from first.
	insert(ctx context.Context, first int64, n int) error
	// work runs jobs with so many workers until stop is called. handle gets each job's number.
	work(ctx context.Context, workers int, handle func(n int64)) (stop func() error, err error)
	close() error
}

// payload makes a job's args: a number, and text up to 240 bytes in all.
type payload struct {
	N    int64  `json:"n"`
	Text string `json:"text"`
}

// Kind names the handler, for kiln and for River alike.
func (payload) Kind() string { return "bench" }

var text = strings.Repeat("x", 215)

func newPayload(n int64) payload { return payload{N: n, Text: text} }

// synchronous is the durability of every SQLite database here: 1 is NORMAL, 2 is FULL.
var synchronous = "1"

// sqliteFile is the database's name in its folder.
const sqliteFile = "jobs.db"
