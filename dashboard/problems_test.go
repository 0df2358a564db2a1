package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// cannedProblems has one of each kind, and what must not be told twice.
func cannedProblems() driver.Problems {
	ago := func(d time.Duration) time.Time { return apiNoon.Add(-d) }
	return driver.Problems{
		At:        apiNoon,
		Unserved:  []driver.ReadyQueue{{Queue: "lost", Since: ago(time.Hour), Job: 21, Ready: 100_000, Capped: true}},
		Unhandled: []driver.ReadyKind{{Queue: "mixed", Kind: "old", Since: ago(30 * time.Minute), Job: 22, Ready: 7, Capped: true}},
		Oldest: []driver.ReadyQueue{
			{Queue: "lost", Since: ago(time.Hour), Job: 21, Ready: 100_000, Capped: true},
			{Queue: "mixed", Since: ago(30 * time.Minute), Job: 22, Ready: 8},
			{Queue: "busy", Since: ago(61 * time.Second), Job: 23, Ready: 500},
			{Queue: "quick", Since: ago(time.Minute), Job: 24, Ready: 1},
		},
		Held: []driver.HeldKey{
			{LimitInfo: driver.LimitInfo{Key: "many", Max: 1, Active: 1, Throttled: 10}},
			{LimitInfo: driver.LimitInfo{Key: "long", Max: 1, Active: 1, Throttled: 1}, Since: ago(5*time.Minute + time.Second)},
			{LimitInfo: driver.LimitInfo{Key: "fine", Max: 1, Active: 1, Throttled: 9}, Since: ago(5 * time.Minute)},
			{LimitInfo: driver.LimitInfo{Key: "new", Max: 1, Active: 1, Throttled: 9}},
		},
		Recurring: []driver.RecurringProblem{
			{ID: "late", Late: true, NextRunAt: ago(2 * time.Minute), LastJobID: 25},
			{ID: "broken", LastJobID: 26, FailedAt: ago(3 * time.Hour)},
			{ID: "shared", LastJobID: 27, FailedAt: ago(4 * time.Hour)},
		},
		Failures: []driver.KindFailures{
			{Kind: "mail", Failed: 10_000, Capped: true, LastHour: 9, HourBefore: 3, First: ago(9 * time.Hour), Last: ago(time.Minute), Newest: 28, Error: "no route"},
			{Kind: "nightly", Failed: 1, First: ago(3 * time.Hour), Last: ago(3 * time.Hour), Newest: 26, Error: "disk full"},
			{Kind: "report", Failed: 2, First: ago(6 * time.Hour), Last: ago(4 * time.Hour), Newest: 27, Error: "late data"},
		},
		Silent: []driver.ServerInfo{{ID: "s9", HeartbeatAt: ago(10 * time.Minute), Running: 4}},
		Paused: []driver.PausedQueue{{Queue: "held", Since: ago(26 * time.Hour), Ready: 12}},
	}
}

// rows says what a list of problems holds, shortened.
func rows(v problemsView) []string {
	list := []string{}
	for _, p := range v.Problems {
		list = append(list, p.Kind+" "+p.Name)
	}
	return list
}

func wantRows(t *testing.T, v problemsView, want ...string) {
	t.Helper()
	if got := rows(v); !reflect.DeepEqual(got, append([]string{}, want...)) {
		t.Errorf("the problems are %q, want %q", got, want)
	}
}

func TestProblemsTellEachCauseOnce(t *testing.T) {
	g := newGoldenRig(t)
	var v problemsView
	g.get("/kiln/api/problems", &v)
	wantRows(t, v,
		"queue_unserved lost", "kind_unhandled old", "failures mail", "failures report", "recurring_late late",
		"recurring_failed broken", "recurring_failed shared", "queue_waits busy", "limit_held many", "limit_held long", "server_silent s9", "queue_paused held")
	if len(v.Missing) != 0 || v.Missing == nil {
		t.Errorf("missing is %v, want []", v.Missing)
	}
	for _, p := range v.Problems {
		switch p.Name {
		case "broken":
			if p.Error != "disk full" {
				t.Errorf("the row of the recurring job lost the error of the row that it stands for: %+v", p)
			}
		case "many":
			if !p.FirstSeen || !p.Since.Equal(apiNoon) {
				t.Errorf("the store does not know since when: %+v", p)
			}
		case "long":
			if p.FirstSeen {
				t.Errorf("the store knows since when: %+v", p)
			}
		}
	}
}

