package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

func TestListsArePaged(t *testing.T) {
	g := newAPIRig(t, nil)
	for range 120 {
		g.insert(driver.InsertParams{Queue: "q", Tags: []string{"x y&z"}})
	}
	for target, sizes := range map[string][]int{
		"/api/jobs/enqueued?x=1":                                       {50, 50, 20},
		"/api/jobs/enqueued?limit=100":                                 {100, 20},
		"/api/jobs/enqueued?limit=500&tag=" + url.QueryEscape("x y&z"): {120},
		"/api/jobs/enqueued?limit=&queue=&kind=&batch=&tag=":           {50, 50, 20},
	} {
		seen := make(map[int64]bool)
		cursor := ""
		for page, size := range sizes {
			var v jobsView
			g.get(target+"&cursor="+cursor, &v)
			if len(v.Jobs) != size || (v.Next == "") != (page == len(sizes)-1) {
				t.Errorf("%s, page %d: %d jobs, next %q, want %d", target, page, len(v.Jobs), v.Next, size)
			}
			for _, job := range v.Jobs {
				seen[job.ID] = true
			}
			cursor = v.Next
		}
		if len(seen) != 120 {
			t.Errorf("%s: %d different jobs", target, len(seen))
		}
	}
}

func TestLimitsAndBatchesArePaged(t *testing.T) {
	g := newAPIRig(t, nil)
	for i := range 5 {
		g.insert(driver.InsertParams{LimitKey: fmt.Sprintf("key %d/é", i), LimitMax: 1})
		_, err := g.mem.OpenBatch(context.Background(), driver.NewBatch{})
		g.must(err)
	}
	var keys []string
	for after, pages := "", 0; pages == 0 || after != ""; pages++ {
		var v limitsView
		g.get("/api/limits?limit=2&after="+url.QueryEscape(after), &v)
		for _, l := range v.Limits {
			keys = append(keys, l.Key)
		}
		if after = v.Next; after != "" && after != keys[len(keys)-1] {
			t.Fatalf("next is %q, the last key %q", after, keys[len(keys)-1])
		}
	}
	if len(keys) != 5 {
		t.Errorf("the keys are %q", keys)
	}
	var v batchesView
	if g.get("/api/batches?limit=5", &v); len(v.Batches) != 5 || v.Next != "" {
		t.Errorf("%d batches, next %q", len(v.Batches), v.Next)
	}
	if g.get("/api/batches?limit=3", &v); len(v.Batches) != 3 || v.Next == "" {
		t.Errorf("%d batches, next %q", len(v.Batches), v.Next)
	}
}

// sparseStore looks through a stretch without a match many times before it finds something.
type sparseStore struct {
	driver.Store
	empty, calls int
	each         time.Duration
	err          error
}

func (s *sparseStore) Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
	s.calls++
	<-time.After(s.each) // the time that the store needs; virtual
	if s.err != nil {
		return driver.Page{}, s.err
	}
	if s.calls <= s.empty {
		if want := ""; s.calls > 1 {
			if want = strconv.Itoa(s.calls - 1); q.Cursor != want {
				return driver.Page{}, fmt.Errorf("cursor %q, want %q", q.Cursor, want)
			}
		}
		return driver.Page{Next: strconv.Itoa(s.calls)}, nil
	}
	return driver.Page{Records: []driver.Record{{State: q.State}}}, nil
}

// A page is not empty while there is more, unless finding it takes too many calls or too long.
func TestPagesAreNotEmptyWhileThereIsMore(t *testing.T) {
	for name, c := range map[string]struct {
		empty       int
		each        time.Duration
		jobs, calls int
		next        string
	}{
		"at once":       {0, 0, 1, 1, ""},
		"after a while": {19, 10 * time.Millisecond, 1, 20, ""},
		"too many":      {1000, 0, 0, 20, "20"},
		"too slow":      {1000, 400 * time.Millisecond, 0, 3, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &sparseStore{empty: c.empty, each: c.each}
				g := newAPIRig(t, func(mem *memstore.Store) driver.Store { store.Store = mem; return store })
				var v jobsView
				g.get("/api/jobs/failed?tag=rare", &v)
				if len(v.Jobs) != c.jobs || v.Next != c.next || store.calls != c.calls {
					t.Errorf("%d jobs, next %q, %d calls; want %d, %q, %d", len(v.Jobs), v.Next, store.calls, c.jobs, c.next, c.calls)
				}
			})
		})
	}
}

