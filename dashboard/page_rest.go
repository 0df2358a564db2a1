package dashboard

import (
	"net/http"

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

type recurringBody struct{ Recurring []recurringRow }

func (h *handler) recurringPage(w http.ResponseWriter, r *request) error {
	all, err := h.readRecurring(r.Context())
	if err != nil {
		return err
	}
	late := h.pages.now().Add(-driver.SilentAfter)
	var trouble, fine []recurringRow
	for _, view := range all.Recurring {
		row := recurringRow{recurringView: view, Late: !view.Paused && !view.NextRunAt.IsZero() && view.NextRunAt.Before(late)}
		if row.Trouble() {
			trouble = append(trouble, row)
		} else {
			fine = append(fine, row)
		}
	}
	return h.section(w, r, "recurring", "recurring", recurringBody{append(trouble, fine...)})
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