// A store without the optional interface tells what its lists do, and names the rest.
func TestProblemsFromLists(t *testing.T) {
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store { return bareStore{mem} })
	ctx := context.Background()
	g.insert(driver.InsertParams{Queue: "lost"}, driver.InsertParams{Queue: "slow"}, driver.InsertParams{Queue: "held"})
	g.must(g.mem.PauseQueue(ctx, "held", true))
	failed := g.failed(driver.InsertParams{Queue: "done"})
	beat := func(id string, queues ...string) {
		_, err := g.mem.Heartbeat(ctx, driver.ServerInfo{ID: id, Queues: queues})
		g.must(err)
	}
	beat("quiet", "lost")
	recurring := func(id string, next time.Duration, last int64, paused bool) {
		g.must(g.mem.PutRecurring(ctx, driver.Recurring{
			ID: id, Spec: "@hourly", Location: "UTC", Template: driver.InsertParams{Kind: "mail", Queue: "q"},
			NextRunAt: apiNoon.Add(next), LastJobID: last, Paused: paused,
		}))
	}
	recurring("late", -time.Minute, 0, false)
	recurring("paused", -time.Hour, 0, true)
	recurring("soon", 61*time.Second, failed, false)
	g.clock.move(time.Minute + time.Second)
	beat("live", "slow", "held")
	g.insert(driver.InsertParams{Queue: "fresh"})
	beat("live", "slow", "held", "fresh")

	var v problemsView
	g.get("/api/problems", &v)
	wantRows(t, v, "queue_unserved lost", "recurring_late late", "recurring_failed soon", "queue_waits slow", "server_silent quiet", "queue_paused held")
	if want := []string{problemUnhandled, problemFailures, problemHeld}; !reflect.DeepEqual(v.Missing, want) {
		t.Errorf("missing is %q, want %q", v.Missing, want)
	}
	if p := v.Problems[0]; !p.Since.Equal(apiNoon) || p.Count != 1 {
		t.Errorf("the queue that nobody serves: %+v", p)
	}
}

// Nothing is wrong with an empty store, on both ways.
func TestNoProblems(t *testing.T) {
	for name, wrap := range map[string]func(*memstore.Store) driver.Store{
		"lists":  func(mem *memstore.Store) driver.Store { return bareStore{mem} },
		"reader": func(mem *memstore.Store) driver.Store { return &goldenStore{fullStore: fullStore{mem, mem, mem}} },
	} {
		t.Run(name, func(t *testing.T) {
			g := newAPIRig(t, wrap)
			if body := g.want(http.StatusOK, http.MethodGet, "/api/problems", "").Body.String(); !strings.Contains(body, `"problems":[],"missing":[`) {
				t.Errorf("got %s", body)
			}
		})
	}
}

// failingReader is a store whose Problems fails.
type failingReader struct {
	driver.Store
	err error
}

func (s failingReader) Problems(context.Context, int) (driver.Problems, error) {
	return driver.Problems{}, s.err
}

func TestProblemsOfAReaderThatFails(t *testing.T) {
	g := newAPIRig(t, func(mem *memstore.Store) driver.Store {
		return failingReader{mem, fmt.Errorf("not here: %w", errors.ErrUnsupported)}
	})
	var v problemsView
	if g.get("/api/problems", &v); len(v.Missing) != 3 {
		t.Errorf("a store that cannot tell after all misses %q", v.Missing)
	}
	g = newAPIRig(t, func(mem *memstore.Store) driver.Store { return failingReader{mem, errors.New("select 1 failed")} })
	g.wantError(http.StatusInternalServerError, "internal error", http.MethodGet, "/api/problems", "")
}

// A time that the store does not know is that of the first sight, until the problem is gone.
func TestFirstSeen(t *testing.T) {
	seen := newFirstSeen()
	at := func(now time.Time, problems ...problemView) problemView {
		seen.note(now, problems)
		if len(problems) == 0 {
			return problemView{}
		}
		return problems[0]
	}
	held := problemView{Kind: problemHeld, Name: "stripe", Count: 10}
	first := at(apiNoon, held)
	if !first.Since.Equal(apiNoon) || !first.FirstSeen {
		t.Errorf("at first sight: %+v", first)
	}
	held.Count = 20
	if again := at(apiNoon.Add(time.Minute), held); !again.Since.Equal(apiNoon) {
		t.Errorf("a minute later: %+v", again)
	}
	other := problemView{Kind: problemHeld, Name: "twilio"}
	if p := at(apiNoon.Add(2*time.Minute), other, held); !p.Since.Equal(apiNoon.Add(2 * time.Minute)) {
		t.Errorf("another key: %+v", p)
	}
	at(apiNoon.Add(3 * time.Minute))
	if back := at(apiNoon.Add(4*time.Minute), held); !back.Since.Equal(apiNoon.Add(4 * time.Minute)) {
		t.Errorf("after it was gone: %+v", back)
	}
	known := problemView{Kind: problemHeld, Name: "known", Since: apiNoon}
	if p := at(apiNoon.Add(time.Hour), known); p.FirstSeen || !p.Since.Equal(apiNoon) {
		t.Errorf("the store knows: %+v", p)
	}
}
