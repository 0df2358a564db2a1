package dashboard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func TestEventsTellWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newBusyRig(t)
		l := g.listen("jobs/enqueued?queue=mail")
		synctest.Wait()
		if l.status != http.StatusOK || l.header.Get("Content-Type") != "text/event-stream" || !strings.Contains(l.text.String(), "retry: 3000\n\n") {
			t.Errorf("status %d, %q, %q", l.status, l.header.Get("Content-Type"), l.text.String())
		}
		checkHeaders(t, "the stream", l.header)
		if data := l.wantEvents(t, "overview", "region")[1].data; data != `{"jobs":[]}` {
			t.Errorf("the region is %s", data)
		}
		pass(10 * time.Second)
		l.wantEvents(t)
		if !l.deadline.IsZero() {
			t.Error("an idle stream has a deadline, which ends it on HTTP/2")
		}
		g.insert(driver.InsertParams{Queue: "other"})
		pass(watchEvery)
		if data := l.wantEvents(t, "overview")[0].data; !strings.Contains(data, `"enqueued":1`) {
			t.Errorf("the overview is %s", data)
		}
		g.insert(driver.InsertParams{Queue: "mail"})
		pass(watchEvery)
		if data := l.wantEvents(t, "overview", "region")[1].data; data != `{"jobs":[{"id":2,"state":"enqueued","attempt":0}]}` {
			t.Errorf("the region is %s", data)
		}
		l.leave()
	})
}

func TestEventsHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newBusyRig(t)
		l := g.listen("")
		pass(time.Second)
		l.wantEvents(t, "overview")
		pass(heartbeat - 2*time.Second)
		if _, comments := l.take(); comments != 0 {
			t.Errorf("%d comments before their time", comments)
		}
		pass(time.Minute)
		if events, comments := l.take(); comments != 4 || len(events) != 0 {
			t.Errorf("%d comments and %d events in a minute, want 4 and none", comments, len(events))
		}
		l.leave()
	})
}

// Every route that can be watched says something.
func TestEventsOfEveryRegion(t *testing.T) {
	watched := map[string]string{
		"overview?range=24h":        `{"series":{"step":1800,`,
		"/overview":                 `{"series":{"step":60,`,
		"problems":                  `{"at":`,
		"jobs/failed":               `{"jobs":[{"id":2,"state":"failed","attempt":1}]}`,
		"retries?limit=10":          `{"jobs":[{"id":3,"state":"scheduled","attempt":1}]}`,
		"jobs/1":                    `{"id":1,"state":"succeeded"`,
		"jobs/999":                  `{"error":"`,
		"jobs/failed?cursor=broken": `{"error":"`,
		"recurring":                 `{"recurring":[{"id":"nightly"`,
		"queues":                    `{"queues":[{"name":"import"`,
		"servers":                   `{"servers":[{"id":"s1"`,
		"batches?parent=1":          `{"batches":[{"id":2`,
		"batches/1":                 `{"id":1,"description":"Import"`,
		"limits?after=a":            `{"limits":[{"key":"stripe"`,
	}
	synctest.Test(t, func(t *testing.T) {
		g := newAPIRig(t, nil)
		fillGolden(g)
		for watch, want := range watched {
			l := g.listen(watch)
			synctest.Wait()
			if data := l.wantEvents(t, "overview", "region")[1].data; !strings.HasPrefix(data, want) {
				t.Errorf("%s says %s, want %s…", watch, data, want)
			}
			g.clock.move(time.Second)
			pass(10 * time.Second)
			if watch != "queues" { // its latency grows
				l.wantEvents(t)
			}
			l.leave()
		}
		for pattern := range regionKinds {
			found := false
			for watch := range watched {
				path, _, _ := strings.Cut(strings.TrimPrefix(watch, "/"), "?")
				segments, _ := split("/" + path)
				_, ok := matchPath(pattern, segments)
				found = found || ok
			}
			if !found {
				t.Errorf("no test watches %s", pattern)
			}
		}
	})
}

func TestEventsOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newSecretRig(t, func(_ string, _ Part, v []byte) []byte { return v })
		l := g.listen("jobs/2")
		synctest.Wait()
		data := l.wantEvents(t, "overview", "region")[1].data
		for _, hidden := range []string{`"args"`, `"meta"`, `"output"`, `"trace"`} {
			if strings.Contains(data, hidden) {
				t.Errorf("%s is in %s", hidden, data)
			}
		}
		l.leave()

		g.insert(driver.InsertParams{Queue: "live"})
		job := g.run("live")
		pass(slowFor)
		l = g.listen(fmt.Sprintf("jobs/%d", job.ID))
		synctest.Wait()
		if data := l.wantEvents(t, "overview", "region")[1].data; !strings.HasSuffix(data, `"last_seq":0}`) {
			t.Errorf("the job says %s", data)
		}
		g.clock.move(time.Second) // the time at which the reason was read says nothing new
		pass(watchEvery)
		l.wantEvents(t)
		lines := make([]string, 3*lineStep+1)
		for i := range lines {
			lines[i] = "line"
		}
		g.must(g.mem.WriteConsole(context.Background(), job.Ref, lines, 7))
		pass(watchEvery)
		if data := l.wantEvents(t, "region")[0].data; !strings.HasSuffix(data, fmt.Sprintf(`"last_seq":%d}`, len(lines))) || !strings.Contains(data, `"progress":7`) {
			t.Errorf("the job says %s", data)
		}
		l.leave()
	})
}

// Who may not look any more is closed within a minute, and asked with the request that opened the stream.
func TestEventsEndWithTheAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Bool
		g, _ := newBusyRig(t, func(o *Options) {
			o.Authorize = func(r *http.Request) Access {
				if closed.Load() && r.Header.Get("X-User") == "bob" {
					panic("no session")
				}
				return ReadOnly
			}
		})
		ann := g.listen("", func(r *http.Request) { r.Header.Set("X-User", "ann") })
		bob := g.listen("queues", func(r *http.Request) { r.Header.Set("X-User", "bob") })
		pass(10 * time.Minute)
		if bob.over() || ann.over() {
			t.Fatal("a stream ended while it was allowed")
		}
		closed.Store(true)
		pass(time.Minute)
		if !bob.over() || ann.over() {
			t.Errorf("after a minute bob is over: %v, ann: %v", bob.over(), ann.over())
		}
		ann.leave()
	})
}

// Fifty viewers cost the store as many reads as one.
func TestEventsCostTheSameForMany(t *testing.T) {
	cost := func(viewers int) (reads int64) {
		synctest.Test(t, func(t *testing.T) {
			g, store := newBusyRig(t)
			var all []*listener
			for range viewers {
				all = append(all, g.listen("jobs/enqueued?queue=mail&limit=50"))
			}
			for i := range 10 {
				g.insert(driver.InsertParams{Queue: "mail"})
				pass(watchEvery)
				if i == 9 {
					for _, l := range all {
						if events, _ := l.take(); !slices.ContainsFunc(events, func(e event) bool { return strings.Contains(e.data, `"id":10`) }) {
							t.Errorf("a viewer of %d does not have the last job in its %d events", viewers, len(events))
						}
					}
				}
			}
			for _, l := range all {
				l.leave()
			}
			reads = store.reads.Load()
		})
		return reads
	}
	one, many := cost(1), cost(50)
	if one == 0 || many != one {
		t.Errorf("50 viewers cost %d reads, one costs %d", many, one)
	}
}

// The watcher reads as long as somebody looks, and not after that. A goroutine that stayed would also keep the bubble from ending.
func TestWatcherEndsWithTheLastViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store := newBusyRig(t)
		for range 3 {
			a, b := g.listen("jobs/failed"), g.listen("jobs/failed")
			pass(10 * time.Second)
			a.leave()
			before := store.reads.Load()
			pass(10 * time.Second)
			if store.reads.Load() == before {
				t.Error("the watcher ended before the last viewer")
			}
			b.leave()
			synctest.Wait()
			before = store.reads.Load()
			pass(time.Hour)
			if got := store.reads.Load(); got != before {
				t.Errorf("%d reads after the last viewer left", got-before)
			}
			if w := g.handler.(*handler).watcher; len(w.regions) != 0 || w.viewers != 0 {
				t.Errorf("%d regions and %d viewers are left", len(w.regions), w.viewers)
			}
		}
	})
}

