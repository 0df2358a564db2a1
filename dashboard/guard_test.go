package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// examples fills in the names of a route's pattern, in all ways that lead to something.
func examples(pattern string) []string {
	paths := []string{pattern}
	for name, values := range map[string][]string{
		"{key}": {"failed", "1"}, "{id}": {"1"}, "{name}": {"mail"},
		"{op}": {"requeue", "delete", "pause", "resume", "trigger", "remove"},
	} {
		var filled []string
		for _, path := range paths {
			if !strings.Contains(path, name) {
				filled = append(filled, path)
				continue
			}
			for _, value := range values {
				filled = append(filled, strings.ReplaceAll(path, name, value))
			}
		}
		paths = filled
	}
	return paths
}

// everything calls f with every method and path of the route table.
func everything(f func(method, path string)) {
	for _, route := range routes {
		for _, path := range examples(route.pattern) {
			f(route.method, path)
		}
	}
	f(http.MethodGet, "/nothing/here")
	f(http.MethodGet, "/assets/none.js")
	f(http.MethodPost, "/api/nothing")
	f(http.MethodDelete, "/api/jobs/1")
	f(http.MethodOptions, "/api/jobs/1/requeue")
}

// writeSpy counts what reaches the store's Admin and Writer.
type writeSpy struct {
	driver.Store
	writes int
}

func (s *writeSpy) Delete(ctx context.Context, f driver.Filter) (int, error) {
	s.writes++
	return s.Store.Delete(ctx, f)
}

func (s *writeSpy) Requeue(ctx context.Context, f driver.Filter) (int, error) {
	s.writes++
	return s.Store.Requeue(ctx, f)
}

func (s *writeSpy) PauseQueue(ctx context.Context, queue string, paused bool) error {
	s.writes++
	return s.Store.PauseQueue(ctx, queue, paused)
}

func (s *writeSpy) PutRecurring(ctx context.Context, r driver.Recurring) error {
	s.writes++
	return s.Store.PutRecurring(ctx, r)
}

func (s *writeSpy) RemoveRecurring(ctx context.Context, id string) error {
	s.writes++
	return s.Store.RemoveRecurring(ctx, id)
}

func (s *writeSpy) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	s.writes++
	return s.Store.Insert(ctx, jobs)
}

// newSpyRig is a dashboard that counts writes, on a store in which every action would do something.
func newSpyRig(t *testing.T, change ...func(*Options)) (*apiRig, *writeSpy) {
	t.Helper()
	var spy *writeSpy
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store {
		spy = &writeSpy{Store: mem}
		return spy
	}, change...)
	g.failed(driver.InsertParams{})
	g.must(g.mem.PutRecurring(context.Background(), driver.Recurring{
		ID: "1", Spec: "@hourly", Location: "UTC", Template: driver.InsertParams{Kind: "mail", Queue: "q", MaxAttempts: 1, Args: []byte("1")},
	}))
	return g, spy
}

var wantedHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	"X-Content-Type-Options":  "nosniff",
	"X-Frame-Options":         "DENY",
	"Referrer-Policy":         "same-origin",
	"Cache-Control":           "no-store",
}

func checkHeaders(t *testing.T, what string, header http.Header) {
	t.Helper()
	for name, want := range wantedHeaders {
		if got := header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: header %s is %q, want %q", what, name, got, want)
		}
	}
}

// closed is a request that streams end with at once.
func closed(r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	*r = *r.WithContext(ctx)
}

func TestEveryAnswerCarriesTheHeaders(t *testing.T) {
	for _, access := range []Access{Denied, ReadOnly, ReadWrite} {
		g, _ := newSpyRig(t, func(o *Options) { o.Authorize = func(*http.Request) Access { return access } })
		everything(func(method, path string) {
			w := g.do(method, path, "", closed)
			if strings.HasPrefix(path, "/assets/") && w.Code == http.StatusOK {
				return // assets may be kept
			}
			checkHeaders(t, fmt.Sprintf("%s %s with access %d", method, path, access), w.Header())
		})
	}
}

