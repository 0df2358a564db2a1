package dashboard

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// historyStore tells what a store may know of histories beyond its records.
type historyStore struct {
	driver.Store
	driver.HistoryReader
}

func TestHistory(t *testing.T) {
	g := newAPIRig(t, func(m *memstore.Store) driver.Store { return historyStore{m, m} }, func(o *Options) {
		o.Redact = func(_ string, part Part, v []byte) []byte {
			if part == PartError {
				return bytes.ReplaceAll(v, []byte("4111"), []byte("****"))
			}
			return v
		}
	})
	g.insert(driver.InsertParams{Kind: "charge"})
	job := g.run("default")
	g.clock.move(3 * time.Second)
	g.end(job, driver.Outcome{State: driver.Failed, Reason: "permanent", Error: "card 4111 refused"})
	var list jobsView
	g.get("/api/jobs/failed", &list)
	if len(list.Jobs) != 1 || list.Jobs[0].Error != "card **** refused" {
		t.Errorf("the list says %+v", list.Jobs)
	}
	var one jobView
	g.get("/api/jobs/1", &one)
	if len(one.History) != 1 || one.History[0].At.Sub(one.History[0].StartedAt) != 3*time.Second {
		t.Errorf("the history is %+v", one.History)
	}
	if page := g.want(200, "GET", "/jobs/failed", "").Body.String(); !strings.Contains(page, "card **** refused") || strings.Contains(page, "4111") {
		t.Errorf("the page shows %s", page)
	}
}

// muteHistory fails where a page can do without.
type muteHistory struct{ driver.Store }

func (muteHistory) Runs(context.Context, int64) ([]driver.Run, error) { return nil, errors.New("mute") }
func (muteHistory) LastErrors(context.Context, []int64) (map[int64]string, error) {
	return nil, errors.New("mute")
}

func TestPagesGoOnWithoutHistory(t *testing.T) {
	g := newAPIRig(t, func(m *memstore.Store) driver.Store { return muteHistory{m} })
	id := g.failed(driver.InsertParams{Kind: "charge"})
	var list jobsView
	g.get("/api/jobs/failed", &list)
	if len(list.Jobs) != 1 || list.Jobs[0].ID != id {
		t.Errorf("the list says %+v", list.Jobs)
	}
	g.want(200, "GET", "/jobs/1", "")
}
