package memstore

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestPruneAfterAClockJump pins that servers are not forgotten because the clock jumped: their jobs would be orphans at once.
func TestPruneAfterAClockJump(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := New(Clock(func() time.Time { return now }))
	defer s.Close()
	ctx := t.Context()
	beat := func(id string) {
		t.Helper()
		if _, err := s.Heartbeat(ctx, driver.ServerInfo{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	pruned := func() int {
		t.Helper()
		n, err := s.Prune(ctx, driver.PruneParams{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	lead := func() {
		t.Helper()
		if _, ok, err := s.Lead(ctx, "kiln.leader", "a", 15*time.Second); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	beat("a")
	beat("b")
	lead()
	now = now.Add(2 * time.Hour)
	if n := pruned(); n != 0 {
		t.Errorf("%d servers forgotten right after the clock jumped", n)
	}
	lead()
	if n := pruned(); n != 0 {
		t.Errorf("%d servers forgotten by a leader that has just begun anew", n)
	}
	for range 7 {
		now = now.Add(10 * time.Second)
		lead()
	}
	beat("a")
	if n := pruned(); n != 1 {
		t.Errorf("%d servers forgotten a minute later, want the one that stayed silent", n)
	}
}