// A viewer that does not read keeps nobody waiting, learns the latest state when it does, and is closed when it does not for long.
func TestSlowViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newBusyRig(t)
		slow, quick := g.listen("queues"), g.listen("queues")
		pass(time.Second)
		slow.take()
		quick.take()
		slow.block()
		for i := range 3 {
			g.insert(driver.InsertParams{Queue: "mail"})
			pass(watchEvery)
			if events, _ := quick.take(); len(events) != 2 {
				t.Errorf("change %d: the quick viewer has %d events, want 2", i, len(events))
			}
		}
		slow.release()
		synctest.Wait()
		last := make(map[string]string)
		events, _ := slow.take()
		for _, e := range events {
			if last[e.name] = e.data; strings.Contains(e.data, `"enqueued":2`) {
				t.Errorf("the slow viewer was told of what is over: %s", e.data)
			}
		}
		for _, name := range eventNames {
			if !strings.Contains(last[name], `"enqueued":3`) {
				t.Errorf("the last %s of the slow viewer is %s", name, last[name])
			}
		}
		slow.block()
		g.insert(driver.InsertParams{Queue: "mail"})
		pass(watchEvery + writeTime)
		if !slow.over() || quick.over() {
			t.Errorf("the slow viewer is over: %v, the quick one: %v", slow.over(), quick.over())
		}
		quick.leave()
	})
}

// A store that is slow, or fails, is asked less often, and as before when it has recovered.
func TestWatcherSparesASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, hurt := range map[string]func(*busyStore){
			"slow":   func(s *busyStore) { s.each.Store(int64(8 * time.Second)) },
			"broken": func(s *busyStore) { err := errors.New("gone"); s.err.Store(&err) },
		} {
			g, store := newBusyRig(t)
			hurt(store)
			l := g.listen("")
			pass(5 * time.Minute)
			before := store.reads.Load()
			pass(10 * time.Minute)
			if n := store.reads.Load() - before; n < 10 || n > 21 {
				t.Errorf("%s: %d reads in ten minutes, want about one in %s", name, n, watchSlowest)
			}
			store.each.Store(0)
			store.err.Store(nil)
			l.take()
			g.insert(driver.InsertParams{})
			pass(5 * time.Minute)
			l.wantEvents(t, "overview")
			before = store.reads.Load()
			pass(time.Minute)
			if n := store.reads.Load() - before; n < 29 || n > 31 {
				t.Errorf("%s, recovered: %d reads in a minute, want 30", name, n)
			}
			l.leave()
		}
	})
}

// What somebody does here is seen at once.
func TestActionsHurryTheWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store := newBusyRig(t)
		id := g.failed(driver.InsertParams{})
		l := g.listen("jobs/failed")
		pass(watchApart + watchEvery)
		l.take()
		g.want(http.StatusOK, http.MethodPost, fmt.Sprintf("/api/jobs/%d/requeue", id), "")
		pass(watchApart)
		l.wantEvents(t, "overview", "region")
		before := store.reads.Load()
		for range 100 {
			g.want(http.StatusOK, http.MethodPost, fmt.Sprintf("/api/jobs/%d/requeue", id), "")
			pass(10 * time.Millisecond)
		}
		if n := store.reads.Load() - before; n > 8 {
			t.Errorf("%d reads in the second of many actions, want at most two of each region", n)
		}
		l.leave()
	})
}

// What is done while a region is being read may not be in it, so it is read again at once.
func TestActionsHurryAReadThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store := newBusyRig(t)
		const each = 300 * time.Millisecond
		store.each.Store(int64(each))
		l := g.listen("")
		pass(100 * time.Millisecond)
		g.want(http.StatusNoContent, http.MethodPost, "/api/queues/mail/pause", "")
		pass(watchApart + each)
		if n := store.reads.Load(); n != 2 {
			t.Errorf("%d reads, want 2", n)
		}
		l.leave()
		pass(each)
	})
}

func TestEventsGoOnWhereTheyBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newBusyRig(t)
		l := g.listen("queues")
		synctest.Wait()
		events, _ := l.take()
		last := events[len(events)-1].id
		l.leave()
		resume := func(r *http.Request) { r.Header.Set("Last-Event-ID", last) }
		l = g.listen("queues", resume)
		pass(time.Second)
		l.wantEvents(t)
		l.leave()
		g.insert(driver.InsertParams{})
		l = g.listen("queues", resume)
		pass(time.Second)
		l.wantEvents(t, "overview", "region")
		l.leave()
		l = g.listen("servers", resume) // what another region said counts for nothing
		pass(time.Second)
		l.wantEvents(t, "overview", "region")
		l.leave()
	})
}

