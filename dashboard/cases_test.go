package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// The tests named TestCaseB… each try a failure that users of other job systems have reported. A number names the same failure
// everywhere.

// cases are those that a dashboard can have, each with what else tries it, in this package if nothing else is said.
var cases = map[string]string{
	"B130": "TestSharedReadsOnceForMany, TestEventsCostTheSameForMany; times of a large store: bench -pages",
	"B131": "TestTemplatesObeyThePolicy, TestRedactedForms; in a browser: proof/browser",
	"B133": "TestPrefix, TestPathTricks, TestNamesInPaths",
	"B134": "TestAllowAllHostsAndPeers, TestAllowAllProxies, TestAllowAllConnections, TestDeniedMeansEverything, TestRefusedWrites, TestNewNeedsWhatItCannotDoWithout",
	"B136": "labels of metrics come with OpenTelemetry",
	"B137": "TestSlowViewer, TestEventsAreForSoMany",
}

func TestCasesAreTests(t *testing.T) {
	tests := map[string]bool{}
	for _, text := range packageTests(t) {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(text, -1) {
			tests[m[1]] = true
		}
	}
	for id, also := range cases {
		for _, name := range append(regexp.MustCompile(`Test\w+`).FindAllString(also, -1), "TestCase"+id) {
			if !tests[name] {
				t.Errorf("case %s names %s, which there is not", id, name)
			}
		}
	}
}

// countingStore counts the reads that look at many rows.
type countingStore struct {
	driver.Store
	driver.Console
	driver.LimitReader
	driver.ProblemReader
	mu    sync.Mutex
	reads map[string]int
}

func (s *countingStore) count(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[name]++
}

func (s *countingStore) Counts(ctx context.Context) (driver.Counts, error) {
	s.count("Counts")
	return s.Store.Counts(ctx)
}

func (s *countingStore) Queues(ctx context.Context) ([]driver.QueueInfo, error) {
	s.count("Queues")
	return s.Store.Queues(ctx)
}

func (s *countingStore) Problems(ctx context.Context, limit int) (driver.Problems, error) {
	s.count("Problems")
	return s.ProblemReader.Problems(ctx, limit)
}

// Twenty open pages and five programs that read the counts ask at the same time. The store is counted once for all of them.
func TestCaseB130(t *testing.T) {
	s := &countingStore{reads: map[string]int{}}
	g := newAPIRig(t, func(m *memstore.Store) driver.Store {
		s.Store, s.Console, s.LimitReader, s.ProblemReader = m, m, m, m
		return s
	})
	g.failed(driver.InsertParams{Kind: "charge"})
	var all sync.WaitGroup
	for i := range 25 {
		all.Go(func() {
			path := "/"
			if i%5 == 0 {
				path = "/api/overview"
			}
			if w := g.do(http.MethodGet, path, ""); w.Code != http.StatusOK {
				t.Errorf("%s: status %d", path, w.Code)
			}
		})
	}
	all.Wait()
	for name, n := range s.reads {
		if n > 2 { // the second, should the first be a second old before the last one asks
			t.Errorf("%s was read %d times", name, n)
		}
	}
	if len(s.reads) != 3 {
		t.Errorf("reads %v", s.reads)
	}
}

// hostile are texts that would do something if a page took them for more than text.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</script><script>alert(1)</script>`, `javascript:alert(1)`,
	`{{.}}{{template "top"}}`, "\u2028\u202ealert(1)//", `' onmouseover='alert(1)`, `<svg/onload=alert(1)>`,
}