func TestAPIErrors(t *testing.T) {
	g := newAPIRig(t, nil)
	id := g.failed(driver.InsertParams{})
	job := "/api/jobs/" + strconv.FormatInt(id, 10)
	for target, part := range map[string]string{
		"/api/series?range=2h":                      `"2h" is neither 1h nor 24h`,
		"/api/jobs/failed?limit=0":                  "from 1 to 500",
		"/api/jobs/failed?limit=501":                "from 1 to 500",
		"/api/jobs/failed?limit=x":                  "from 1 to 500",
		"/api/jobs/failed?limit=1e2":                "from 1 to 500",
		"/api/jobs/failed?limit=-5":                 "from 1 to 500",
		"/api/jobs/failed?batch=x":                  `batch "x"`,
		"/api/jobs/failed?batch=0":                  `batch "0"`,
		"/api/jobs/failed?batch=-1":                 `batch "-1"`,
		"/api/jobs/failed?cursor=x":                 "cursor",
		"/api/jobs/failed?queue=%00":                "no text",
		"/api/jobs/failed?tag=%ff":                  "no text",
		"/api/jobs/failed?tag=%zz":                  "cannot be read",
		"/api/jobs/failed?a;b":                      "cannot be read",
		"/api/retries?limit=0":                      "from 1 to 500",
		"/api/retries?cursor=!":                     "cursor",
		job + "/logs?after=x":                       `after "x"`,
		job + "/logs?after=-1":                      `after "-1"`,
		job + "/logs?limit=501":                     "from 1 to 500",
		"/api/batches?parent=x":                     `parent "x"`,
		"/api/batches?parent=0":                     `parent "0"`,
		"/api/batches?limit=1000":                   "from 1 to 500",
		"/api/batches?cursor=x":                     "cursor",
		"/api/limits?limit=x":                       "from 1 to 500",
		"/api/limits?after=%00":                     "no text",
		"/api/events?watch=nothing":                 "nothing that can be watched",
		"/api/events?watch=jobs/failed%3Flimit%3D0": "from 1 to 500",
		"/api/events?watch=overview%3Frange%3D1y":   "neither 1h nor 24h",
		"/api/events?watch=a%2F%2Fb":                "no clean path",
		"/api/events?watch=..%2Foverview":           "no clean path",
	} {
		g.wantError(http.StatusBadRequest, part, http.MethodGet, target, "")
	}
	for target, part := range map[string]string{
		"/api/jobs/999":                 "job 999",
		"/api/jobs/999/logs":            "job 999",
		"/api/jobs/lost":                "neither a state nor",
		"/api/jobs/x/logs":              "no positive number",
		"/api/jobs/0/logs":              "no positive number",
		"/api/batches/7":                "batch 7",
		"/api/batches/x":                "no positive number",
		"/api/nothing":                  "there is nothing at",
		"/api/events?watch=jobs%2Flost": "neither a state nor",
		"/api/events?watch=batches%2Fx": "no positive number",
	} {
		g.wantError(http.StatusNotFound, part, http.MethodGet, target, "")
	}
}

// What a store cannot do is not there.
func TestWithoutOptionalInterfaces(t *testing.T) {
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store { return bareStore{mem} })
	id := g.insert(driver.InsertParams{})[0]
	for _, target := range []string{"/api/limits", "/limits", "/api/limits?limit=x", fmt.Sprintf("/api/jobs/%d/logs", id), "/api/events?watch=limits"} {
		if w := g.want(http.StatusNotFound, http.MethodGet, target, ""); strings.Contains(target, "/api/") && !strings.Contains(w.Body.String(), "this store") {
			t.Errorf("%s: %s", target, w.Body)
		}
	}
	var v jobView
	if g.get(fmt.Sprintf("/api/jobs/%d", id), &v); v.Why != nil {
		t.Errorf("a store that explains nothing says why: %+v", v.Why)
	}
}

