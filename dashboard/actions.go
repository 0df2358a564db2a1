package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kilnjobs/kiln/driver"
)

// What the API says after an action.
type (
	countView struct {
		Count int `json:"count"`
	}
	idView struct {
		ID int64 `json:"id"`
	}
)

// acting is the context of a write: it names who makes it.
func (h *handler) acting(r *request) context.Context {
	if h.options.Actor == nil {
		return r.Context()
	}
	return driver.WithActor(r.Context(), h.options.Actor(r.Request))
}

// changed makes everybody see what was written, whether or not all of it was.
func (h *handler) changed() {
	h.cache.forget()
	h.watcher.hurry()
}

// jobOps are what can be done to jobs, with what a page is told afterwards.
var jobOps = map[string]struct {
	done  string
	apply func(h *handler, ctx context.Context, f driver.Filter) (int, error)
}{
	"requeue": {"requeued", func(h *handler, ctx context.Context, f driver.Filter) (int, error) {
		return h.client.RequeueWhere(ctx, f)
	}},
	"delete": {"deleted", func(h *handler, ctx context.Context, f driver.Filter) (int, error) {
		return h.client.DeleteWhere(ctx, f)
	}},
}

// unknownOp is the error of an action that there is not.
func unknownOp(r *request) error {
	return fmt.Errorf("%w: there is no action %.60q", driver.ErrNotFound, r.param("op"))
}

func (h *handler) jobAction(w http.ResponseWriter, r *request) error {
	op, ok := jobOps[r.param("op")]
	if !ok {
		return unknownOp(r)
	}
	id, err := r.id()
	if err != nil {
		return err
	}
	n, err := op.apply(h, h.acting(r), driver.Filter{IDs: []int64{id}})
	h.changed()
	if err != nil {
		return err
	}
	if r.api {
		return sendJSON(w, r, http.StatusOK, countView{n})
	}
	h.redirectDone(w, r, "/jobs/"+strconv.FormatInt(id, 10), nil, op.done, int64(n))
	return nil
}

// namedOps are actions on a queue or a recurring job, with what a page is told afterwards.
type namedOps map[string]struct {
	done  string
	apply func(h *handler, ctx context.Context, name string) error
}

var queueOps = namedOps{
	"pause":  {"queue-paused", func(h *handler, ctx context.Context, name string) error { return h.client.PauseQueue(ctx, name) }},
	"resume": {"queue-resumed", func(h *handler, ctx context.Context, name string) error { return h.client.ResumeQueue(ctx, name) }},
}

var recurringOps = namedOps{
	"pause":  {"recurring-paused", func(h *handler, ctx context.Context, id string) error { return h.client.PauseRecurring(ctx, id) }},
	"resume": {"recurring-resumed", func(h *handler, ctx context.Context, id string) error { return h.client.ResumeRecurring(ctx, id) }},
	"remove": {"recurring-removed", func(h *handler, ctx context.Context, id string) error { return h.client.RemoveRecurring(ctx, id) }},
}

func (h *handler) queueAction(w http.ResponseWriter, r *request) error {
	return h.namedAction(w, r, queueOps, r.param("name"), "/queues")
}

func (h *handler) recurringAction(w http.ResponseWriter, r *request) error {
	if r.param("op") == "trigger" {
		return h.trigger(w, r)
	}
	return h.namedAction(w, r, recurringOps, r.param("id"), "/recurring")
}

func (h *handler) namedAction(w http.ResponseWriter, r *request, ops namedOps, name, page string) error {
	op, ok := ops[r.param("op")]
	if !ok {
		return unknownOp(r)
	}
	if err := checkText("name", name); err != nil {
		return err
	}
	err := op.apply(h, h.acting(r), name)
	h.changed()
	if err != nil {
		return err
	}
	if r.api {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	h.redirectDone(w, r, page, nil, op.done, 1)
	return nil
}

func (h *handler) trigger(w http.ResponseWriter, r *request) error {
	name := r.param("id")
	if err := checkText("name", name); err != nil {
		return err
	}
	id, err := h.client.TriggerRecurring(h.acting(r), name)
	h.changed()
	if err != nil {
		return err
	}
	if r.api {
		return sendJSON(w, r, http.StatusOK, idView{id})
	}
	h.redirectDone(w, r, "/recurring", nil, "triggered", id)
	return nil
}

// redirectDone leads from a form to a page, which says what was done.
func (h *handler) redirectDone(w http.ResponseWriter, r *request, page string, query url.Values, done string, n int64) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("done", done)
	query.Set("n", strconv.FormatInt(n, 10))
	http.Redirect(w, r.Request, h.options.Prefix+page+"?"+query.Encode(), http.StatusSeeOther)
}
