package dashboard

import (
	"net/http"
	"time"
)

const retryAfter = 30 * time.Second

func (h *handler) apiEvents(http.ResponseWriter, *request) error {
	return &statusError{http.StatusNotImplemented, "there are no events yet"}
}
