package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// TestPagesWatchWhatTheyShow pins that a page listens to the rows that it has, and no others: those it would announce as new.
func TestPagesWatchWhatTheyShow(t *testing.T) {
	g := newAPIRig(t, nil, func(o *Options) { o.Prefix = "/kiln" })
	client := kiln.NewClient(g.mem)
	for i := range recurringShown {
		g.must(client.SetRecurring(t.Context(), fmt.Sprint("job-", i), "0 3 * * *", jobArgs{}))
	}
	g.insert(driver.InsertParams{LimitKey: "key", LimitMax: 1})
	_, err := client.OpenBatch(t.Context(), &kiln.Batch{})
	g.must(err)
	check := func(path, want string) {
		t.Helper()
		body := g.want(http.StatusOK, http.MethodGet, "/kiln"+path, "").Body.String()
		if got := regexp.MustCompile(`data-watch="([^"]*)"`).FindStringSubmatch(body)[1]; got != want {
			t.Errorf("%s watches %q, want %q", path, got, want)
		}
		if want != "" {
			g.want(http.StatusOK, http.MethodHead, "/kiln/api/events?watch="+want, "")
		}
	}
	check("/recurring", "recurring")
	check("/limits", "limits")
	check("/limits?limit=10&done=requeued&n=1", "limits?limit=10")
	check("/limits?after=a", "")
	check("/batches", "batches")
	check("/batches?limit=10", "batches?limit=10")
	check("/batches?parent=1", "batches?parent=1")
	check("/jobs/failed?limit=10", "jobs/failed?limit=10")
	check("/jobs/failed?limit=50", "jobs/failed")
	g.must(client.SetRecurring(t.Context(), "one-more", "0 3 * * *", jobArgs{}))
	check("/recurring", "")
	check("/recurring?from=40", "")
	check("/recurring?from=9223372036854775807", "")
}