// A job that is pruned while somebody looks at it says so, once.
func TestEventsOfAJobThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store := newBusyRig(t)
		id := g.insert(driver.InsertParams{})[0]
		l := g.listen(fmt.Sprintf("jobs/%d", id))
		pass(time.Second)
		l.take()
		err := fmt.Errorf("%w: job %d", driver.ErrNotFound, id)
		store.err.Store(&err)
		pass(10 * time.Second)
		if data := l.wantEvents(t, "region")[0].data; !strings.HasPrefix(data, `{"error":`) {
			t.Errorf("the region says %s", data)
		}
		l.leave()
	})
}

// plainWriter cannot send piece by piece.
type plainWriter struct{ http.ResponseWriter }

func TestEventsNeedAWriterThatFlushes(t *testing.T) {
	g, _ := newBusyRig(t)
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(plainWriter{w}, httptest.NewRequest(http.MethodGet, "/api/events", nil))
	if w.Code != http.StatusNotImplemented || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("status %d, %q", w.Code, w.Header().Get("Content-Type"))
	}
	if n := g.handler.(*handler).watcher.viewers; n != 0 {
		t.Errorf("%d viewers are left", n)
	}
	head := g.want(http.StatusOK, http.MethodHead, "/api/events", "")
	if head.Header().Get("Content-Type") != "text/event-stream" || head.Body.Len() != 0 {
		t.Errorf("HEAD: %q, %q", head.Header().Get("Content-Type"), head.Body)
	}
}

func TestEventsAreForSoMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newBusyRig(t)
		var all []*listener
		for range maxViewers {
			all = append(all, g.listen(""))
		}
		synctest.Wait()
		w := g.want(http.StatusServiceUnavailable, http.MethodGet, "/api/events", "")
		if w.Header().Get("Retry-After") != "30" || !strings.Contains(w.Body.String(), "1000 viewers") {
			t.Errorf("Retry-After %q: %s", w.Header().Get("Retry-After"), w.Body)
		}
		all[0].leave()
		late := g.listen("")
		synctest.Wait()
		late.wantEvents(t, "overview")
		for _, l := range append(all[1:], late) {
			l.leave()
		}
	})
}

// On a real server, a stream outlives the limits for whole requests.
func TestEventsOnAServerWithTimeouts(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"HTTP/1.1": (*httptest.Server).Start,
		"HTTP/2.0": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _ := newBusyRig(t)
			server := httptest.NewUnstartedServer(g.handler)
			const limit = time.Second
			server.Config.ReadTimeout, server.Config.WriteTimeout = limit, limit
			start(server)
			defer server.Close()
			reply, err := server.Client().Get(server.URL + "/api/events?watch=queues")
			if err != nil {
				t.Fatal(err)
			}
			defer reply.Body.Close()
			if reply.Proto != name {
				t.Fatalf("the protocol is %s", reply.Proto)
			}
			lines := linesOf(reply.Body)
			waitLine(t, lines, `{"queues":[]}`)
			<-time.After(2 * limit)
			g.want(http.StatusNoContent, http.MethodPost, "/api/queues/mail/pause", "")
			waitLine(t, lines, `"name":"mail","paused":true`)
		})
	}
}

// A server stops while somebody listens when it ends its requests' contexts, as docs/en/dashboard.md shows.
func TestEventsOnAServerThatStops(t *testing.T) {
	g, _ := newBusyRig(t)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	server := httptest.NewUnstartedServer(g.handler)
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Config.RegisterOnShutdown(stop)
	server.Start()
	defer server.Close()
	reply, err := http.Get(server.URL + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	waitLine(t, linesOf(reply.Body), "event: overview")
	patience, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := server.Config.Shutdown(patience); err != nil {
		t.Error(err)
	}
}

func linesOf(body io.Reader) <-chan string {
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// waitLine waits for a line that has a part.
func waitLine(t *testing.T, lines <-chan string, part string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case line, open := <-lines:
			if !open {
				t.Fatalf("the stream ended before %s", part)
			}
			if strings.Contains(line, part) {
				return
			}
		case <-deadline:
			t.Fatalf("%s did not come", part)
		}
	}
}
