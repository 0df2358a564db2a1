package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// fuzzRig has something at every route.
func fuzzRig(f *testing.F) *apiRig {
	g := newAPIRig(f, nil, func(o *Options) { o.Prefix = "/kiln" })
	for range 3 {
		g.insert(driver.InsertParams{Queue: "mail", Tags: []string{"eu"}, LimitKey: "k", LimitMax: 1})
	}
	_, err := g.mem.OpenBatch(context.Background(), driver.NewBatch{})
	g.must(err)
	g.must(g.mem.PutRecurring(context.Background(), driver.Recurring{ID: "daily", Spec: "@hourly", Location: "UTC"}))
	return g
}

// onceFlushed is a recorder whose request ends when something is flushed, so that streams do.
type onceFlushed struct {
	*httptest.ResponseRecorder
	cancel context.CancelFunc
}

func (w onceFlushed) Flush() { w.cancel() }

// send sends a request that need not be one that a client could make.
func (g *apiRig) send(method string, u *url.URL, body, contentType string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body)).WithContext(ctx)
	r.Method, r.URL = method, u
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(onceFlushed{w, cancel}, r)
	return w
}

// sound checks an answer: no fault of the server, all headers, and JSON where JSON is promised.
func sound(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code >= 500 {
		t.Errorf("%s: status %d: %s", what, w.Code, w.Body)
	}
	for name := range wantedHeaders {
		if w.Header().Get(name) == "" {
			t.Errorf("%s: no %s", what, name)
		}
	}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s: no JSON: %s", what, w.Body)
	}
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "limit=1", "limit=99999999999999999999", "limit=-1&batch=x", "cursor=AAAA", "after=-1", "after=%00", "range=1h", "tag=%ff", "parent=9223372036854775807",
		"watch=jobs/failed?queue=mail", "watch=jobs/1", "watch=limits?after=%2500", "watch=%2e%2e/x", "queue=mail&kind=mail&tag=eu&batch=1&limit=500", "a;b", "%zz",
		"cursor=AAAAAAAAAAAAAAAAAAAAMg", "lang=pt-BR", "lang=..%2f", "done=requeued&n=1", "limit=+1", "limit=0x10", "limit=1_0",
	} {
		f.Add(seed)
	}
	g := fuzzRig(f)
	f.Fuzz(func(t *testing.T, query string) {
		for _, route := range routes {
			if route.method != http.MethodGet {
				continue
			}
			for _, path := range examples(route.pattern) {
				g.handler.(*handler).cache.forget()
				sound(t, path+"?"+query, g.send(http.MethodGet, &url.URL{Path: "/kiln" + path, RawQuery: query}, "", ""))
			}
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "", "/kiln", "/kiln/", "/kiln/api/jobs/1", "/kiln//", "/kiln/../x", "/kiln/%2e%2e", "/kiln/api/queues/a%2fb/pause", "*", "/kiln/api/recurring/daily/trigger",
		"/kiln/api/jobs/requeue", "/jobs/1/delete", "/kiln/assets/app.js", "/kiln/api/events", "/\x00", "/kiln/api/jobs/\xff", "/kiln/api/jobs/18446744073709551616",
	} {
		f.Add(seed, "GET", `{"ids":[1]}`)
		f.Add(seed, "POST", `{"state":"failed","queue":"mail"}`)
	}
	g := fuzzRig(f)
	f.Fuzz(func(t *testing.T, path, method, body string) {
		for _, u := range []*url.URL{{Path: path}, {Path: path, RawPath: path}, {Opaque: path}} {
			for _, kind := range []string{"application/json", "application/x-www-form-urlencoded"} {
				w := g.send(method, u, body, kind)
				sound(t, method+" "+path, w)
			}
		}
	})
}
