package kiln_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
)

// TestADayLeavesNothingBehind runs two servers for a virtual day of heartbeats, polls, jobs, retries and prunes, and pins that
// neither goroutines nor memory grow.
func TestADayLeavesNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if j.Args.N%10 == 0 && j.Attempt == 1 {
				return errors.New("once more")
			}
			return nil
		}, kiln.Constant(time.Minute))
		retention := kiln.Retention{Succeeded: 10 * time.Minute, Deleted: 10 * time.Minute, Failed: 10 * time.Minute}
		r.start(kiln.ServerConfig{Retention: retention})
		r.start(kiln.ServerConfig{Retention: retention})
		measure := func() (goroutines int, heap uint64) {
			var m runtime.MemStats
			for range 3 {
				runtime.GC()
			}
			runtime.ReadMemStats(&m)
			return runtime.NumGoroutine(), m.HeapAlloc
		}
		hour := func() {
			for n := range 60 {
				for i := range 5 {
					if _, err := r.client.Enqueue(t.Context(), task{n*5 + i}); err != nil {
						t.Fatal(err)
					}
				}
				pass(time.Minute)
			}
		}
		hour()
		goroutines, heap := measure()
		hours := 24
		if testing.Short() {
			hours = 4
		}
		for range hours - 1 {
			hour()
		}
		after, grown := measure()
		if after > goroutines {
			t.Errorf("%d goroutines after an hour, %d after a day", goroutines, after)
		}
		// The running statistics of a day are some 1,400 minutes.
		if grown > heap+1<<20 {
			t.Errorf("%d KiB of heap after an hour, %d KiB after a day", heap>>10, grown>>10)
		}
		n, err := r.mem.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Succeeded < int64(hours*300-60) || n.Failed+n.Processing != 0 {
			t.Errorf("counts %+v", n)
		}
		t.Logf("%d goroutines, then %d; %d KiB of heap, then %d KiB", goroutines, after, heap>>10, grown>>10)
	})
}
