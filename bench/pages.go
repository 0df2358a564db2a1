package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/dashboard"
	"github.com/kilnjobs/kiln/driver"
)

// pageBudget is what a page may take of the server's time.
const pageBudget = 50 * time.Millisecond

// pageSamples is how often each page is asked for, unless -rounds says otherwise.
var pageSamples = 10

// measurePages fills a store and asks the dashboard over it for everything that it has.
func (o *order) measurePages(ctx context.Context, out *results, chosen []system) error {
	if o.rounds > 0 {
		pageSamples = o.rounds
	}
	out.row("system", "page", "figure", "answer", "ms")
	for _, sys := range chosen {
		if !isKiln(sys) {
			continue
		}
		err := inPlace(ctx, sys, func(r *round) error {
			begin := time.Now()
			store, ok := r.store().(readable)
			if !ok {
				return fmt.Errorf("%T lacks some of what the dashboard reads from", r.store())
			}
			s := &shop{store: store, done: o.pages}
			if err := s.fill(ctx); err != nil {
				return fmt.Errorf("fill: %w", err)
			}
			if err := r.place.settle(ctx); err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: %d jobs done, %d ready, %d failed, a batch of %d, filled in %s\n",
				sys.name, s.done, s.done/10, s.done/100, s.done/10, time.Since(begin).Round(time.Second))
			if err := s.measureReads(ctx, out, sys.name); err != nil {
				return err
			}
			if err := s.measureAll(ctx, out, sys.name); err != nil {
				return err
			}
			return s.measureTabs(ctx, out)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", sys.name, err)
		}
	}
	return nil
}

// asked is one page or answer that is asked for.
type asked struct{ name, path string }

// everything lists all pages and all JSON, with filters that an index serves, filters that have to search, and pages further down.
func (s *shop) everything(h http.Handler) ([]asked, error) {
	var all []asked
	pages := []asked{
		{"overview", "/"}, {"overview, day", "/?range=24h"}, {"retries", "/retries"}, {"recurring", "/recurring"}, {"queues", "/queues"},
		{"servers", "/servers"}, {"batches", "/batches"}, {"batch of many", "/batches/" + fmt.Sprint(s.batch)},
		{"batches nested in it", fmt.Sprintf("/batches?parent=%d", s.batch)}, {"limits", "/limits"},
	}
	for _, state := range driver.States {
		list := "/jobs/" + string(state)
		pages = append(pages, asked{"jobs " + string(state), list})
		for _, filter := range []string{"queue=" + shopQueue(1), "kind=" + shopKind(3), "tag=customer:7", "tag=nobody", fmt.Sprintf("batch=%d", s.batch), "queue=" + shopQueue(2) + "&kind=" + shopKind(6) + "&tag=customer:8"} {
			pages = append(pages, asked{"jobs " + string(state) + ", " + filter, list + "?" + filter})
		}
		if next, err := cursor(h, "/api"+list+"?limit=500"); err != nil {
			return nil, err
		} else if next != "" {
			pages = append(pages, asked{"jobs " + string(state) + ", next page", list + "?cursor=" + url.QueryEscape(next)})
		}
		pages = append(pages, asked{"jobs " + string(state) + ", 500", list + "?limit=500"})
	}
	for _, name := range []string{"succeeded", "failed", "enqueued", "member", "scheduled", "retry", "awaiting", "throttled", "granted", "processing"} {
		pages = append(pages, asked{"a job: " + name, fmt.Sprintf("/jobs/%d", s.ids[name])})
	}
	for _, p := range pages {
		all = append(all, p)
		if p.path != "/" && !strings.HasPrefix(p.path, "/?") {
			all = append(all, asked{p.name + ", JSON", "/api" + p.path})
		}
	}
	return append(all,
		asked{"overview, JSON", "/api/overview"}, asked{"series of a day, JSON", "/api/series?range=24h"}, asked{"problems, JSON", "/api/problems"},
		asked{"console of 1000 lines, JSON", fmt.Sprintf("/api/jobs/%d/logs?limit=500", s.ids["processing"])},
	), nil
}

// cursor reads where the next page of a list begins.
func cursor(h http.Handler, path string) (string, error) {
	a, err := answer(h, path)
	if err != nil {
		return "", err
	}
	var list struct{ Next string }
	err = json.Unmarshal(a.Body.Bytes(), &list)
	return list.Next, err
}

// answer asks the handler as a browser on this machine does.
func answer(h http.Handler, path string) (*httptest.ResponseRecorder, error) {
	return send(h, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
}

func send(h http.Handler, r *http.Request) (*httptest.ResponseRecorder, error) {
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d: %.200s", r.URL, w.Code, w.Body)
	}
	return w, nil
}

