package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

var update = flag.Bool("update", false, "write testdata/json anew")

// goldenStore tells canned problems and reasons besides what a full store does.
type goldenStore struct {
	fullStore
	problems driver.Problems
}

func (s *goldenStore) Problems(context.Context, int) (driver.Problems, error) { return s.problems, nil }

func (s *goldenStore) Explain(ctx context.Context, id int64) (driver.Explanation, error) {
	r, err := s.Job(ctx, id)
	return driver.Explanation{
		At: apiNoon, State: r.State, Parents: []driver.OpenParent{{ID: 3, State: driver.Failed, Kind: "mail", Title: "Parent", On: driver.OnSucceeded}},
		OpenParents: 1, AfterBatch: 1, BatchLive: 4, Limit: &driver.LimitInfo{Key: "stripe", Max: 1, Active: 1}, Ahead: driver.AheadCap,
		ExpectedAt: apiNoon.Add(time.Minute), Paused: true, PausedAt: apiNoon.Add(-time.Hour), QueueServed: true,
		HeartbeatAt: apiNoon.Add(-time.Second),
	}, err
}

// newGoldenRig fills a store with something of everything.
func newGoldenRig(t *testing.T) *apiRig {
	t.Helper()
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store {
		return &goldenStore{fullStore: fullStore{mem, mem, mem}, problems: cannedProblems()}
	}, func(o *Options) { o.Prefix = "/kiln" })
	fillGolden(g)
	return g
}

func fillGolden(g *apiRig) {
	ctx := context.Background()
	g.clock.move(-time.Hour)
	batch, err := g.mem.OpenBatch(ctx, driver.NewBatch{Description: "Import", Meta: map[string]string{"file": "a.csv"}})
	g.must(err)
	nested, err := g.mem.OpenBatch(ctx, driver.NewBatch{Description: "Part 1", Parent: batch})
	g.must(err)
	g.insert(driver.InsertParams{Queue: "import", BatchID: batch, Tags: []string{"csv"}})                // 1 succeeded
	g.insert(driver.InsertParams{Queue: "import", BatchID: nested, Title: "Second"})                     // 2 failed
	g.insert(driver.InsertParams{Queue: "mail", Kind: "mail", Meta: map[string]string{"by": "ann"}})     // 3 retry
	g.insert(driver.InsertParams{Queue: "mail", Title: "To Bob", Timeout: 90 * time.Second})             // 4 processing
	g.insert(driver.InsertParams{Queue: "mail", Priority: 5, Timeout: -1, Tags: []string{"slow", "eu"}}) // 5 enqueued
	g.insert(driver.InsertParams{Queue: "mail", Parents: []driver.Parent{{ID: 4, On: driver.OnSucceeded}}, AfterBatch: batch})
	g.insert(driver.InsertParams{Queue: "mail", RunAt: apiNoon.Add(time.Hour)}) // 7 scheduled
	for range 3 {
		g.insert(driver.InsertParams{Queue: "pay", LimitKey: "stripe", LimitMax: 1, LimitRate: 10, LimitPer: time.Minute, LimitBurst: 2}) // 8 to 10
	}
	g.insert(driver.InsertParams{Queue: "pay", Kind: "report"}) // 11 deleted
	g.clock.move(59 * time.Minute)
	g.end(g.run("import"), driver.Outcome{State: driver.Succeeded, Output: []byte(`{"rows":3}`)})
	g.end(g.run("import"), driver.Outcome{State: driver.Failed, Reason: "exhausted", Error: "boom", Trace: "main.go:1"})
	g.must(g.mem.SealBatch(ctx, batch))
	processing := g.run("mail")                                                                // by priority: 5
	g.end(processing, driver.Outcome{State: driver.Enqueued, Refund: true, Reason: "snoozed"}) // back
	_, err = g.mem.Delete(driver.WithActor(ctx, "ann"), driver.Filter{IDs: []int64{11}})       // before anybody ran it
	g.must(err)
	g.must(g.mem.PauseQueue(ctx, "mail", false))
	jobs, err := g.mem.Claim(ctx, driver.ClaimQuery{Queues: []string{"mail"}, Limit: 3, Server: "s1"}) // 5, 3, 4
	g.must(err)
	for _, job := range jobs {
		switch job.ID {
		case 3:
			g.end(job, driver.Outcome{State: driver.Scheduled, Delay: 10 * time.Minute, Reason: "retry", Error: "<script>alert(1)</script>"})
		case 5:
			g.end(job, driver.Outcome{State: driver.Enqueued, Refund: true, Reason: "shutdown"})
		case 4:
			g.must(g.mem.WriteConsole(ctx, job.Ref, []string{"one", "two & three"}, 40))
		}
	}
	g.must(g.mem.PauseQueue(ctx, "pay", true))
	g.must(g.mem.PutRecurring(ctx, driver.Recurring{
		ID: "nightly", Group: "reports", Spec: "30 2 * * *", Location: "Europe/Berlin", Misfire: driver.MisfireAll, Overlap: true,
		Template:  driver.InsertParams{Kind: "report", Queue: "default", Args: []byte(`{"n":1}`)},
		NextRunAt: time.Date(2030, 5, 7, 0, 30, 0, 0, time.UTC), LastRunAt: time.Date(2030, 5, 6, 0, 30, 0, 0, time.UTC), LastJobID: 2,
	}))
	g.must(g.mem.PutRecurring(ctx, driver.Recurring{
		ID: "odd", Spec: "nonsense", Location: "UTC", Misfire: driver.MisfireSkip, Paused: true,
		Template: driver.InsertParams{Kind: "report", Queue: "default"},
	}))
	_, err = g.mem.Heartbeat(ctx, driver.ServerInfo{
		ID: "s1", Host: "web-1", PID: 42, Version: "kiln/v1.0.0", Queues: []string{"mail", "import"}, Kinds: []string{"mail"}, Workers: 10, Running: 1,
	})
	g.must(err)
	_, err = g.mem.Heartbeat(ctx, driver.ServerInfo{ID: "s2", Workers: 5})
	g.must(err)
	g.clock.move(time.Minute)
	_, err = g.mem.Heartbeat(ctx, driver.ServerInfo{
		ID: "s1", Host: "web-1", PID: 42, Version: "kiln/v1.0.0", Queues: []string{"mail", "import"}, Kinds: []string{"mail"}, Workers: 10, Running: 1,
	})
	g.must(err)
	g.clock.move(1500 * time.Millisecond)
}