func TestDeniedMeansEverything(t *testing.T) {
	panics := func(*http.Request) Access { panic("no session") }
	for name, authorize := range map[string]func(*http.Request) Access{
		"denied":  func(*http.Request) Access { return Denied },
		"unknown": func(*http.Request) Access { return 3 },
		"panic":   panics,
	} {
		g, spy := newSpyRig(t, func(o *Options) { o.Authorize = authorize })
		everything(func(method, path string) {
			w := g.do(method, path, "id=1", closed)
			if w.Code != http.StatusForbidden || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || strings.TrimSpace(w.Body.String()) != "forbidden" {
				t.Errorf("%s: %s %s: status %d, %q", name, method, path, w.Code, w.Body)
			}
		})
		if spy.writes != 0 {
			t.Errorf("%s: %d writes", name, spy.writes)
		}
	}
}

// Whatever is wrong with a write keeps it from happening, on every route that writes.
func TestRefusedWrites(t *testing.T) {
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		access Access
		change func(*http.Request)
		api    bool // only the API minds
		status int
	}{
		"read-only":             {ReadOnly, func(*http.Request) {}, false, http.StatusForbidden},
		"foreign origin":        {ReadWrite, set("Origin", "https://evil.example.com"), false, http.StatusForbidden},
		"origin on other port":  {ReadWrite, set("Origin", "http://example.com:8080"), false, http.StatusForbidden},
		"subdomain":             {ReadWrite, set("Origin", "http://a.example.com"), false, http.StatusForbidden},
		"opaque origin":         {ReadWrite, set("Origin", "null"), false, http.StatusForbidden},
		"empty origin":          {ReadWrite, set("Origin", ""), false, http.StatusForbidden},
		"origin with a user":    {ReadWrite, set("Origin", "http://example.com@evil.example.com"), false, http.StatusForbidden},
		"broken origin":         {ReadWrite, set("Origin", "http://exa mple.com"), false, http.StatusForbidden},
		"cross-site":            {ReadWrite, set("Sec-Fetch-Site", "cross-site"), false, http.StatusForbidden},
		"same-site":             {ReadWrite, set("Sec-Fetch-Site", "same-site"), false, http.StatusForbidden},
		"unknown site":          {ReadWrite, set("Sec-Fetch-Site", "Same-Origin "), false, http.StatusForbidden},
		"two sites":             {ReadWrite, func(r *http.Request) { r.Header["Sec-Fetch-Site"] = []string{"none", "cross-site"} }, false, http.StatusForbidden},
		"two origins":           {ReadWrite, func(r *http.Request) { r.Header["Origin"] = []string{"http://example.com", "http://evil.example.com"} }, false, http.StatusForbidden},
		"form to the API":       {ReadWrite, set("Content-Type", "application/x-www-form-urlencoded"), true, http.StatusUnsupportedMediaType},
		"text to the API":       {ReadWrite, set("Content-Type", "text/plain"), true, http.StatusUnsupportedMediaType},
		"no type":               {ReadWrite, func(r *http.Request) { r.Header.Del("Content-Type") }, true, http.StatusUnsupportedMediaType},
		"type that looks right": {ReadWrite, set("Content-Type", "application/jsonp"), true, http.StatusUnsupportedMediaType},
		"two types":             {ReadWrite, set("Content-Type", "text/plain, application/json"), true, http.StatusUnsupportedMediaType},
		"cross-site, own origin": {ReadWrite, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Origin", "http://example.com")
		}, false, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			g, spy := newSpyRig(t, func(o *Options) { o.Authorize = func(*http.Request) Access { return c.access } })
			for _, route := range actionRoutes() {
				for _, path := range examples(route.pattern) {
					if c.api && !strings.HasPrefix(path, "/api") {
						continue
					}
					body := "id=1"
					if strings.HasPrefix(path, "/api") {
						body = `{"ids":[1]}`
					}
					w := g.do(http.MethodPost, path, body, c.change)
					if w.Code != c.status || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
						t.Errorf("POST %s: status %d with %q, want %d", path, w.Code, w.Header().Get("Content-Type"), c.status)
					}
				}
			}
			if spy.writes != 0 {
				t.Errorf("%d writes", spy.writes)
			}
		})
	}
}

