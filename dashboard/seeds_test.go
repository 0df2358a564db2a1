package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/dashboard"
	"github.com/kilnjobs/kiln/memstore"
)

// TestSample is the lines with which the dashboard was described, as they stood there.
func TestSample(t *testing.T) {
	client := kiln.NewClient(memstore.New())
	mux := http.NewServeMux()

	mux.Handle("/kiln/", dashboard.New(client, dashboard.Options{
		Prefix:    "/kiln",
		Authorize: func(r *http.Request) dashboard.Access { return dashboard.ReadOnly },
	}))

	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/kiln/", http.StatusOK},
		{http.MethodGet, "/kiln/jobs", http.StatusFound},
		{http.MethodGet, "/kiln/jobs/enqueued", http.StatusOK},
		{http.MethodPost, "/kiln/queues/default/pause", http.StatusForbidden},
		{http.MethodGet, "/elsewhere", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, w.Code, c.status)
		}
	}
}
