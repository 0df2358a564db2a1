package kiln_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// rig is a store, a client and a mux inside of a bubble of virtual time.
type rig struct {
	t      *testing.T
	mem    *memstore.Store
	store  driver.Store
	client *kiln.Client
	mux    *kiln.Mux
}

// bubble runs a test in virtual time, on a memory store.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New()
		defer mem.Close()
		r := &rig{t: t, mem: mem}
		r.on(mem)
		f(t, r)
		if err := mem.Check(context.Background()); err != nil {
			t.Errorf("the store is not consistent: %v", err)
		}
	})
}

// on makes the rig use another view of its store.
func (r *rig) on(s driver.Store) {
	r.store, r.client, r.mux = s, kiln.NewClient(s), kiln.NewMux()
}

// task is the args of most tests' jobs.
type task struct{ N int }

func (task) Kind() string { return "task" }

// handle registers the handler of task.
func (r *rig) handle(h func(ctx context.Context, j *kiln.Job[task]) error, opts ...kiln.HandleOption) {
	kiln.Handle(r.mux, h, opts...)
}

// server is a running server.
type server struct {
	*kiln.Server
	stop context.CancelFunc
	done chan struct{}
}

// start runs a server on the rig's store until the test ends or stop is called.
func (r *rig) start(cfg kiln.ServerConfig) *server {
	r.t.Helper()
	return r.startOn(r.client, cfg)
}

func (r *rig) startOn(c *kiln.Client, cfg kiln.ServerConfig) *server {
	r.t.Helper()
	s, err := kiln.NewServer(c, r.mux, cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	out := &server{Server: s, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(out.done)
		if err := s.Run(ctx); err != nil {
			r.t.Errorf("Run: %v", err)
		}
	}()
	r.t.Cleanup(func() { cancel(); <-out.done })
	synctest.Wait()
	return out
}

// end stops the server and waits for it.
func (s *server) end() {
	s.stop()
	<-s.done
}

// pass lets virtual time pass, and then everything that is due happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// enqueue stores one task.
func (r *rig) enqueue(opts ...kiln.InsertOption) int64 {
	r.t.Helper()
	id, err := r.client.Enqueue(r.t.Context(), task{}, opts...)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// job reads a job back.
func (r *rig) job(id int64) kiln.Record {
	r.t.Helper()
	rec, err := r.client.Get(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// want checks a job's state and the reasons in its history.
func (r *rig) want(id int64, state kiln.State, reasons ...string) kiln.Record {
	r.t.Helper()
	rec := r.job(id)
	var got []string
	for _, e := range rec.History {
		got = append(got, e.Reason)
	}
	same := len(got) == len(reasons)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == reasons[i]
	}
	if rec.State != state || !same {
		r.t.Errorf("job %d is %s with history %q, want %s with %q", id, rec.State, got, state, reasons)
	}
	return rec
}

// block returns a handler that waits for its context or for release, and tells on started.
func block(started chan<- int64, release <-chan struct{}) func(context.Context, *kiln.Job[task]) error {
	return func(ctx context.Context, j *kiln.Job[task]) error {
		if started != nil {
			started <- j.ID
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-release:
			return nil
		}
	}
}
