package dashboard

import (
	"net/http"
	"slices"
	"strings"

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

// recurringPage shows what is in trouble first.
func (h *handler) recurringPage(w http.ResponseWriter, r *request) error {
	from, err := r.positive("from")
	if err != nil {
		return err
	}
	list, err := h.listRecurring(r.Context())
	if err != nil {
		return err
	}
	last, err := h.lastStates(r.Context(), list)
	if err != nil {
		return err
	}
	now := h.pages.now()
	slices.SortStableFunc(list, func(a, b driver.Recurring) int {
		return compareBool(late(&b, now) || last[b.LastJobID] == driver.Failed, late(&a, now) || last[a.LastJobID] == driver.Failed)
	})
	body, watch := recurringBody{From: from}, ""
	if len(list) <= recurringShown {
		watch = "recurring" // of a part of the list its events cannot say what is new
	}
	list = list[min(from, int64(len(list))):]
	if len(list) > recurringShown {
		list, body.Next = list[:recurringShown], from+recurringShown
	}
	for i, view := range h.viewRecurrings(list, last).Recurring {
		body.Recurring = append(body.Recurring, recurringRow{recurringView: view, Late: late(&list[i], now)})
	}
	return h.section(w, r, "recurring", watch, body)
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
		watch = strings.TrimPrefix(here(r), "/")
	}
	return h.section(w, r, "limits", watch, limitsBody{limits, after})
}

// section shows a page that is an entry of the navigation.
func (h *handler) section(w http.ResponseWriter, r *request, name, watch string, body any) error {
	language := languageOf(r.Request, h.pages.options.Language)
	return h.show(w, r, http.StatusOK, name, frame{Heading: language.message("nav." + name), Section: name, Watch: watch, Body: body})
}
