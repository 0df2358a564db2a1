//go:build unix

package browser

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kilnjobs/kiln"
)

// countStreams counts the streams that are open.
func countStreams(h http.Handler, open *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/api/events") {
			open.Add(1)
			defer open.Add(-1)
		}
		h.ServeHTTP(w, r)
	})
}

// hide makes a page believe that its tab was hidden, or shown again. A headless browser has no tabs to switch between.
const hide = `(hidden) => {
	Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
	document.dispatchEvent(new Event("visibilitychange"));
	return hidden;
}`

// TestHidden hides a tab: its stream ends, and when it is shown again it has what happened meanwhile.
func TestHidden(t *testing.T) {
	r := newRig(t)
	r.work()
	r.seed()
	var streams atomic.Int64
	p := open(t, r.serve(countStreams(r.handler, &streams)))
	p.visit("/")
	p.sees(`#live[data-state="live"]`)
	p.await("stream", func() bool { return streams.Load() == 1 })
	eval[bool](p, "("+hide+")(true)")
	p.await("end of the stream", func() bool { return streams.Load() == 0 })
	r.reaches(r.enqueue(chargeCard{Order: 301, Broken: true}), kiln.Failed)
	if n := eval[string](p, `document.querySelector('.tile [data-live="counts.failed"]').textContent`); n != "6" {
		t.Errorf("the hidden page says %s", n)
	}
	eval[bool](p, "("+hide+")(false)")
	p.await("stream", func() bool { return streams.Load() == 1 })
	p.reads(`.tile [data-live="counts.failed"]`, "7")
}
