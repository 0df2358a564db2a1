package dashboard

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// handler serves the pages, the JSON API and the assets.
type handler struct {
	client  *kiln.Client
	store   driver.Store
	options Options
	origins *http.CrossOriginProtection
	cache   *cache
	watcher *watcher
	pages   *pages
}

// New returns the dashboard of a client's store. It panics on options with which it cannot work, above all on those without
// Authorize.
func New(c *kiln.Client, o Options) http.Handler {
	if c == nil {
		panic("dashboard: New needs a client")
	}
	o = o.normalised()
	h := &handler{client: c, store: c.Store(), options: o, origins: http.NewCrossOriginProtection(), pages: newPages(o)}
	h.cache = newCache(h)
	h.watcher = newWatcher(h)
	return h
}

// ServeHTTP implements http.Handler. Who may not come in learns nothing but that, whatever was asked for.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	access := h.access(r)
	if access == Denied {
		refuse(w, http.StatusForbidden, "forbidden")
		return
	}
	req, clean := h.newRequest(r, access)
	if !safe(r) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if status, reason := h.guardWrite(req); status != 0 {
			refuse(w, status, reason)
			return
		}
	}
	if err := h.serve(w, req, clean); err != nil {
		h.fail(w, req, err)
	}
}

func (h *handler) serve(w http.ResponseWriter, r *request, clean bool) error {
	if !clean {
		return fmt.Errorf("%w: the path %.200q is not clean", driver.ErrNotFound, r.URL.Path)
	}
	route, allowed := match(r)
	if route == nil && len(allowed) == 0 {
		return fmt.Errorf("%w: there is nothing at %.200q", driver.ErrNotFound, r.path)
	}
	if route == nil {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return &statusError{http.StatusMethodNotAllowed, fmt.Sprintf("method %.20q is not allowed here", r.Method)}
	}
	if err := r.readQuery(); err != nil {
		return err
	}
	if route.page && h.languageChoice(w, r) {
		return nil
	}
	if route.page {
		h.cache.counts.warm() // every page has them beside its navigation
	}
	return route.serve(h, w, r)
}