// goldens are requests of every GET route of the API, but for the stream.
var goldens = map[string]string{
	"overview":        "/overview",
	"series-1h":       "/series",
	"series-24h":      "/series?range=24h",
	"problems":        "/problems",
	"jobs-enqueued":   "/jobs/enqueued",
	"jobs-filtered":   "/jobs/enqueued?queue=mail&kind=mail&tag=eu&limit=1",
	"jobs-batch":      "/jobs/succeeded?batch=1",
	"jobs-empty":      "/jobs/awaiting?queue=none",
	"job-succeeded":   "/jobs/1",
	"job-retry":       "/jobs/3",
	"job-processing":  "/jobs/4",
	"job-awaiting":    "/jobs/6",
	"job-deleted":     "/jobs/11",
	"logs":            "/jobs/4/logs?after=1&limit=10",
	"logs-empty":      "/jobs/1/logs",
	"retries":         "/retries",
	"recurring":       "/recurring",
	"queues":          "/queues",
	"servers":         "/servers",
	"batches":         "/batches",
	"batches-nested":  "/batches?parent=1",
	"batches-page":    "/batches?limit=1",
	"batch":           "/batches/1",
	"limits":          "/limits",
	"error-not-found": "/jobs/999",
	"error-invalid":   "/series?range=1y",
}

func TestAPIGolden(t *testing.T) {
	g := newGoldenRig(t)
	for name, target := range goldens {
		t.Run(name, func(t *testing.T) {
			w := g.do(http.MethodGet, "/kiln/api"+target, "")
			if kind := w.Header().Get("Content-Type"); kind != "application/json; charset=utf-8" {
				t.Errorf("content type is %q", kind)
			}
			compareGolden(t, name, w.Body.Bytes())
		})
	}
	files, err := filepath.Glob("testdata/json/*.golden")
	if err != nil || len(files) != len(goldens) {
		t.Errorf("there are %d golden files for %d requests: %v", len(files), len(goldens), err)
	}
}

// Every route that answers JSON to a GET has a golden answer.
func TestEveryRouteHasAGoldenAnswer(t *testing.T) {
	for _, route := range apiRoutes() {
		pattern := strings.TrimPrefix(route.pattern, "/api")
		if pattern == "/events" {
			continue
		}
		found := slices.ContainsFunc(goldenTargets(), func(target string) bool {
			path, _, _ := strings.Cut(target, "?")
			segments, _ := split(path)
			_, ok := matchPath(pattern, segments)
			return ok
		})
		if !found {
			t.Errorf("no golden answer for %s", route.pattern)
		}
	}
}

func goldenTargets() []string {
	var targets []string
	for _, target := range goldens {
		targets = append(targets, target)
	}
	return targets
}

func compareGolden(t *testing.T, name string, body []byte) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	file := filepath.Join("testdata", "json", name+".golden")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs; it is now\n%s", file, got.Bytes())
	}
}
