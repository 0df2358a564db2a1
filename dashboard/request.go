package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kilnjobs/kiln/driver"
)

// request is a request to the dashboard.
type request struct {
	*http.Request
	// path is what is asked for, below the prefix. It is clean and begins with a slash.
	path string
	// segments are the parts of the path, decoded one by one, so that a name may hold a slash.
	segments []string
	access   Access
	// api says that the answer is JSON.
	api    bool
	params map[string]string
	values url.Values
}

// param returns what stands in the path for a {name} of its route.
func (r *request) param(name string) string { return r.params[name] }

// query returns a parameter of the query, the empty string when it is not given.
func (r *request) query(name string) string { return r.values.Get(name) }

// newRequest reads the path, and reports whether it is clean.
func (h *handler) newRequest(r *http.Request, access Access) (req *request, clean bool) {
	req = &request{Request: r, access: access, path: "/"}
	whole, escaped := rooted(r.URL.Path), rooted(r.URL.EscapedPath())
	if whole != path.Clean(whole) && whole != h.options.Prefix+"/" {
		// Below the prefix the root alone ends with a slash.
		return req, false
	}
	segments, ok := split(escaped)
	if !ok {
		return req, false
	}
	req.segments = h.below(segments)
	req.path = "/" + strings.Join(req.segments, "/")
	req.api = len(req.segments) > 0 && req.segments[0] == "api"
	return req, true
}

// rooted adds the slash that http.StripPrefix takes away with a prefix that ends in one.
func rooted(p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return "/" + p
}

// split decodes the segments of a path. None may be empty or lead to another folder.
func split(escaped string) (segments []string, ok bool) {
	if escaped = strings.TrimSuffix(escaped[1:], "/"); escaped == "" {
		return nil, true
	}
	for part := range strings.SplitSeq(escaped, "/") {
		segment, err := url.PathUnescape(part)
		if err != nil || segment == "" || segment == "." || segment == ".." {
			return nil, false
		}
		segments = append(segments, segment)
	}
	return segments, true
}

// below takes the prefix off, unless somebody has done that.
func (h *handler) below(segments []string) []string {
	if h.options.Prefix == "" {
		return segments
	}
	prefix := strings.Split(h.options.Prefix[1:], "/")
	if len(segments) < len(prefix) {
		return segments
	}
	for i, part := range prefix {
		if segments[i] != part {
			return segments
		}
	}
	return segments[len(prefix):]
}

// readQuery reads the query's parameters. Half of a query would be another one, so a broken one is refused.
func (r *request) readQuery() error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fmt.Errorf("%w: the query %.60q cannot be read", driver.ErrInvalid, r.URL.RawQuery)
	}
	r.values = values
	for name, list := range values {
		for _, value := range list {
			if err := checkText(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkText refuses what no store keeps.
func checkText(name, value string) error {
	if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
		return fmt.Errorf("%w: %.60q is %.60q, which is no text", driver.ErrInvalid, name, value)
	}
	return nil
}

// number reads an id: positive, in decimal, written in the one way that there is.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}

// id reads the id in the path. One that is none is that of nothing.
func (r *request) id() (int64, error) {
	n, ok := number(r.param("id"))
	if !ok {
		return 0, fmt.Errorf("%w: %.60q is no positive number", driver.ErrNotFound, r.param("id"))
	}
	return n, nil
}

// The size of a page: what a query may ask for, and what it gets when it does not say.
const (
	maxLimit     = 500
	defaultLimit = 50
)

// limit reads the size of a page.
func (r *request) limit() (int, error) {
	s := r.query("limit")
	if s == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxLimit {
		return 0, fmt.Errorf("%w: limit %.60q is no number from 1 to %d", driver.ErrInvalid, s, maxLimit)
	}
	return n, nil
}

// positive reads an id in the query, 0 when it is not given.
func (r *request) positive(name string) (int64, error) {
	s := r.query(name)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%w: %s %.60q is no positive number", driver.ErrInvalid, name, s)
	}
	return n, nil
}
