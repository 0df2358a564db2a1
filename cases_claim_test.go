package kiln_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// A promoter that fails between two writes, or two that overlap, neither lose a delayed job nor run it twice.
func TestCaseB001(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		runs := map[int64]int{}
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			mu.Lock()
			defer mu.Unlock()
			runs[j.ID]++
			return nil
		})
		for range 2500 {
			r.enqueue(kiln.Delay(10 * time.Second))
		}
		for n := range 3 {
			faulty := faultstore.Wrap(r.mem, faultstore.On("Promote", func(c faultstore.Call) faultstore.Fault {
				return []faultstore.Fault{{}, faultstore.Fail(errDown), faultstore.Lose(errDown)}[(c.Number+n)%3]
			}))
			r.startOn(kiln.NewClient(faulty), kiln.ServerConfig{})
		}
		pass(time.Minute)
		for id, n := range runs {
			if n != 1 {
				t.Errorf("job %d ran %d times", id, n)
			}
		}
		if len(runs) != 2500 {
			t.Errorf("%d of 2500 jobs ran", len(runs))
		}
	})
}

// Weights hold on the smallest pool: every queue gets its share, slow jobs or not.
func TestCaseB002(t *testing.T) {
	for _, workers := range []int{1, 2, 20} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				weights := map[string]int{"high": 6, "mid": 3, "low": 1}
				r.handle(func(_ context.Context, j *kiln.Job[task]) error {
					<-time.After(map[string]time.Duration{"low": time.Second}[j.Queue] + 100*time.Millisecond)
					return nil
				})
				for q := range weights {
					specs := make([]kiln.Spec, 1500)
					for i := range specs {
						specs[i] = kiln.Spec{Args: task{}, Options: []kiln.InsertOption{kiln.Queue(q)}}
					}
					if _, err := r.client.EnqueueMany(t.Context(), specs...); err != nil {
						t.Fatal(err)
					}
				}
				s := r.start(kiln.ServerConfig{Pools: []kiln.Pool{{Queues: []string{"high", "mid", "low"}, Workers: workers, Weights: weights}}})
				for s.Stats().Claimed < 1000 {
					pass(time.Second / 4)
				}
				left := map[string]int64{}
				queues, _ := r.mem.Queues(t.Context())
				for _, q := range queues {
					left[q.Name] = q.Enqueued
				}
				total := float64(s.Stats().Claimed)
				for q, w := range weights {
					if share := float64(1500-left[q]) / total * 10; share < float64(w)*0.9 || share > float64(w)*1.1 {
						t.Errorf("queue %s of weight %d got %.2f tenths", q, w, share)
					}
				}
			})
		})
	}
}

// No job is handed out twice, and what an old owner writes late changes nothing.
func TestCaseB004(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for range 2000 {
			r.enqueue()
		}
		var claimers sync.WaitGroup
		var mu sync.Mutex
		owners := map[int64]driver.Ref{}
		for n := range 16 {
			claimers.Go(func() {
				for {
					jobs, err := r.mem.Claim(t.Context(), driver.ClaimQuery{Queues: []string{"default"}, Limit: 1 + n, Server: fmt.Sprint(n)})
					if err != nil || len(jobs) == 0 {
						return
					}
					mu.Lock()
					for _, j := range jobs {
						if _, twice := owners[j.ID]; twice {
							t.Errorf("job %d was handed out twice", j.ID)
						}
						owners[j.ID] = j.Ref
					}
					mu.Unlock()
				}
			})
		}
		claimers.Wait()
		old := owners[7]
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{}) // the claimers have no rows: their jobs run again
		pass(time.Minute)
		res, err := r.mem.Finish(t.Context(), "0", []driver.Outcome{{Ref: old, State: kiln.Failed}})
		if err != nil || res[0] != driver.Stale || len(owners) != 2000 {
			t.Errorf("a late write: %v, %v; %d jobs", res, err, len(owners))
		}
		r.want(7, kiln.Succeeded, "orphaned")
	})
}
