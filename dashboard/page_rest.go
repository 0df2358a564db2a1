package dashboard

import (
	"context"
	"net/http"
	"slices"

	"github.com/kilnjobs/kiln/driver"
)

// recurringRow is one line of the page of recurring jobs.
type recurringRow struct {
	recurringView
	Late bool
}

// Trouble says that somebody should look at it.
func (r recurringRow) Trouble() bool {
	return r.Late || r.LastState == driver.Failed || r.Unreadable != ""
}

type recurringBody struct {
	Recurring []recurringRow
	// From is the place of the first row in the list, and Next that of the next page, 0 for none.
	From, Next int64
}

// recurringShown is how many recurring jobs a page has.
const recurringShown = 40

// recurringPage shows what is in trouble first. What became of the last runs is read for the rows of the page alone; which of them
// failed the list of problems knows.
func (h *handler) recurringPage(w http.ResponseWriter, r *request) error {
	ctx := r.Context()
	from, err := r.positive("from")
	if err != nil {
		return err
	}
	var list []driver.Recurring
	var failed map[string]bool
	err = together(
		func() (err error) {
			list, err = h.listRecurring(ctx)
			return err
		},
		func() error {
			failed = h.failedRecurring(ctx)
			return nil
		},
	)
	if err != nil {
		return err
	}
	late := h.pages.now().Add(-driver.SilentAfter)
	isLate := func(d *driver.Recurring) bool { return !d.Paused && !d.NextRunAt.IsZero() && d.NextRunAt.Before(late) }
	slices.SortStableFunc(list, func(a, b driver.Recurring) int {
		return order(isLate(&b) || failed[b.ID]) - order(isLate(&a) || failed[a.ID])
	})
	body := recurringBody{From: from}
	list = list[min(int(from), len(list)):]
	if len(list) > recurringShown {
		list, body.Next = list[:recurringShown], from+recurringShown
	}
	views := h.viewRecurrings(list).Recurring
	if err := h.addLastStates(ctx, list, views); err != nil {
		return err
	}
	for i := range views {
		body.Recurring = append(body.Recurring, recurringRow{recurringView: views[i], Late: isLate(&list[i])})
	}
	return h.section(w, r, "recurring", "recurring", body)
}

// failedRecurring are the recurring jobs whose last run failed, as far as the list of problems knows.
func (h *handler) failedRecurring(ctx context.Context) map[string]bool {
	failed := map[string]bool{}
	problems, err := h.readProblems(ctx)
	if err != nil {
		return failed
	}
	for _, p := range problems.Problems {
		if p.Kind == problemRecurringFailed {
			failed[p.Name] = true
		}
	}
	return failed
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

func (h *handler) queuesPage(w http.ResponseWriter, r *request) error {
	queues, err := h.readQueues(r.Context())
	if err != nil {
		return err
	}
	return h.section(w, r, "queues", "queues", queues)
}

func (h *handler) serversPage(w http.ResponseWriter, r *request) error {
	servers, err := h.readServers(r.Context())
	if err != nil {
		return err
	}
	return h.section(w, r, "servers", "servers", servers)
}

type limitsBody struct {
	Limits limitsView
	After  string
}

func (h *handler) limitsPage(w http.ResponseWriter, r *request) error {
	after := r.query("after")
	limit, err := r.limit()
	if err != nil {
		return err
	}
	limits, err := h.readLimits(r.Context(), after, limit)
	if err != nil {
		return err
	}
	watch := ""
	if after == "" {
		watch = "limits"
	}
	return h.section(w, r, "limits", watch, limitsBody{limits, after})
}

// section shows a page that is an entry of the navigation.
func (h *handler) section(w http.ResponseWriter, r *request, name, watch string, body any) error {
	language := languageOf(r.Request, h.pages.options.Language)
	return h.show(w, r, http.StatusOK, name, frame{Heading: language.message("nav." + name), Section: name, Watch: watch, Body: body})
}
