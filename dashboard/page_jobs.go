package dashboard

import (
	"net/http"

	"github.com/kilnjobs/kiln/driver"
)

// jobsBody is what a list of jobs shows.
type jobsBody struct {
	Query listQuery
	Jobs  jobsView
	// Queues are the names that the filter offers.
	Queues                []string
	CanRequeue, CanDelete bool
	// NoJobs says that the store has no jobs at all, as on somebody's first day with it.
	NoJobs bool
}

// jobsPage shows the list of a state.
func (h *handler) jobsPage(w http.ResponseWriter, r *request) error {
	return h.listPage(w, r, driver.State(r.param("state")), false)
}

// retriesPage shows the jobs that wait for a retry.
func (h *handler) retriesPage(w http.ResponseWriter, r *request) error {
	return h.listPage(w, r, driver.Scheduled, true)
}

func (h *handler) listPage(w http.ResponseWriter, r *request, state driver.State, retries bool) error {
	query, err := parseList(r, state)
	if err != nil {
		return err
	}
	query.Retries = retries
	body := jobsBody{
		Query:      query,
		CanRequeue: state == driver.Scheduled || state == driver.Failed || state.Archived(),
		CanDelete:  state.Live(),
	}
	f := frame{Section: "jobs", Watch: watchOf(query)}
	err = together(
		func() (err error) {
			body.Jobs, err = h.readJobs(r.Context(), query)
			return err
		},
		func() error {
			f.Counts = h.navigationCounts(r.Context())
			return nil
		},
		func() error {
			if !retries {
				body.Queues = h.queueNames(r.Context())
			}
			return nil
		},
	)
	if err != nil {
		return err
	}
	if c := f.Counts; c != nil {
		body.NoJobs = *c == countsView{}
	}
	language := languageOf(r.Request, h.pages.options.Language)
	switch {
	case retries:
		f.Section, f.Heading = "retries", language.message("nav.retries")
	case state == driver.Failed:
		f.Section, f.Heading = "failed", language.message("nav.failed")
	default:
		f.Heading = language.text("list.title", "state", language.message("state."+string(state)))
	}
	f.Body = body
	return h.show(w, r, http.StatusOK, "jobs", f)
}

// watchOf names the list for its live events. Only the first page is watched: what comes is on it.
func watchOf(q listQuery) string {
	if q.Cursor != "" {
		return ""
	}
	if q.Retries {
		return withQuery("retries", q.values())
	}
	return withQuery("jobs/"+string(q.State), q.values())
}

// In is the same list in another state, from its beginning.
func (q listQuery) In(state driver.State) listQuery {
	q.State, q.Cursor = state, ""
	return q
}

// First is the first page of the list.
func (q listQuery) First() listQuery { return q.After("") }

// After is the page behind a cursor.
func (q listQuery) After(cursor string) listQuery {
	q.Cursor = cursor
	return q
}

// Filtered reports whether the list has filters besides its state.
func (q listQuery) Filtered() bool {
	return q.Queue != "" || q.Kind != "" || q.Tag != "" || q.Batch != 0
}
