package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kilnjobs/kiln/driver"
)

// maxIDs is the most jobs that a bulk action may name.
const maxIDs = 1000

// selection is which jobs a bulk action is for, and the page that asked.
type selection struct {
	filter driver.Filter
	// back is "retries" for the page of retries.
	back string
	// none says that nothing was selected.
	none bool
}

// bulk does something to many jobs. It does so to exactly those that the request describes: a part of the description that it does
// not understand is an error.
func (h *handler) bulk(w http.ResponseWriter, r *request) error {
	op, ok := jobOps[r.param("op")]
	if !ok {
		return unknownOp(r)
	}
	read := readForm
	if r.api {
		read = readBody
	}
	s, err := read(r)
	if err != nil {
		return err
	}
	n := 0
	if !s.none {
		n, err = op.apply(h, h.acting(r), s.filter)
		h.changed()
	}
	if err != nil {
		return err
	}
	if r.api {
		return sendJSON(w, r, http.StatusOK, countView{n})
	}
	page, query := s.page()
	h.redirectDone(w, r, page, query, op.done, int64(n))
	return nil
}

// readBody reads the selection of an API call.
func readBody(r *request) (selection, error) {
	var body struct {
		IDs   []int64      `json:"ids"`
		State driver.State `json:"state"`
		Queue string       `json:"queue"`
		Kind  string       `json:"kind"`
		Batch int64        `json:"batch"`
		Tag   string       `json:"tag"`
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		return selection{}, bodyError(err)
	}
	if _, err := decoder.Token(); err == nil {
		return selection{}, bodyError(errors.New("there is something behind the object"))
	} else if !errors.Is(err, io.EOF) {
		return selection{}, bodyError(err)
	}
	f := driver.Filter{IDs: body.IDs, State: body.State, Queue: body.Queue, Kind: body.Kind, BatchID: body.Batch, Tag: body.Tag}
	if len(f.IDs) == 0 && f.State == "" {
		return selection{}, fmt.Errorf("%w: the body names neither ids nor a state", driver.ErrInvalid)
	}
	return selection{filter: f}, checkSelection(&f)
}

// bodyError keeps the error of a body that is too long.
func bodyError(err error) error {
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return &statusError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", tooLong.Limit)}
	}
	return fmt.Errorf("%w: the body cannot be read: %v", driver.ErrInvalid, err)
}

// checkSelection checks what driver.CheckFilter does not.
func checkSelection(f *driver.Filter) error {
	if len(f.IDs) > maxIDs {
		return fmt.Errorf("%w: ids has %d ids, more than %d", driver.ErrInvalid, len(f.IDs), maxIDs)
	}
	for i, id := range f.IDs {
		if id < 1 {
			return fmt.Errorf("%w: ids[%d] is %d, below 1", driver.ErrInvalid, i, id)
		}
	}
	if f.BatchID < 0 {
		return fmt.Errorf("%w: batch is %d, below 1", driver.ErrInvalid, f.BatchID)
	}
	for _, text := range []struct{ name, value string }{{"queue", f.Queue}, {"kind", f.Kind}, {"tag", f.Tag}} {
		if err := checkText(text.name, text.value); err != nil {
			return err
		}
	}
	return driver.CheckFilter(*f)
}

// readForm reads the selection of a page: ids, or all=1 with the state and every filter of a list. Fields that are empty count as
// not given.
func readForm(r *request) (selection, error) {
	fields, err := postedFields(r)
	if err != nil {
		return selection{}, err
	}
	var s selection
	var all bool
	for name, values := range fields {
		switch name {
		case "id":
			s.filter.IDs, err = parseIDs(values)
		case "all":
			all, err = parseAll(values)
		default:
			err = s.set(name, values)
		}
		if err != nil {
			return selection{}, err
		}
	}
	switch {
	case all && s.back != "":
		// No filter says "only those that have run", and all scheduled jobs are others than those that the page shows.
		return selection{}, fmt.Errorf("%w: all=1 does not go with back=%s, select the jobs", driver.ErrInvalid, s.back)
	case all && s.filter.State == "":
		return selection{}, fmt.Errorf("%w: all=1 needs a state", driver.ErrInvalid)
	case all:
		s.filter.IDs = nil
	case len(s.filter.IDs) == 0:
		s.none = true
	}
	if s.none && s.filter.State == "" {
		return s, nil
	}
	return s, checkSelection(&s.filter)
}

// postedFields reads the fields of a form that are not empty.
func postedFields(r *request) (url.Values, error) {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if kind, _, err := mime.ParseMediaType(kind); err != nil || kind != "application/x-www-form-urlencoded" {
			return nil, &statusError{http.StatusUnsupportedMediaType, "unsupported media type: Content-Type must be application/x-www-form-urlencoded"}
		}
	}
	if err := r.ParseForm(); err != nil {
		return nil, bodyError(err)
	}
	fields := make(url.Values)
	for name, values := range r.Form {
		for _, value := range values {
			if value != "" {
				fields[name] = append(fields[name], value)
			}
		}
	}
	return fields, nil
}

func parseIDs(values []string) ([]int64, error) {
	ids := make([]int64, len(values))
	for i, value := range values {
		id, ok := number(value)
		if !ok {
			return nil, fmt.Errorf("%w: id %.60q is no positive number", driver.ErrInvalid, value)
		}
		ids[i] = id
	}
	return ids, nil
}

func parseAll(values []string) (bool, error) {
	if len(values) != 1 || values[0] != "1" {
		return false, fmt.Errorf("%w: all is %.60q, not 1", driver.ErrInvalid, values)
	}
	return true, nil
}

// set takes a field that may stand there once.
func (s *selection) set(name string, values []string) error {
	if len(values) > 1 {
		return fmt.Errorf("%w: %.60q is given %d times", driver.ErrInvalid, name, len(values))
	}
	value := values[0]
	switch name {
	case "state":
		s.filter.State = driver.State(value)
	case "queue":
		s.filter.Queue = value
	case "kind":
		s.filter.Kind = value
	case "tag":
		s.filter.Tag = value
	case "batch":
		id, ok := number(value)
		if !ok {
			return fmt.Errorf("%w: batch %.60q is no positive number", driver.ErrInvalid, value)
		}
		s.filter.BatchID = id
	case "back":
		if value != "retries" {
			return fmt.Errorf("%w: back is %.60q, not retries", driver.ErrInvalid, value)
		}
		s.back = value
	default:
		return fmt.Errorf("%w: jobs cannot be selected by %.60q", driver.ErrInvalid, name)
	}
	return nil
}

// page is where the form was, with its filters.
func (s *selection) page() (string, url.Values) {
	query := make(url.Values)
	for name, value := range map[string]string{"queue": s.filter.Queue, "kind": s.filter.Kind, "tag": s.filter.Tag} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if s.filter.BatchID != 0 {
		query.Set("batch", strconv.FormatInt(s.filter.BatchID, 10))
	}
	switch {
	case s.back != "":
		return "/" + s.back, query
	case s.filter.State != "":
		return "/jobs/" + string(s.filter.State), query
	}
	return "/jobs/" + string(driver.Enqueued), query
}