// The writes that are refused above do happen when nothing is wrong with them.
func TestAllowedWrites(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"no browser": func(*http.Request) {},
		"same origin": func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Origin", "http://example.com")
		},
		"typed in":        func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") },
		"old browser":     func(r *http.Request) { r.Header.Set("Origin", "http://example.com") },
		"behind TLS":      func(r *http.Request) { r.Header.Set("Origin", "https://example.com") },
		"other case":      func(r *http.Request) { r.Header.Set("Origin", "http://EXAMPLE.com"); r.Host = "EXAMPLE.com" },
		"trusted":         func(r *http.Request) { r.Header.Set("Origin", "https://ops.example.org") },
		"with parameters": func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") },
	} {
		t.Run(name, func(t *testing.T) {
			g, spy := newSpyRig(t, func(o *Options) { o.TrustedOrigins = []string{"https://ops.example.org"} })
			id := g.failed(driver.InsertParams{})
			g.want(http.StatusOK, http.MethodPost, fmt.Sprintf("/api/jobs/%d/requeue", id), "", change)
			g.want(http.StatusOK, http.MethodPost, "/api/jobs/requeue", fmt.Sprintf(`{"ids":[%d]}`, id), change)
			g.want(http.StatusNoContent, http.MethodPost, "/api/queues/mail/pause", "", change)
			if spy.writes != 3 {
				t.Errorf("%d writes, want 3", spy.writes)
			}
		})
	}
	g, _ := newSpyRig(t, func(o *Options) { o.TrustedOrigins = []string{"https://ops.example.org"} })
	g.want(http.StatusForbidden, http.MethodPost, "/api/queues/mail/pause", "", func(r *http.Request) {
		r.Header.Set("Origin", "https://ops.example.org")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	})
}

func TestMethods(t *testing.T) {
	g, spy := newSpyRig(t)
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{http.MethodGet, "/api/jobs/1/requeue", 405, "POST"},
		{http.MethodHead, "/jobs/1/requeue", 405, "POST"},
		{http.MethodGet, "/api/queues/mail/pause", 405, "POST"},
		{http.MethodGet, "/recurring/1/remove", 405, "POST"},
		{http.MethodPost, "/api/queues", 405, "GET, HEAD"},
		{http.MethodDelete, "/api/overview", 405, "GET, HEAD"},
		{http.MethodPut, "/api/jobs/1/requeue", 405, "POST"},
		{http.MethodPatch, "/api/jobs/1", 405, "GET, HEAD, POST"},
		{http.MethodGet, "/api/jobs/requeue", 404, ""}, // neither a state nor a number
		{http.MethodPost, "/api/jobs/failed", 404, ""}, // no action
		{http.MethodPost, "/api/jobs/1/destroy", 404, ""},
		{http.MethodPost, "/api/jobs/0/requeue", 404, ""},
		{http.MethodPost, "/api/jobs/-1/requeue", 404, ""},
		{http.MethodPost, "/api/jobs/x/delete", 404, ""},
		{http.MethodPost, "/api/queues/mail/remove", 404, ""},
		{http.MethodPost, "/api/recurring/1/destroy", 404, ""},
		{http.MethodHead, "/api/overview", 200, ""},
		{http.MethodHead, "/api/jobs/1", 200, ""},
		{http.MethodHead, "/api/jobs/99", 404, ""},
	} {
		w := g.want(c.status, c.method, c.path, "", func(r *http.Request) { r.Header.Set("Content-Type", "application/json") })
		if got := w.Header().Get("Allow"); got != c.allow {
			t.Errorf("%s %s allows %q, want %q", c.method, c.path, got, c.allow)
		}
		if c.method == http.MethodHead && (w.Body.Len() != 0 || strings.HasPrefix(c.path, "/api") && w.Header().Get("Content-Length") == "0") {
			t.Errorf("%s %s has %d bytes, and length %s", c.method, c.path, w.Body.Len(), w.Header().Get("Content-Length"))
		}
	}
	if spy.writes != 0 {
		t.Errorf("%d writes", spy.writes)
	}
}