// What jobs carry may have been written by anybody. It is shown as text, wherever it stands.
func TestCaseB131(t *testing.T) {
	g := newAPIRig(t, nil)
	client := kiln.NewClient(g.mem)
	ctx := t.Context()
	for i, text := range hostile {
		batch, err := client.OpenBatch(ctx, &kiln.Batch{Description: text, Meta: map[string]string{text: text}})
		g.must(err)
		g.insert(driver.InsertParams{
			Kind: "k", Queue: text, Title: text, Tags: []string{text}, Args: []byte(fmt.Sprintf(`{%q:%q}`, text, text)), Meta: map[string]string{text: text},
			LimitKey: text, LimitMax: 1, BatchID: batch,
		})
		job := g.run(text)
		g.must(g.mem.WriteConsole(ctx, job.Ref, []string{text}, 5))
		g.end(job, driver.Outcome{State: driver.Failed, Reason: text, Error: text, Trace: text})
		g.insert(driver.InsertParams{Kind: "k", Queue: text, LimitKey: text, LimitMax: 1})
		g.must(g.mem.PutRecurring(ctx, driver.Recurring{
			ID: text, Group: text, Spec: text, Location: text, Template: driver.InsertParams{Kind: text, Queue: text, Args: []byte("{}"), MaxAttempts: 1},
		}))
		_, err = g.mem.Heartbeat(ctx, driver.ServerInfo{ID: text, Host: text, Version: text, Queues: []string{text}, Kinds: []string{text}})
		g.must(err)
		g.must(g.mem.PauseQueue(ctx, text, i%2 == 0))
	}
	paths := []string{"/", "/jobs/failed", "/jobs/enqueued", "/retries", "/recurring", "/queues", "/limits", "/servers", "/batches", "/batches/1", "/jobs/1", "/jobs/2"}
	for i := range hostile {
		paths = append(paths, fmt.Sprintf("/jobs/%d", 2*i+1), fmt.Sprintf("/batches/%d", i+1))
	}
	for _, path := range paths {
		body := g.want(http.StatusOK, http.MethodGet, path, "").Body.String()
		// What stands between quotes is a value, and no value of ours has a quote in it.
		bare := strings.ToLower(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(body, `""`))
		for _, bad := range []string{"<script>", "<img", "<svg/", " onerror=", " onload=", " onmouseover=", "='"} {
			if strings.Contains(regexp.MustCompile(`>[^<]*<`).ReplaceAllString(bare, "><"), bad) {
				t.Errorf("%s has %s in an element", path, bad)
			}
		}
		for _, m := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			if strings.HasPrefix(strings.ToLower(html.UnescapeString(m[1])), "javascript:") {
				t.Errorf("%s has a link to %s", path, m[1])
			}
		}
	}
	for _, path := range []string{"/", "/jobs/failed", "/queues", "/limits", "/servers", "/recurring", "/batches", "/jobs/1"} {
		if body := g.want(http.StatusOK, http.MethodGet, path, "").Body.String(); !strings.Contains(body, "alert(1)") {
			t.Errorf("%s does not show the texts", path)
		}
	}
}

var links133 = regexp.MustCompile(`\s(?:href|action|formaction|src)="([^"]*)"`)

// Every link of every page leads somewhere, below any prefix, whether or not somebody takes it off the requests; times name their
// zone, and a recurring job's are in its own.
func TestCaseB133(t *testing.T) {
	for name, strip := range map[string]bool{"as it comes": false, "taken off": true} {
		t.Run(name, func(t *testing.T) {
			g := newAPIRig(t, nil, func(o *Options) { o.Prefix = "/admin/jobs" })
			fillGolden(g)
			handler := g.handler
			if strip {
				handler = http.StripPrefix("/admin/jobs", handler)
			}
			seen, queue := map[string]bool{"/admin/jobs/": true}, []string{"/admin/jobs/"}
			for len(queue) > 0 {
				address := queue[0]
				queue = queue[1:]
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
				if w.Code != http.StatusOK && w.Code != http.StatusSeeOther {
					t.Errorf("%s: status %d", address, w.Code)
				}
				for _, m := range links133.FindAllStringSubmatch(w.Body.String(), -1) {
					link := html.UnescapeString(m[1])
					path, _, _ := strings.Cut(link, "?")
					action := regexp.MustCompile(`/(requeue|delete|pause|resume|trigger|remove)$`).MatchString(path)
					switch {
					case link == "" || link == "#main" || action || seen[link]:
					case !strings.HasPrefix(link, "/admin/jobs/"):
						t.Errorf("%s has a link to %q", address, link)
					case len(seen) < 400:
						seen[link] = true
						queue = append(queue, link)
					}
				}
			}
			if len(seen) < 60 {
				t.Errorf("only %d links were found", len(seen))
			}
		})
	}
	g := newAPIRig(t, nil)
	client := kiln.NewClient(g.mem)
	g.must(client.SetRecurring(t.Context(), "nightly", "0 3 * * *", jobArgs{}, kiln.TZ("America/Sao_Paulo")))
	page := g.want(http.StatusOK, http.MethodGet, "/recurring", "").Body.String()
	if !regexp.MustCompile(`03:00:00\.000 -03<`).MatchString(page) || !regexp.MustCompile(`datetime="[^"]*Z"`).MatchString(page) {
		t.Errorf("the page of recurring jobs does not say in which zone they run: %s", page)
	}
}

