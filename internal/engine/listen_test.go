package engine

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestDeafServerLooksByItself pins that a server whose store hears nothing of other processes looks at once, and then as often as
// without a store that notifies, until it hears again.
func TestDeafServerLooksByItself(t *testing.T) {
	r := newRig(t, nil)
	r.Hear(driver.Event{Kind: driver.Resync})
	lane := r.pools[0].lanes[0]
	// idle turns the lane for a while in which there is nothing, and returns its longest wait.
	idle := func() (longest time.Duration) {
		t.Helper()
		for end := r.now.Add(10 * time.Second); r.now.Before(end); {
			wait := r.turn(lane)
			longest = max(longest, wait)
			r.now = r.now.Add(max(wait, time.Millisecond))
			r.beatAt = r.now
		}
		return longest
	}
	if wait := idle(); wait <= r.cfg.PollInterval || !r.Stats().Listening {
		t.Errorf("while it listens it waits %s at most, Listening is %t", wait, r.Stats().Listening)
	}
	claims := r.fault.Calls("Claim")
	r.Hear(driver.Event{Kind: driver.Deaf})
	r.now = r.now.Add(r.cfg.FetchCooldown)
	r.turn(lane)
	if r.fault.Calls("Claim") != claims+1 || r.Stats().Listening {
		t.Errorf("deaf it makes %d claims at once, Listening is %t", r.fault.Calls("Claim")-claims, r.Stats().Listening)
	}
	if wait := idle(); wait > r.cfg.PollInterval {
		t.Errorf("deaf it waits %s, a poll takes %s", wait, r.cfg.PollInterval)
	}
	r.Hear(driver.Event{Kind: driver.Resync})
	if !r.Stats().Listening {
		t.Error("after a Resync it does not listen")
	}
}
