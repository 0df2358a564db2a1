package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// apiNoon is when the tests of the API begin.
var apiNoon = time.Date(2030, 5, 6, 12, 0, 30, 0, time.UTC)

// apiClock is the clock of a store, moved by hand.
type apiClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *apiClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *apiClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// fullStore has the optional interfaces that the tests say, and no others: the memory store may gain some.
type fullStore struct {
	driver.Store
	driver.Console
	driver.LimitReader
}

// bareStore has none.
type bareStore struct{ driver.Store }

// apiRig is a dashboard on a memory store.
type apiRig struct {
	t       testing.TB
	clock   *apiClock
	mem     *memstore.Store
	options Options
	handler http.Handler
}

// newAPIRig returns a dashboard for which everything is allowed. Wrap changes what it sees of the store; nil is fullStore.
func newAPIRig(t testing.TB, wrap func(*memstore.Store) driver.Store, change ...func(*Options)) *apiRig {
	t.Helper()
	g := &apiRig{t: t, clock: &apiClock{at: apiNoon}}
	g.mem = memstore.New(memstore.Clock(g.clock.now))
	t.Cleanup(g.mem.Close)
	g.options = Options{Authorize: func(*http.Request) Access { return ReadWrite }}
	for _, c := range change {
		c(&g.options)
	}
	var store driver.Store = fullStore{g.mem, g.mem, g.mem}
	if wrap != nil {
		store = wrap(g.mem)
	}
	g.handler = New(kiln.NewClient(store), g.options)
	return g
}

// do sends a request. Change may alter it.
func (g *apiRig) do(method, target, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	g.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if method == http.MethodPost {
		kind := "application/x-www-form-urlencoded"
		if strings.Contains(r.URL.Path, "/api/") {
			kind = "application/json"
		}
		r.Header.Set("Content-Type", kind)
	}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

// want sends a request and ends the test unless the answer has a status.
func (g *apiRig) want(status int, method, target, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	g.t.Helper()
	w := g.do(method, target, body, change...)
	if w.Code != status {
		g.t.Fatalf("%s %s %.100s: status %d, want %d: %.300s", method, target, body, w.Code, status, w.Body)
	}
	return w
}

// wantError sends a request to the API and checks the status and a part of the error.
func (g *apiRig) wantError(status int, part, method, target, body string) {
	g.t.Helper()
	w := g.want(status, method, target, body)
	var e errorView
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || !strings.Contains(e.Error, part) {
		g.t.Errorf("%s %s: %s, want an error with %q", method, target, w.Body, part)
	}
	if kind := w.Header().Get("Content-Type"); kind != "application/json; charset=utf-8" {
		g.t.Errorf("%s %s: content type %q", method, target, kind)
	}
}

// get reads JSON.
func (g *apiRig) get(target string, v any) {
	g.t.Helper()
	if err := json.Unmarshal(g.want(http.StatusOK, http.MethodGet, target, "").Body.Bytes(), v); err != nil {
		g.t.Fatalf("GET %s: %v", target, err)
	}
}

// must ends the test on an error.
func (g *apiRig) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// insert stores jobs and returns their ids.
func (g *apiRig) insert(jobs ...driver.InsertParams) []int64 {
	g.t.Helper()
	for i := range jobs {
		p := &jobs[i]
		if p.Kind == "" {
			p.Kind = "mail"
		}
		if p.Queue == "" {
			p.Queue = "default"
		}
		if p.MaxAttempts == 0 {
			p.MaxAttempts = 3
		}
		if p.Args == nil {
			p.Args = []byte(`{"to":"ann@example.com"}`)
		}
	}
	out, err := g.mem.Insert(context.Background(), jobs)
	g.must(err)
	ids := make([]int64, len(out))
	for i := range out {
		ids[i] = out[i].ID
	}
	return ids
}

// run claims the next job of a queue and returns it.
func (g *apiRig) run(queue string) driver.Job {
	g.t.Helper()
	jobs, err := g.mem.Claim(context.Background(), driver.ClaimQuery{Queues: []string{queue}, Limit: 1, Server: "s1"})
	g.must(err)
	if len(jobs) != 1 {
		g.t.Fatalf("claimed %d jobs of %s, want 1", len(jobs), queue)
	}
	return jobs[0]
}

// end ends a run.
func (g *apiRig) end(job driver.Job, o driver.Outcome) {
	g.t.Helper()
	o.Ref = job.Ref
	results, err := g.mem.Finish(context.Background(), "s1", []driver.Outcome{o})
	g.must(err)
	if results[0] != driver.Applied {
		g.t.Fatalf("the outcome of job %d is %d, want applied", job.ID, results[0])
	}
}

// failed makes a failed job and returns its id.
func (g *apiRig) failed(p driver.InsertParams) int64 {
	g.t.Helper()
	id := g.insert(p)[0]
	queue := p.Queue
	if queue == "" {
		queue = "default"
	}
	g.end(g.run(queue), driver.Outcome{State: driver.Failed, Reason: "exhausted", Error: "boom", Trace: "main.go:1"})
	return id
}

// state is where a job stands.
func (g *apiRig) state(id int64) driver.State {
	g.t.Helper()
	r, err := g.mem.Job(context.Background(), id)
	g.must(err)
	return r.State
}

// wantStates checks where jobs stand.
func (g *apiRig) wantStates(want map[int64]driver.State) {
	g.t.Helper()
	for id, state := range want {
		if got := g.state(id); got != state {
			g.t.Errorf("job %d is %s, want %s", id, got, state)
		}
	}
}