type jobArgs struct{}

func (jobArgs) Kind() string { return "nightly" }

// Nobody is let in by default, nor by what a request says of itself.
func TestCaseB134(t *testing.T) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a dashboard without Authorize was made")
			}
		}()
		New(kiln.NewClient(memstore.New()), Options{})
	}()
	for _, c := range []struct {
		host, peer string
		header     [2]string
		want       Access
	}{
		{"localhost:8080", "127.0.0.1:50000", [2]string{}, ReadWrite},
		{"[::1]:8080", "[::1]:50000", [2]string{}, ReadWrite},
		{"127.0.0.1", "[::ffff:127.0.0.1]:50000", [2]string{}, ReadWrite},
		{"localhost", "@", [2]string{}, ReadWrite},
		{"localhost", "203.0.113.7:50000", [2]string{}, Denied},
		{"rebound.example", "127.0.0.1:50000", [2]string{}, Denied},
		{"localhost", "127.0.0.1:50000", [2]string{"X-Forwarded-For", "127.0.0.1"}, Denied},
		{"localhost", "203.0.113.7:50000", [2]string{"X-Forwarded-For", "127.0.0.1"}, Denied},
		{"localhost", "203.0.113.7:50000", [2]string{"X-Real-IP", "127.0.0.1"}, Denied},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.RemoteAddr = c.host, c.peer
		if c.header[0] != "" {
			r.Header.Set(c.header[0], c.header[1])
		}
		if got := AllowAll(r); got != c.want {
			t.Errorf("host %s, peer %s, %v: access %d, want %d", c.host, c.peer, c.header, got, c.want)
		}
	}
}

// What is retried has not failed: the number of failed jobs is of those that failed for good and are still there.
func TestCaseB136(t *testing.T) {
	g := newAPIRig(t, nil)
	g.failed(driver.InsertParams{Kind: "charge"})
	g.insert(driver.InsertParams{Kind: "charge", MaxAttempts: 3})
	g.end(g.run("default"), driver.Outcome{State: driver.Scheduled, Delay: time.Minute, Reason: "retry", Error: "no"})
	var v overviewView
	g.get("/api/overview", &v)
	if v.Counts.Failed != 1 || v.Counts.Retries != 1 || v.Counts.Scheduled != 1 {
		t.Errorf("counts %+v", v.Counts)
	}
	var s seriesView
	g.get("/api/series", &s)
	if last := s.Points[len(s.Points)-1]; last.Failed != 1 || last.Retried != 1 {
		t.Errorf("the last minute has %+v", last)
	}
}

// A job that fails a thousand times is a thousand rows, and no line in the log of who shows them.
func TestCaseB137(t *testing.T) {
	log := captureLog(t)
	g := newAPIRig(t, nil)
	for range 100 {
		g.failed(driver.InsertParams{Kind: "charge"})
	}
	for range 10 {
		g.want(http.StatusOK, http.MethodGet, "/jobs/failed", "")
		g.want(http.StatusOK, http.MethodGet, "/", "")
		g.want(http.StatusNotFound, http.MethodGet, "/jobs/999999", "")
	}
	if log.Len() > 0 {
		t.Errorf("the log says %s", log)
	}
}

// captureLog collects what is logged by default until the test is over.
func captureLog(t *testing.T) *bytes.Buffer {
	t.Helper()
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &log
}

// packageTests are the texts of the package's test files.
func packageTests(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
