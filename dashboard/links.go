package dashboard

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/kilnjobs/kiln/driver"
)

// links makes addresses below the prefix.
type links struct{ prefix string }

// to is the address of a path that is escaped already, with its query.
func (l links) to(path string) string { return l.prefix + path }

// path is the address of some segments, each of them escaped.
func (l links) path(segments ...any) string {
	address := l.prefix
	for _, segment := range segments {
		address += "/" + url.PathEscape(fmt.Sprint(segment))
	}
	if len(segments) == 0 {
		address += "/"
	}
	return address
}

// asset is the address of an embedded file.
func (l links) asset(name string) string { return l.path("assets", assets[name].served) }

// list is the address of the list of jobs that a query describes.
func (l links) list(q listQuery) string {
	path := "/jobs/" + string(q.State)
	if q.Retries {
		path = "/retries"
	}
	return l.to(withQuery(path, q.values()))
}

// values are the parameters of the query's address. The state stands in its path.
func (q listQuery) values() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{"queue": q.Queue, "kind": q.Kind, "tag": q.Tag, "cursor": q.Cursor} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Batch != 0 {
		values.Set("batch", strconv.FormatInt(q.Batch, 10))
	}
	if q.Limit != 0 && q.Limit != defaultLimit {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	return values
}

// listOf is a list of one state with one filter, for links from elsewhere.
func listOf(state driver.State, filter, value string) listQuery {
	q := listQuery{State: state}
	switch filter {
	case "queue":
		q.Queue = value
	case "kind":
		q.Kind = value
	case "tag":
		q.Tag = value
	case "batch":
		q.Batch, _ = strconv.ParseInt(value, 10, 64)
	}
	return q
}