func TestBodyLimit(t *testing.T) {
	g, spy := newSpyRig(t)
	fill := strings.Repeat(" ", maxBody-len(`{"ids":[1]}`))
	g.want(http.StatusOK, http.MethodPost, "/api/jobs/requeue", fill+`{"ids":[1]}`)
	g.wantError(http.StatusRequestEntityTooLarge, "1048576", http.MethodPost, "/api/jobs/requeue", " "+fill+`{"ids":[1]}`)
	g.want(http.StatusRequestEntityTooLarge, http.MethodPost, "/jobs/requeue", "id=1&tag="+strings.Repeat("x", maxBody))
	if spy.writes != 1 {
		t.Errorf("%d writes, want 1", spy.writes)
	}
}

// Mounted with the prefix, and with it taken off, the same is there, and nothing else.
func TestPrefix(t *testing.T) {
	g := newAPIRig(t, nil, func(o *Options) { o.Prefix = "/admin/kiln" })
	id := g.failed(driver.InsertParams{})
	for _, target := range []string{"/admin/kiln/api/overview", "/api/overview", fmt.Sprintf("/admin/kiln/api/jobs/%d", id)} {
		g.want(http.StatusOK, http.MethodGet, target, "")
	}
	for _, strip := range []string{"/admin/kiln", "/admin/kiln/"} {
		w := httptest.NewRecorder()
		http.StripPrefix(strip, g.handler).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/admin/kiln/api/overview", nil))
		if w.Code != http.StatusOK {
			t.Errorf("with %q stripped: status %d", strip, w.Code)
		}
	}
	for target, want := range map[string]string{"/admin/kiln/jobs": "/admin/kiln/jobs/enqueued", "/jobs": "/admin/kiln/jobs/enqueued"} {
		if got := g.want(http.StatusFound, http.MethodGet, target, "").Header().Get("Location"); got != want {
			t.Errorf("%s leads to %s, want %s", target, got, want)
		}
	}
	got := g.want(http.StatusSeeOther, http.MethodPost, fmt.Sprintf("/jobs/%d/requeue", id), "").Header().Get("Location")
	if want := fmt.Sprintf("/admin/kiln/jobs/%d?done=requeued&n=1", id); got != want {
		t.Errorf("the form leads to %s, want %s", got, want)
	}
}

func TestPathTricks(t *testing.T) {
	g, spy := newSpyRig(t, func(o *Options) { o.Prefix = "/kiln" })
	for _, target := range []string{
		"/kiln//api/overview", "/kiln/api//overview", "/kiln/./api/overview", "/kiln/x/../api/overview", "/kiln/api/overview/",
		"/kiln/api/overview/.", "/kiln/%2e/api/overview", "/kiln/x/%2e%2e/api/overview", "/kiln/api%2foverview", "/kiln/api/%2Foverview",
		"//kiln/api/overview", "/kiln/../kiln/api/overview", "/kilnapi/overview", "/other/api/overview", "/kiln%2Fapi/overview",
		"/kiln/api/overview%00", "/kiln/api/overview%2f..", "/KILN/api/overview", "/kiln/api/jobs/failed%2f", "/kiln/api/jobs/01",
		"/kiln/api/jobs/+1", "/kiln/api/jobs/1.0", "/kiln/api/jobs/%31%2f1", "/kiln/api/jobs/9223372036854775808", "/kiln/api/batches/0",
		"/kiln/api/batches/x", "/kiln/api/jobs/0/logs", "/kiln/api/jobs/FAILED", "/kiln/api", "/kiln/api/",
	} {
		if w := g.do(http.MethodGet, target, ""); w.Code != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want 404", target, w.Code)
		}
	}
	for _, target := range []string{
		"/kiln/api/queues/../pause", "/kiln/api/queues/%2e%2e/pause", "/kiln/api/queues/./pause", "/kiln/api/queues//pause",
		"/kiln/api/queues/a%2F..%2Fb/pause", "/kiln/api/queues/a%2F/pause", "/kiln/api/queues/%2Fa/pause",
	} {
		if w := g.do(http.MethodPost, target, ""); w.Code != http.StatusNotFound {
			t.Errorf("POST %s: status %d, want 404", target, w.Code)
		}
	}
	if spy.writes != 0 {
		t.Errorf("%d writes", spy.writes)
	}
}

