package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

func TestJobActions(t *testing.T) {
	g := newAPIRig(t, nil, func(o *Options) { o.Actor = func(r *http.Request) string { return r.Header.Get("X-User") } })
	ann := func(r *http.Request) { r.Header.Set("X-User", "ann") }
	id := g.failed(driver.InsertParams{})
	answer := func(target, want string) {
		t.Helper()
		if got := strings.TrimSpace(g.want(http.StatusOK, http.MethodPost, target, "{}", ann).Body.String()); got != want {
			t.Errorf("POST %s answers %s, want %s", target, got, want)
		}
	}
	answer(fmt.Sprintf("/api/jobs/%d/requeue", id), `{"count":1}`)
	answer(fmt.Sprintf("/api/jobs/%d/requeue", id), `{"count":0}`)
	answer(fmt.Sprintf("/api/jobs/%d/delete", id), `{"count":1}`)
	answer("/api/jobs/999/delete", `{"count":0}`)
	r, err := g.mem.Job(context.Background(), id)
	g.must(err)
	var actors []string
	for _, e := range r.History {
		actors = append(actors, e.Reason+" by "+e.Actor)
	}
	if got := strings.Join(actors, ", "); got != "exhausted by , requeued by ann, deleted by ann" {
		t.Errorf("the history says %s", got)
	}
	if where := g.want(http.StatusSeeOther, http.MethodPost, fmt.Sprintf("/jobs/%d/delete", id), "", ann).Header().Get("Location"); where != fmt.Sprintf("/jobs/%d?done=deleted&n=0", id) {
		t.Errorf("the form leads to %s", where)
	}
}

func TestQueueActions(t *testing.T) {
	g := newAPIRig(t, nil)
	paused := func() bool {
		queues, err := g.mem.Queues(context.Background())
		g.must(err)
		return len(queues) == 1 && queues[0].Paused
	}
	for _, c := range []struct {
		op, done string
		paused   bool
	}{{"pause", "queue-paused", true}, {"resume", "queue-resumed", false}} {
		w := g.want(http.StatusNoContent, http.MethodPost, "/api/queues/mail/"+c.op, "")
		if w.Body.Len() != 0 || paused() != c.paused {
			t.Errorf("%s: %q, paused %v", c.op, w.Body, paused())
		}
		where := g.want(http.StatusSeeOther, http.MethodPost, "/queues/mail/"+c.op, "").Header().Get("Location")
		if where != "/queues?done="+c.done+"&n=1" || paused() != c.paused {
			t.Errorf("%s leads to %s, paused %v", c.op, where, paused())
		}
	}
}

func TestRecurringActions(t *testing.T) {
	g := newAPIRig(t, nil)
	ctx := context.Background()
	g.must(g.mem.PutRecurring(ctx, driver.Recurring{
		ID: "daily", Spec: "@hourly", Location: "UTC", NextRunAt: apiNoon.Add(time.Minute), Overlap: true,
		Template: driver.InsertParams{Kind: "report", Queue: "default", MaxAttempts: 1, Args: []byte(`{}`)},
	}))
	if got := strings.TrimSpace(g.want(http.StatusOK, http.MethodPost, "/api/recurring/daily/trigger", "").Body.String()); got != `{"id":1}` {
		t.Errorf("trigger answers %s", got)
	}
	for _, c := range []struct{ op, where string }{
		{"trigger", "/recurring?done=triggered&n=2"}, {"pause", "/recurring?done=recurring-paused&n=1"},
		{"resume", "/recurring?done=recurring-resumed&n=1"}, {"remove", "/recurring?done=recurring-removed&n=1"},
	} {
		if where := g.want(http.StatusSeeOther, http.MethodPost, "/recurring/daily/"+c.op, "").Header().Get("Location"); where != c.where {
			t.Errorf("%s leads to %s, want %s", c.op, where, c.where)
		}
		r, err := g.mem.Recurring(ctx, "daily")
		if gone := errors.Is(err, driver.ErrNotFound); gone != (c.op == "remove") || r.Paused != (c.op == "pause") {
			t.Errorf("after %s: paused %v, %v", c.op, r.Paused, err)
		}
	}
	if g.state(1) != driver.Enqueued || g.state(2) != driver.Enqueued {
		t.Error("the triggered jobs are not enqueued")
	}
	for _, op := range []string{"trigger", "pause", "resume", "remove"} {
		g.wantError(http.StatusNotFound, "not found", http.MethodPost, "/api/recurring/daily/"+op, "")
	}
}

// conflictStore has every change of a recurring job lost to somebody else's.
type conflictStore struct{ driver.Store }

func (conflictStore) PutRecurring(context.Context, driver.Recurring) error {
	return fmt.Errorf("%w: version", driver.ErrConflict)
}

func TestConflict(t *testing.T) {
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store { return conflictStore{mem} })
	g.must(g.mem.PutRecurring(context.Background(), driver.Recurring{ID: "daily", Spec: "@hourly", Location: "UTC"}))
	g.wantError(http.StatusConflict, "conflict", http.MethodPost, "/api/recurring/daily/pause", "")
}
