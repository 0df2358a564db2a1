package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/kilnjobs/kiln/driver"
)

// statusError is an error that has a status of its own.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// What a store without an optional interface does not have.
var (
	errNoLimits  = fmt.Errorf("%w: this store lists no limits", driver.ErrNotFound)
	errNoConsole = fmt.Errorf("%w: this store keeps no console", driver.ErrNotFound)
)

// errInternal stands for an error whose text is nobody's business: it may name statements, hosts and values.
var errInternal = errors.New("internal error; the log of the process that serves this page says more")

// statusOf says with which status an error is answered.
func statusOf(err error) int {
	var coded *statusError
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &coded):
		return coded.status
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, driver.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, driver.ErrInvalid), errors.Is(err, driver.ErrTooLarge):
		return http.StatusBadRequest
	case errors.Is(err, driver.ErrConflict):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// fail answers with an error: a page with one, the API with its text.
func (h *handler) fail(w http.ResponseWriter, r *request, err error) {
	status := statusOf(err)
	if status == http.StatusInternalServerError {
		if !errors.Is(err, context.Canceled) {
			slog.Error("kiln dashboard: request failed", "method", r.Method, "path", r.path, "error", err)
		}
		err = errInternal
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	if !r.api {
		h.errorPage(w, r, status, err)
		return
	}
	if err := sendJSON(w, r, status, errorView{err.Error()}); err != nil {
		slog.Error("kiln dashboard: error not sent", "error", err)
	}
}

// errorView is what the API says when something is wrong.
type errorView struct {
	Error string `json:"error"`
}

// refuse answers with plain text, before anything is known of who asks.
func refuse(w http.ResponseWriter, status int, text string) { http.Error(w, text, status) }

// sendJSON answers with JSON. It is encoded first, so that an error never comes half-written.
func sendJSON(w http.ResponseWriter, r *request, status int, v any) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(v); err != nil {
		return err
	}
	send(w, r, status, "application/json; charset=utf-8", body.Bytes())
	return nil
}

// send writes an answer that is complete. That it does not arrive is nobody's error.
func send(w http.ResponseWriter, r *request, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// without logs what an answer leaves out because it could not be had. That nobody waits for it any more is no news.
func without(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		slog.Warn("kiln dashboard: answered without "+what, "error", err)
	}
}