// Names come out of the path as they are, a slash in one included.
func TestNamesInPaths(t *testing.T) {
	g := newAPIRig(t, nil, func(o *Options) { o.Prefix = "/kiln" })
	ctx := context.Background()
	for _, id := range []string{"daily", "a:b.c-d_e", "a b", "50%", "a/b", "ü", "x?y#z"} {
		g.must(g.mem.PutRecurring(ctx, driver.Recurring{ID: id, Spec: "@hourly", Location: "UTC", Template: driver.InsertParams{Kind: "k", Queue: "q"}}))
		g.want(http.StatusNoContent, http.MethodPost, "/kiln/api/recurring/"+url.PathEscape(id)+"/pause", "")
		if r, err := g.mem.Recurring(ctx, id); err != nil || !r.Paused {
			t.Errorf("%q was not paused: %v", id, err)
		}
	}
	g.wantError(http.StatusNotFound, "not found", http.MethodPost, "/kiln/api/recurring/gone/pause", "")
	g.wantError(http.StatusBadRequest, "Queue", http.MethodPost, "/kiln/api/queues/UPPER/pause", "")
	g.wantError(http.StatusBadRequest, "no text", http.MethodPost, "/kiln/api/recurring/a%00b/remove", "")
	g.wantError(http.StatusBadRequest, "no text", http.MethodPost, "/kiln/api/recurring/a%ffb/trigger", "")
}

// brokenStore fails with an error that is nobody's business.
type brokenStore struct {
	driver.Store
	err error
}

func (s *brokenStore) Job(context.Context, int64) (driver.Record, error) {
	return driver.Record{}, s.err
}

func (s *brokenStore) Requeue(context.Context, driver.Filter) (int, error) { return 0, s.err }

func TestStatusesOfErrors(t *testing.T) {
	for status, err := range map[int]error{
		http.StatusNotFound:            fmt.Errorf("%w: job 1", driver.ErrNotFound),
		http.StatusBadRequest:          fmt.Errorf("%w: field", driver.ErrInvalid),
		http.StatusConflict:            fmt.Errorf("%w: changed", driver.ErrConflict),
		http.StatusInternalServerError: errors.New("ERROR: column secret_column does not exist at SELECT * FROM kiln_jobs"),
	} {
		g := newAPIRig(t, func(mem *memstore.Store) driver.Store { return &brokenStore{mem, err} })
		for _, w := range []*httptest.ResponseRecorder{
			g.want(status, http.MethodGet, "/api/jobs/1", ""),
			g.want(status, http.MethodPost, "/api/jobs/1/requeue", ""),
			g.want(status, http.MethodPost, "/jobs/requeue", "id=1"),
		} {
			if status == http.StatusInternalServerError && strings.Contains(w.Body.String(), "SELECT") {
				t.Errorf("the answer shows the statement: %s", w.Body)
			}
			checkHeaders(t, "an error", w.Header())
		}
	}
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store { return &brokenStore{mem, driver.ErrTooLarge} })
	g.wantError(http.StatusBadRequest, "too large", http.MethodGet, "/api/jobs/1", "")
}
