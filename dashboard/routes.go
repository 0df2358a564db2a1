package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kilnjobs/kiln/driver"
)

// route is one thing that the handler answers to. A {name} in its pattern stands for one segment of a path.
type route struct {
	method, pattern string
	serve           func(h *handler, w http.ResponseWriter, r *request) error
	// page says that it is a page in some language.
	page bool
}

// routes are all there are. A GET route answers HEAD too.
var routes []route

// The routes are set here, since what they serve looks at them.
func init() {
	routes = slices.Concat(pageRoutes(), apiRoutes(), actionRoutes())
}

func pageRoutes() []route {
	page := func(pattern string, serve func(*handler, http.ResponseWriter, *request) error) route {
		return route{http.MethodGet, pattern, serve, true}
	}
	return []route{
		page("/", (*handler).overviewPage),
		page("/jobs", (*handler).jobsRedirect),
		page("/jobs/{key}", (*handler).jobsOrJobPage),
		page("/retries", (*handler).retriesPage),
		page("/recurring", (*handler).recurringPage),
		page("/queues", (*handler).queuesPage),
		page("/servers", (*handler).serversPage),
		page("/batches", (*handler).batchesPage),
		page("/batches/{id}", (*handler).batchPage),
		page("/limits", (*handler).limitsOrNothing),
		{http.MethodGet, "/assets/{name}", (*handler).assetFile, false},
	}
}

func apiRoutes() []route {
	get := func(pattern string, serve func(*handler, http.ResponseWriter, *request) error) route {
		return route{http.MethodGet, "/api" + pattern, serve, false}
	}
	return []route{
		get("/overview", (*handler).apiOverview),
		get("/series", (*handler).apiSeries),
		get("/problems", (*handler).apiProblems),
		get("/jobs/{key}", (*handler).apiJobs),
		get("/jobs/{id}/logs", (*handler).apiLogs),
		get("/retries", (*handler).apiRetries),
		get("/recurring", (*handler).apiRecurring),
		get("/queues", (*handler).apiQueues),
		get("/servers", (*handler).apiServers),
		get("/batches", (*handler).apiBatches),
		get("/batches/{id}", (*handler).apiBatch),
		get("/limits", (*handler).apiLimits),
		get("/events", (*handler).apiEvents),
	}
}

// actionRoutes are there twice: for forms, and for JSON.
func actionRoutes() []route {
	var all []route
	for _, prefix := range []string{"", "/api"} {
		post := func(pattern string, serve func(*handler, http.ResponseWriter, *request) error) {
			all = append(all, route{http.MethodPost, prefix + pattern, serve, false})
		}
		post("/jobs/{op}", (*handler).bulk)
		post("/jobs/{id}/{op}", (*handler).jobAction)
		post("/recurring/{id}/{op}", (*handler).recurringAction)
		post("/queues/{name}/{op}", (*handler).queueAction)
	}
	return all
}

// match finds the route of a request and sets its parameters. Without one it returns the methods that the path allows.
func match(r *request) (found *route, allowed []string) {
	for i := range routes {
		params, ok := matchPath(routes[i].pattern, r.segments)
		switch {
		case !ok:
		case routes[i].method == r.Method, routes[i].method == http.MethodGet && r.Method == http.MethodHead:
			r.params = params
			return &routes[i], nil
		case routes[i].method == http.MethodGet:
			allowed = append(allowed, http.MethodGet, http.MethodHead)
		default:
			allowed = append(allowed, routes[i].method)
		}
	}
	return nil, allowed
}

func matchPath(pattern string, segments []string) (params map[string]string, ok bool) {
	var parts []string
	if pattern != "/" {
		parts = strings.Split(pattern[1:], "/")
	}
	if len(parts) != len(segments) {
		return nil, false
	}
	params = make(map[string]string)
	for i, part := range parts {
		if name, variable := strings.CutPrefix(part, "{"); variable {
			params[strings.TrimSuffix(name, "}")] = segments[i]
		} else if part != segments[i] {
			return nil, false
		}
	}
	return params, true
}

// jobsRedirect leads to the list that operators look at first.
func (h *handler) jobsRedirect(w http.ResponseWriter, r *request) error {
	http.Redirect(w, r.Request, h.options.Prefix+"/jobs/"+string(driver.Enqueued), http.StatusFound)
	return nil
}

func (h *handler) jobsOrJobPage(w http.ResponseWriter, r *request) error {
	state, id, err := r.jobKey()
	switch {
	case err != nil:
		return err
	case id != 0:
		r.params["id"] = r.param("key")
		return h.jobPage(w, r)
	}
	r.params["state"] = string(state)
	return h.jobsPage(w, r)
}

// jobKey reads what stands behind /jobs/: a state, or the id of a job.
func (r *request) jobKey() (driver.State, int64, error) {
	key := r.param("key")
	if state := driver.State(key); state.Valid() {
		return state, 0, nil
	}
	if id, ok := number(key); ok {
		return "", id, nil
	}
	return "", 0, fmt.Errorf("%w: %.60q is neither a state nor the id of a job", driver.ErrNotFound, key)
}

func (h *handler) limitsOrNothing(w http.ResponseWriter, r *request) error {
	if _, ok := h.store.(driver.LimitReader); !ok {
		return errNoLimits
	}
	return h.limitsPage(w, r)
}