// lostExplainer is an Explainer whose answer does not fit.
type lostExplainer struct {
	driver.Store
	x   driver.Explanation
	err error
}

func (s lostExplainer) Explain(context.Context, int64) (driver.Explanation, error) {
	return s.x, s.err
}

// A job is shown without a reason rather than not at all, or with that of another state.
func TestWhyThatDoesNotFit(t *testing.T) {
	for name, s := range map[string]lostExplainer{
		"moved on": {x: driver.Explanation{State: driver.Processing}},
		"gone":     {err: driver.ErrNotFound},
		"broken":   {err: errors.New("timeout")},
	} {
		g := newAPIRig(t, func(mem *memstore.Store) driver.Store { s.Store = mem; return s })
		id := g.insert(driver.InsertParams{})[0]
		var v jobView
		if g.get(fmt.Sprintf("/api/jobs/%d", id), &v); v.Why != nil || v.State != driver.Enqueued {
			t.Errorf("%s: %+v", name, v.Why)
		}
	}
}

// The chart has a point for every step, whatever the minute, and the last one holds now.
func TestSeriesIsEven(t *testing.T) {
	for _, second := range []time.Duration{0, time.Second, 29 * time.Minute, 30 * time.Minute, 59*time.Minute + 59*time.Second} {
		g := newAPIRig(t, nil)
		g.clock.at = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC).Add(second)
		g.failed(driver.InsertParams{})
		g.clock.move(-59 * time.Minute)
		g.end(func() driver.Job { g.insert(driver.InsertParams{}); return g.run("default") }(), driver.Outcome{State: driver.Succeeded})
		g.clock.move(59 * time.Minute)
		for rng, s := range spans {
			var v seriesView
			g.get("/api/series?range="+rng, &v)
			if len(v.Points) != s.points || v.Step != int64(s.step.Seconds()) {
				t.Fatalf("%s: %d points of %d s", rng, len(v.Points), v.Step)
			}
			var sum, failed int64
			for i, p := range v.Points {
				if i > 0 && !p.At.Equal(v.Points[i-1].At.Add(s.step)) {
					t.Errorf("%s: point %d is at %s", rng, i, p.At)
				}
				sum += p.Succeeded
				failed += p.Failed
			}
			last := v.Points[len(v.Points)-1]
			if now := g.clock.now(); now.Before(last.At) || !now.Before(last.At.Add(s.step)) || last.Failed != 1 || sum != 1 || failed != 1 {
				t.Errorf("%s at %s: the last point is %+v, %d succeeded and %d failed in all", rng, now, last, sum, failed)
			}
		}
	}
}

// The last jobs of many recurring jobs are not all read.
func TestLastRunsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that no time goes by
		g := newAPIRig(t, func(mem *memstore.Store) driver.Store { return bareStore{mem} })
		for i := range lastJobs + 1 {
			id := g.insert(driver.InsertParams{})[0]
			g.must(g.mem.PutRecurring(context.Background(), driver.Recurring{
				ID: fmt.Sprintf("r%04d", i), Spec: "@hourly", Location: "UTC", LastJobID: id, NextRunAt: apiNoon.Add(time.Hour),
			}))
		}
		var v recurringsView
		g.get("/api/recurring", &v)
		if v.Recurring[lastJobs-1].LastState != driver.Enqueued || v.Recurring[lastJobs].LastState != "" {
			t.Errorf("the last states are %q and %q", v.Recurring[lastJobs-1].LastState, v.Recurring[lastJobs].LastState)
		}
		var p problemsView
		if g.get("/api/problems", &p); p.Missing[len(p.Missing)-1] != problemRecurringFailed {
			t.Errorf("missing is %q", p.Missing)
		}
	})
}
