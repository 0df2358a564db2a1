package main

import (
	"context"
	"math/rand/v2"
)

// system is something that runs jobs.
type system struct {
	name string
	// on is where it keeps its jobs.
	on backend
	// kiln says that it is kiln, so that what only kiln has can be measured on it.
	kiln bool
	// shared says that several processes can work in one place.
	shared bool
	// inserts says that only its inserts of many jobs are measured.
	inserts bool
	// thorough says that -quick leaves it out, unless it is asked for by name: it is slow, or nobody's measure.
	thorough bool
	// open begins to work in a place that is fresh, or that another process of the same system has begun to work in.
	open func(ctx context.Context, address string) (instance, error)
}

// instance is a system at work in one place.
type instance interface {
	// insert stores n jobs, in one call or transaction if n is above 1, numbered from first.
	insert(ctx context.Context, first int64, n int) error
	// work runs jobs with so many workers until stop is called. handle gets each job's number.
	work(ctx context.Context, workers int, handle func(n int64)) (stop func() error, err error)
	// idle says that the end of every job is stored: none is ready, runs or is scheduled.
	idle(ctx context.Context) (bool, error)
	close() error
}

// payload makes a job's args: a number, and text up to 240 bytes in all.
type payload struct {
	N    int64  `json:"n"`
	Text string `json:"text"`
}

// kindName is what every system calls the kind of job here.
const kindName = "bench"

// Kind names the handler, for kiln and for River alike.
func (payload) Kind() string { return kindName }

// argsSize is how many bytes the args of a job have, about.
const argsSize = 240

var text = textFor(argsSize)

// textFor is the text that makes args so many bytes long. It does not repeat itself, so that no database makes it shorter.
func textFor(size int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, max(size-25, 0))
	for i := range b {
		b[i] = letters[random.IntN(len(letters))]
	}
	return string(b)
}

func newPayload(n int64) payload { return payload{N: n, Text: text} }
