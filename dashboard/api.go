package dashboard

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/kilnjobs/kiln/driver"
)

// answer sends what was read, or returns why it was not.
func answer[T any](w http.ResponseWriter, r *request, v T, err error) error {
	if err != nil {
		return err
	}
	return sendJSON(w, r, http.StatusOK, v)
}

func (h *handler) apiOverview(w http.ResponseWriter, r *request) error {
	v, err := h.readOverview(r.Context())
	return answer(w, r, v, err)
}

func (h *handler) apiSeries(w http.ResponseWriter, r *request) error {
	v, err := h.readSeries(r.Context(), r.query("range"))
	return answer(w, r, v, err)
}

func (h *handler) apiProblems(w http.ResponseWriter, r *request) error {
	v, err := h.readProblems(r.Context())
	return answer(w, r, v, err)
}

func (h *handler) apiJobs(w http.ResponseWriter, r *request) error {
	state, id, err := r.jobKey()
	if err != nil {
		return err
	}
	if id != 0 {
		v, err := h.readJob(r.Context(), id)
		return answer(w, r, v, err)
	}
	q, err := parseList(r, state)
	if err != nil {
		return err
	}
	v, err := h.readJobs(r.Context(), q)
	return answer(w, r, v, err)
}

func (h *handler) apiRetries(w http.ResponseWriter, r *request) error {
	q, err := parseList(r, driver.Scheduled)
	if err != nil {
		return err
	}
	q.Retries = true
	v, err := h.readJobs(r.Context(), q)
	return answer(w, r, v, err)
}

func (h *handler) apiLogs(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	after, limit, err := r.logRange()
	if err != nil {
		return err
	}
	v, err := h.readLogs(r.Context(), id, after, limit)
	return answer(w, r, v, err)
}

// logRange reads which lines of a console are asked for.
func (r *request) logRange() (after int64, limit int, err error) {
	if s := r.query("after"); s != "" {
		if after, err = strconv.ParseInt(s, 10, 64); err != nil || after < 0 {
			return 0, 0, fmt.Errorf("%w: after %.60q is no number from 0 on", driver.ErrInvalid, s)
		}
	}
	limit, err = r.limit()
	return after, limit, err
}

func (h *handler) apiRecurring(w http.ResponseWriter, r *request) error {
	v, err := h.readRecurring(r.Context())
	return answer(w, r, v, err)
}

func (h *handler) apiQueues(w http.ResponseWriter, r *request) error {
	v, err := h.readQueues(r.Context())
	return answer(w, r, v, err)
}

func (h *handler) apiServers(w http.ResponseWriter, r *request) error {
	v, err := h.readServers(r.Context())
	return answer(w, r, v, err)
}

func (h *handler) apiBatches(w http.ResponseWriter, r *request) error {
	limit, err := r.limit()
	if err != nil {
		return err
	}
	parent, err := r.positive("parent")
	if err != nil {
		return err
	}
	v, err := h.readBatches(r.Context(), limit, r.query("cursor"), parent)
	return answer(w, r, v, err)
}

func (h *handler) apiBatch(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	v, err := h.readBatch(r.Context(), id)
	return answer(w, r, v, err)
}

func (h *handler) apiLimits(w http.ResponseWriter, r *request) error {
	if _, ok := h.store.(driver.LimitReader); !ok {
		return errNoLimits
	}
	limit, err := r.limit()
	if err != nil {
		return err
	}
	v, err := h.readLimits(r.Context(), r.query("after"), limit)
	return answer(w, r, v, err)
}
