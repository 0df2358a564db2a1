package kiln_test

import (
	"context"
	"testing"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

// noop is a job whose handler does nothing.
type noop struct{ N int }

func (noop) Kind() string { return "noop" }

// BenchmarkDrain works through no-op jobs in memory: what is measured besides the store is the engine's own cost of a job.
func BenchmarkDrain(b *testing.B) {
	store := memstore.New()
	defer store.Close()
	c := kiln.NewClient(store)
	mux := kiln.NewMux()
	ran := make(chan struct{}, 1000)
	kiln.Handle(mux, func(context.Context, *kiln.Job[noop]) error { ran <- struct{}{}; return nil })
	s, err := kiln.NewServer(c, mux, kiln.ServerConfig{Queues: map[string]int{"default": 100}})
	if err != nil {
		b.Fatal(err)
	}
	specs := make([]kiln.Spec, b.N)
	for i := range specs {
		specs[i].Args = noop{i}
	}
	if _, err := c.EnqueueMany(b.Context(), specs...); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	b.ReportAllocs()
	b.ResetTimer()
	go func() { done <- s.Run(ctx) }()
	for range b.N {
		<-ran
	}
	b.StopTimer()
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
