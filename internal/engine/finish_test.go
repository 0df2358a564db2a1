package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// judged answers outcomes as a test says, instead of the store.
type judged struct {
	*faultstore.Store
	judge func(driver.Outcome) driver.Result
}

func (s *judged) Finish(_ context.Context, _ string, outs []driver.Outcome) ([]driver.Result, error) {
	results := make([]driver.Result, len(outs))
	for i, o := range outs {
		results[i] = s.judge(o)
	}
	return results, nil
}

// finishing makes a server with n ended runs whose outcomes wait to be written.
func finishing(t *testing.T, n int, judge func(driver.Outcome) driver.Result) *rig {
	r := newRig(t, func(r *rig, c *Config) {
		c.Store = &judged{r.fault, judge}
		c.Pools[0].Workers = n
	})
	r.insert("a", n)
	r.turn(r.pools[0].lanes[0])
	for _, run := range r.started {
		run.End(driver.Outcome{State: driver.Succeeded, Output: []byte(strings.Repeat("1", 1000))})
	}
	if r.outbox.pending != n || r.outbox.bytes != 1000*n {
		t.Fatalf("%d outcomes of %d bytes wait", r.outbox.pending, r.outbox.bytes)
	}
	return r
}

// TestRejectedOutcomesAreWeighed pins that the outcome which stands for a refused one counts in the outbox with its own size:
// otherwise the bound on waiting results gets looser with each of them.
func TestRejectedOutcomesAreWeighed(t *testing.T) {
	r := finishing(t, 4, func(o driver.Outcome) driver.Result {
		if o.State == driver.Succeeded {
			return driver.Rejected
		}
		return driver.Applied
	})
	for range 4 {
		for _, f := range r.outbox.shards {
			r.turn(f)
		}
		r.now = r.now.Add(time.Second)
	}
	if st := r.Stats(); st.Pending != 0 || r.outbox.bytes != 0 || st.Failed != 4 {
		t.Errorf("%d bytes of %d outcomes are still counted; stats %+v", r.outbox.bytes, st.Pending, st)
	}
}

// TestBusyOutcomesWaitLonger pins that outcomes whose rows stay locked are tried again with a doubling wait.
func TestBusyOutcomesWaitLonger(t *testing.T) {
	r := finishing(t, 1, func(driver.Outcome) driver.Result { return driver.Busy })
	var waits []string
	for range 6 {
		for _, f := range r.outbox.shards {
			if wait := r.turn(f); wait != Never {
				waits = append(waits, fmt.Sprint(wait.Round(10*time.Millisecond)))
				r.now = r.now.Add(wait)
			}
		}
	}
	if got := strings.Join(waits, " "); !strings.HasPrefix(got, "10ms 20ms 40ms 70ms 140ms") {
		t.Errorf("waits %s, want them to double from 10ms, less up to a fifth", got)
	}
}
