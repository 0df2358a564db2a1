//go:build unix

package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/dashboard"
	"github.com/kilnjobs/kiln/memstore"
)

// rig is a store, a server that works on it, and a dashboard in front.
type rig struct {
	*testing.T
	store  *memstore.Store
	client *kiln.Client
	// handler is the dashboard, and root its address.
	handler http.Handler
	root    string
	// mended says that what makes jobs fail has been repaired.
	mended atomic.Bool
	// lines are what exports say, one at a time; an export ends when it is closed.
	lines chan string
}

// The kinds of jobs. Args named Broken fail until the rig is mended.
type (
	chargeCard struct {
		Order  int
		Broken bool
	}
	sendEmail struct{ To string }
	thumbnail struct{ File string }
	export    struct{ Customer string }
	report    struct{ Shop string }
)

func (chargeCard) Kind() string { return "charge_card" }
func (sendEmail) Kind() string  { return "send_email" }
func (thumbnail) Kind() string  { return "make_thumbnail" }
func (export) Kind() string     { return "export_orders" }
func (report) Kind() string     { return "sales_report" }

func (a chargeCard) Title() string { return fmt.Sprintf("Charge order %d", a.Order) }
func (a export) Title() string     { return "Orders of " + a.Customer }

var (
	errDeclined = errors.New("payment gateway answered 402: card declined")
	errDiskFull = errors.New("write orders.csv: no space left on device")
)

// newRig opens a dashboard with these options beyond Prefix and Authorize.
func newRig(t *testing.T, change ...func(*dashboard.Options)) *rig {
	t.Helper()
	browser(t) // without one there is nothing to do
	r := &rig{T: t, store: memstore.New(), lines: make(chan string)}
	t.Cleanup(r.store.Close)
	r.client = kiln.NewClient(r.store)
	o := dashboard.Options{Prefix: "/kiln", Authorize: dashboard.AllowAll, Actor: actor}
	for _, c := range change {
		c(&o)
	}
	r.handler = dashboard.New(r.client, o)
	r.root = r.serve(r.handler)
	return r
}

// serve answers requests until the test ends, and returns the address of what is below the prefix.
func (r *rig) serve(h http.Handler) string {
	web := httptest.NewServer(h)
	r.Cleanup(func() {
		web.CloseClientConnections() // streams
		web.Close()
	})
	return web.URL + "/kiln"
}

// work runs a server until the test ends.
func (r *rig) work() {
	r.Helper()
	mux := kiln.NewMux()
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[chargeCard]) error {
		if j.Args.Broken && !r.mended.Load() {
			return kiln.Permanent(fmt.Errorf("charge order %d: %w", j.Args.Order, errDeclined))
		}
		return j.SetOutput(map[string]any{"payment": fmt.Sprintf("pay_%d", j.Args.Order)})
	})
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[sendEmail]) error { return nil })
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[thumbnail]) error { return decode([]byte(j.Args.File)) })
	kiln.Handle(mux, r.export)
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[report]) error {
		j.Logf("summing up %s", j.Args.Shop)
		return nil
	})
	server, err := kiln.NewServer(r.client, mux, kiln.ServerConfig{
		Name: "shop-1", Queues: map[string]int{kiln.DefaultQueue: 4, "mail": 2, "wholesale": 1}, PollInterval: 100 * time.Millisecond,
	})
	if err != nil {
		r.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(ctx) }()
	r.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			r.Error(err)
		}
	})
}

// decode has a mistake.
func decode(b []byte) error {
	_ = b[len(b)+3]
	return nil
}

func (r *rig) export(ctx context.Context, j *kiln.Job[export]) error {
	if !r.mended.Load() {
		j.Logf("exporting to a full disk")
		return kiln.Permanent(errDiskFull)
	}
	for n := 1; ; n++ {
		select {
		case line, more := <-r.lines:
			if !more {
				return nil
			}
			j.Logf("%s", line)
			j.SetProgress(10 * n)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enqueue adds a job and returns its id.
func (r *rig) enqueue(args kiln.Args, opts ...kiln.InsertOption) int64 {
	r.Helper()
	id, err := r.client.Enqueue(r.Context(), args, opts...)
	if err != nil {
		r.Fatal(err)
	}
	return id
}

func (r *rig) job(id int64) kiln.Record {
	r.Helper()
	job, err := r.client.Get(r.Context(), id)
	if err != nil {
		r.Fatal(err)
	}
	return job
}

// await polls the store until something holds.
func (r *rig) await(what string, done func() bool) {
	r.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); !done(); <-tick.C {
		if time.Since(begin) > patience {
			r.Fatalf("waited %s until %s", patience, what)
		}
	}
}

// reaches waits until a job is in a state.
func (r *rig) reaches(id int64, state kiln.State) {
	r.Helper()
	r.await(fmt.Sprintf("job %d is %s", id, state), func() bool { return r.job(id).State == state })
}
