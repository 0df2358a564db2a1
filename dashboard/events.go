package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// heartbeat is how often a comment goes out, so that proxies keep an idle stream open.
	heartbeat = 15 * time.Second
	// authorizeEvery is how often it is asked whether the viewer may still look. With writeTime it makes less than a minute.
	authorizeEvery = 40 * time.Second
	// writeTime is how long a viewer may take to read what was sent.
	writeTime = 10 * time.Second
	// reconnectAfter is when browsers come back to a stream that broke.
	reconnectAfter = 3 * time.Second
	// retryAfter is when those may come back for whom there was no place.
	retryAfter = 30 * time.Second
)

// apiEvents tells a page what changes: the overview, and the region that it shows.
func (h *handler) apiEvents(w http.ResponseWriter, r *request) error {
	sources, err := h.watched(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventStream)
		return nil
	}
	v := h.watcher.join(sources...)
	if v == nil {
		return &statusError{http.StatusServiceUnavailable, fmt.Sprintf("%d viewers listen already; ask again later", maxViewers)}
	}
	defer v.leave()
	s := &stream{handler: h, request: r, viewer: v, w: w, control: http.NewResponseController(w)}
	if !s.open() {
		// Nothing was written yet: the page is told to ask instead.
		refuse(w, http.StatusNotImplemented, "this server cannot stream: ask for the JSON instead")
		return nil
	}
	s.serve()
	return nil
}

// watched are the sources of what the query asks for: the overview, and a region that it may name.
func (h *handler) watched(r *request) ([]source, error) {
	sources := []source{h.overviewSource()}
	if watch := r.query("watch"); watch != "" {
		s, err := h.regionSource(r, watch)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

const eventStream = "text/event-stream"

// eventNames name the events of a viewer's regions, in their order.
var eventNames = []string{"overview", "region"}

// stream is one open connection to a viewer.
type stream struct {
	*handler
	request *request
	viewer  *viewer
	w       http.ResponseWriter
	control *http.ResponseController

	authorized time.Time
	sent       [2]string // the ids of the states that the viewer has
}

// open begins the answer, or reports that the writer cannot send it piece by piece.
func (s *stream) open() bool {
	header := s.w.Header()
	header.Set("Content-Type", eventStream)
	header.Set("X-Accel-Buffering", "no")
	// Limits of the server for whole requests would end the stream. A writer without deadlines has none to lift.
	_ = s.control.SetReadDeadline(time.Time{})
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime))
	if err := s.control.Flush(); errors.Is(err, errors.ErrUnsupported) {
		header.Del("X-Accel-Buffering")
		return false
	}
	s.authorized = time.Now()
	// A browser that comes back says what it has.
	if a, b, ok := strings.Cut(s.request.Header.Get("Last-Event-ID"), "-"); ok {
		s.sent = [2]string{a, b}
	}
	return true
}

// serve sends what changes until the viewer leaves, does not read, or is not allowed to look any more.
func (s *stream) serve() {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	check := time.NewTicker(authorizeEvery)
	defer check.Stop()
	text := fmt.Sprintf("retry: %d\n\n", reconnectAfter.Milliseconds())
	for {
		states := s.viewer.latest()
		text += s.events(states)
		if text != "" && (!s.allowed() || !s.write(text)) {
			return
		}
		text = ""
		select {
		case <-states[0].changed:
		case <-states[len(states)-1].changed:
		case <-beat.C:
			text = ":\n\n"
		case <-check.C:
			if !s.allowed() {
				return
			}
		case <-s.request.Context().Done():
			return
		}
	}
}

// allowed asks Authorize again when that is due.
func (s *stream) allowed() bool {
	if time.Since(s.authorized) < authorizeEvery {
		return true
	}
	s.authorized = time.Now()
	return s.access(s.request.Request) != Denied
}

// events are the states that the viewer does not have. What changed several times while it read is told once.
func (s *stream) events(states []state) string {
	var text strings.Builder
	for i, st := range states {
		if st.version == 0 || s.sent[i] == st.id {
			continue
		}
		s.sent[i] = st.id
		fmt.Fprintf(&text, "event: %s\nid: %s-%s\ndata: %s\n\n", eventNames[i], s.sent[0], s.sent[1], st.data)
	}
	return text.String()
}

func (s *stream) write(text string) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	if err := s.control.Flush(); err != nil {
		return false
	}
	_ = s.control.SetWriteDeadline(time.Time{})
	return true
}
