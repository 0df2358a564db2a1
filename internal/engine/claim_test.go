package engine

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestLanesShareThePolls pins that a pool with several claims in flight does not multiply what an idle server asks for.
func TestLanesShareThePolls(t *testing.T) {
	for _, listening := range []bool{true, false} {
		r := newRig(t, func(r *rig, c *Config) { c.Store = tuned{r.fault, driver.Tuning{ClaimLanes: 4}} })
		r.listening = listening
		loops := []Loop{r.promoter}
		for _, l := range r.pools[0].lanes {
			loops = append(loops, l)
		}
		due := make([]time.Time, len(loops))
		calls := 0
		begin := r.now
		for r.now.Sub(begin) < 10*time.Minute {
			if r.now.Sub(begin) == time.Minute {
				calls = -r.fault.Calls("Claim") - r.fault.Calls("Promote")
			}
			for i, l := range loops {
				for !r.now.Before(due[i]) {
					due[i] = r.now.Add(max(r.turn(l), 0))
					if due[i].Equal(r.now) {
						continue
					}
				}
			}
			r.now = r.now.Add(5 * time.Millisecond)
			r.beatAt = r.now
		}
		calls += r.fault.Calls("Claim") + r.fault.Calls("Promote")
		if most := map[bool]int{true: 540, false: 1080}[listening]; calls > most*11/10 {
			t.Errorf("listening %v: %d claims and promotions in 9 idle minutes, want at most %d", listening, calls, most)
		}
	}
}
