package dashboard

import (
	"net/http"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// overviewBody is what the overview shows. Parts that could not be read are nil, and the page says so: the rest may be what is needed
// at that moment.
type overviewBody struct {
	Overview overviewView
	Problems *problemsView
	Series   *seriesView
	Range    string
	Running  []jobView
	Next     []recurringView
}

// listed is how many rows the overview's short lists have.
const listed = 8

func (h *handler) overviewPage(w http.ResponseWriter, r *request) error {
	ctx := r.Context()
	body := overviewBody{Range: r.query("range")}
	if body.Range == "" {
		body.Range = "1h"
	}
	err := together(
		func() error {
			series, err := h.readSeries(ctx, body.Range)
			body.Series = &series
			return err
		},
		func() (err error) {
			body.Overview, err = h.readOverview(ctx)
			return err
		},
		func() error {
			problems, err := h.readProblems(ctx)
			if err != nil {
				without(ctx, "the problems", err) // the page says so, and shows the rest
				return nil
			}
			body.Problems = &problems
			return nil
		},
		func() error {
			running, err := h.readJobs(ctx, listQuery{State: driver.Processing, Limit: listed})
			body.Running = longestFirst(running.Jobs)
			return err
		},
		func() error {
			recurring, err := h.listRecurring(ctx)
			body.Next = h.viewRecurrings(soonest(recurring), nil).Recurring
			return err
		},
	)
	if err != nil {
		return err
	}
	language := languageOf(r.Request, h.pages.options.Language)
	return h.show(w, r, http.StatusOK, "overview", frame{
		Heading: language.message("nav.overview"), Section: "overview", Watch: "overview?range=" + body.Range,
		Counts: &body.Overview.Counts, Body: body,
	})
}

func longestFirst(jobs []jobView) []jobView {
	slices.SortStableFunc(jobs, func(a, b jobView) int { return a.AttemptedAt.Compare(b.AttemptedAt) })
	return jobs
}

// soonest are the recurring jobs that run next.
func soonest(all []driver.Recurring) []driver.Recurring {
	var next []driver.Recurring
	for _, r := range all {
		if !r.Paused && !r.NextRunAt.IsZero() {
			next = append(next, r)
		}
	}
	slices.SortFunc(next, func(a, b driver.Recurring) int { return a.NextRunAt.Compare(b.NextRunAt) })
	return next[:min(len(next), listed)]
}

// Of is the count of a state.
func (c countsView) Of(state driver.State) int64 {
	switch state {
	case driver.Awaiting:
		return c.Awaiting
	case driver.Scheduled:
		return c.Scheduled
	case driver.Throttled:
		return c.Throttled
	case driver.Enqueued:
		return c.Enqueued
	case driver.Processing:
		return c.Processing
	case driver.Failed:
		return c.Failed
	case driver.Succeeded:
		return c.Succeeded
	case driver.Deleted:
		return c.Deleted
	default:
		return 0
	}
}

// When is the instant that matters for a job in its state.
func (j jobView) When() time.Time {
	switch j.State {
	case driver.Succeeded, driver.Failed, driver.Deleted:
		return j.FinalizedAt
	case driver.Processing:
		return j.AttemptedAt
	case driver.Scheduled, driver.Enqueued:
		return j.RunAt
	default:
		return j.CreatedAt
	}
}

// Took is how long the last run of a job that has ended took, in milliseconds, and 0 when that is not known.
func (j jobView) Took() int64 {
	if j.FinalizedAt.IsZero() || j.AttemptedAt.IsZero() {
		return 0
	}
	return max(j.FinalizedAt.Sub(j.AttemptedAt).Milliseconds(), 1)
}
