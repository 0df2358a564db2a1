package dashboard

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxBody is the most bytes that a request may bring.
const maxBody = 1 << 20

// access asks Authorize. A panic, and a value that is none of the three, is denied.
func (h *handler) access(r *http.Request) (access Access) {
	defer func() {
		if recover() != nil {
			access = Denied
		}
	}()
	access = h.options.Authorize(r)
	if access != ReadOnly && access != ReadWrite {
		return Denied
	}
	return access
}

// safe says that a request changes nothing.
func safe(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// guardWrite refuses requests that may change something and must not: it returns the status to refuse with, and why.
func (h *handler) guardWrite(r *request) (status int, reason string) {
	switch {
	case r.access != ReadWrite:
		return http.StatusForbidden, "forbidden: this access is read-only"
	case !h.sameOrigin(r.Request):
		return http.StatusForbidden, "forbidden: the request comes from another site"
	case r.api && !jsonBody(r.Header):
		return http.StatusUnsupportedMediaType, "unsupported media type: Content-Type must be application/json"
	}
	return 0, ""
}

// sameOrigin says that a request was made by a page of this site, or by no browser.
func (h *handler) sameOrigin(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "" && site != "same-origin" && site != "none" {
			return false
		}
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return h.origins.Check(r) == nil
	}
	if len(origins) > 1 {
		return false
	}
	if slices.Contains(h.options.TrustedOrigins, strings.ToLower(origins[0])) {
		return true
	}
	return sameHost(origins[0], r.Host) && h.origins.Check(r) == nil
}

// sameHost says that an origin has the host and the port of a Host header. A port that one of them leaves out is the scheme's.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Path != "" {
		return false
	}
	asked := url.URL{Scheme: u.Scheme, Host: host}
	return strings.EqualFold(u.Hostname(), asked.Hostname()) && port(u) == port(&asked)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func jsonBody(header http.Header) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