// forget makes a dashboard read everything anew, by an action that changes nothing: it deletes a job that does not exist.
func forget(h http.Handler) error {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/api/jobs/999999999999/delete", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	_, err := send(h, r)
	return err
}

// pageTimes are the answers to one page: the time that they took when everything had to be read, the CPU time of this process meanwhile, and
// the time that they took while the shared reads were still fresh.
type pageTimes struct {
	anew, cpu, shared []float64
	calls             int64
	size              int
}

// measurePage asks for a page again and again.
func measurePage(ctx context.Context, h http.Handler, path string, calls *atomic.Int64) (t pageTimes, err error) {
	if _, err := answer(h, path); err != nil { // templates are made ready at their first use
		return t, err
	}
	for range pageSamples {
		if err := errors.Join(ctx.Err(), forget(h)); err != nil {
			return t, err
		}
		calls.Store(0)
		cpu := ownTime()
		took, a, err := timed(h, path)
		if err != nil {
			return t, err
		}
		t.anew, t.cpu = append(t.anew, took), append(t.cpu, milliseconds(ownTime()-cpu))
		t.calls, t.size = calls.Load(), a.Body.Len()
		if took, _, err = timed(h, path); err != nil {
			return t, err
		}
		t.shared = append(t.shared, took)
	}
	return t, nil
}

func timed(h http.Handler, path string) (float64, *httptest.ResponseRecorder, error) {
	begin := time.Now()
	a, err := answer(h, path)
	return milliseconds(time.Since(begin)), a, err
}

// measureAll asks for everything.
func (s *shop) measureAll(ctx context.Context, out *results, system string) error {
	var calls atomic.Int64
	store := countedStore{s.store, &calls}
	h := dashboard.New(kiln.NewClient(store), dashboard.Options{Authorize: dashboard.AllowAll})
	all, err := s.everything(h)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  %-68s %8s %8s %8s %8s %6s %7s\n", "server time in ms, "+fmt.Sprint(pageSamples)+" answers each", "median", "worst", "CPU", "shared", "calls", "KB")
	var slow, late []string
	for _, page := range all {
		t, err := measurePage(ctx, h, page.path, &calls)
		if err != nil {
			return err
		}
		out.page(system, page.name, t)
		median, worst := quantile(t.anew, 0.5), slices.Max(t.anew)
		fmt.Fprintf(out, "  %-68s %8.2f %8.2f %8.2f %8.2f %6d %7.1f\n",
			page.name, median, worst, quantile(t.cpu, 0.5), quantile(t.shared, 0.5), t.calls, float64(t.size)/1000)
		if median > milliseconds(pageBudget) {
			slow = append(slow, page.name)
		}
		if worst > milliseconds(pageBudget) {
			late = append(late, page.name)
		}
	}
	fmt.Fprintf(out, "  over %s: %d of %d by their median %q, %d by their worst %q\n", pageBudget, len(slow), len(all), slow, len(late), late)
	return nil
}

// page adds the answers of a page to the table.
func (r *results) page(system, name string, t pageTimes) {
	for kind, times := range map[string][]float64{"anew": t.anew, "cpu": t.cpu, "shared": t.shared} {
		for i, ms := range times {
			r.row(system, name, kind, i+1, ms)
		}
	}
}

// tabsFor is how long tabs are kept open.
var tabsFor = 20 * time.Second

// measureTabs keeps one open overview alive, and then fifty, and counts what the store is asked meanwhile.
func (s *shop) measureTabs(ctx context.Context, out *results) error {
	for _, tabs := range []int{1, 50} {
		var calls atomic.Int64
		store := countedStore{s.store, &calls}
		web := httptest.NewServer(dashboard.New(kiln.NewClient(store), dashboard.Options{Authorize: dashboard.AllowAll}))
		events, err := watchTabs(ctx, web.URL+"/api/events?watch=overview", tabs)
		web.CloseClientConnections()
		web.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %d open tabs: %d store calls and %d events in %s\n", tabs, calls.Load(), events, tabsFor)
	}
	return nil
}

// watchTabs reads so many streams for a while, and counts the lines that name an event.
func watchTabs(ctx context.Context, address string, tabs int) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, tabsFor)
	defer cancel()
	var events atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, tabs)
	for i := range tabs {
		all.Go(func() { errs[i] = watchTab(ctx, address, &events) })
	}
	all.Wait()
	return events.Load(), errors.Join(errs...)
}

func watchTab(ctx context.Context, address string, events *atomic.Int64) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream answers %s", resp.Status)
	}
	return countEvents(resp.Body, events)
}

// countEvents reads until the stream is closed by who asked for it.
func countEvents(body io.Reader, events *atomic.Int64) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if b := lines.Bytes(); len(b) > 6 && string(b[:6]) == "event:" {
			events.Add(1)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
