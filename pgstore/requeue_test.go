package pgstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// mixed are scheduled jobs with all that a job can have: keys, limits, deadlines, batches and others that wait for them.
func mixed(n int, batch int64) []driver.InsertParams {
	jobs := plainJobs(n)
	for i := range jobs {
		p := &jobs[i]
		p.Delay = time.Hour
		switch i % 6 {
		case 1:
			p.UniqueKey = fmt.Append(nil, "key ", i)
		case 2:
			p.LimitKey, p.LimitMax = fmt.Sprint("limit ", i%4), 3
		case 3:
			p.Deadline = time.Now().Add(2 * time.Hour)
		case 4:
			p.BatchID, p.Tags = batch, []string{"tag"}
		case 5:
			p.Parents = []driver.Parent{{Index: i - 5, On: driver.OnSucceeded}}
		}
	}
	return jobs
}

// TestOperatorsMeet lets operators delete and requeue the same jobs at the same time: each job is moved by one of them.
func TestOperatorsMeet(t *testing.T) {
	ctx := context.Background()
	schema, n := newSchema(t), 1800
	stores := []*Store{openStore(t, newPool(t), schema), openStore(t, newPool(t), schema)}
	batch, err := stores[0].OpenBatch(ctx, driver.NewBatch{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stores[0].Insert(ctx, mixed(n, batch)); err != nil {
		t.Fatal(err)
	}
	scheduled := int64(n - n/6) // the others wait for jobs
	var moved, deleted atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		s := stores[i%2]
		wg.Go(func() {
			act, sum := s.Requeue, &moved
			if i%3 == 0 {
				act, sum = s.Delete, &deleted
			}
			k, err := act(ctx, driver.Filter{State: driver.Scheduled})
			if err != nil {
				t.Error(err)
			}
			sum.Add(int64(k))
		})
	}
	wg.Wait()
	if moved.Load()+deleted.Load() != scheduled {
		t.Errorf("%d jobs were requeued and %d deleted, want %d in all", moved.Load(), deleted.Load(), scheduled)
	}
	c, err := stores[0].Counts(ctx)
	doomed := int64(n)/6 - c.Awaiting
	if err != nil || c.Scheduled != 0 || c.Deleted != deleted.Load()+doomed {
		t.Errorf("counts are %+v (%v) after %d deletions, which doomed %d jobs", c, err, deleted.Load(), doomed)
	}
	if err := stores[0].Check(ctx); err != nil {
		t.Error(err)
	}
}

// TestDeleteWhileFinishing deletes jobs that are being claimed and finished meanwhile. Each of them ends, once.
func TestDeleteWhileFinishing(t *testing.T) {
	ctx := context.Background()
	const n = 600
	s := newStore(t)
	out, err := s.Insert(ctx, plainJobs(n))
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, n)
	for i := range out {
		ids[i] = out[i].ID
	}
	var applied, asked atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 20, Server: "a"})
			if err != nil {
				t.Error(err)
				return
			}
			if len(jobs) == 0 {
				return
			}
			outs := make([]driver.Outcome, len(jobs))
			for i := range jobs {
				outs[i] = driver.Outcome{Ref: jobs[i].Ref, State: driver.Succeeded}
			}
			for len(outs) > 0 {
				results, err := s.Finish(ctx, "a", outs)
				if err != nil {
					t.Error(err)
					return
				}
				var again []driver.Outcome
				for i, r := range results {
					switch r {
					case driver.Applied:
						applied.Add(1)
					case driver.Busy:
						again = append(again, outs[i])
					default:
						t.Errorf("a result is %v", r)
					}
				}
				outs = again
			}
		}
	})
	for k := range 3 {
		wg.Go(func() {
			for at := k * 40; at < n; at += 120 {
				if _, err := s.Delete(ctx, driver.Filter{IDs: ids[at : at+40]}); err != nil {
					t.Error(err)
				}
				asked.Add(40)
			}
		})
	}
	wg.Wait()
	c, err := s.Counts(ctx)
	if err != nil || asked.Load() != n || c.Succeeded != applied.Load() || c.Succeeded+c.Deleted != n || c.Enqueued+c.Processing != 0 {
		t.Errorf("counts are %+v (%v) after %d successes, want %d ended jobs", c, err, applied.Load(), n)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}
