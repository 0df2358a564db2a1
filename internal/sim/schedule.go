package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// schedule is one recurring job, whose occurrences follow each other at one distance.
type schedule struct {
	spec  string
	every time.Duration
	// fired are the occurrences that have a job.
	fired map[time.Time]bool
	// last is its last run when the faults ended, zero when it had none.
	last time.Time
}

// plan stores the recurring jobs. They fire everything that they missed, so that each of their occurrences has to have a job.
func (w *world) plan() {
	if !w.cfg.Shape.Schedules {
		return
	}
	w.schedules = map[string]*schedule{
		"clock":    {spec: "*/20 * * * * *", every: 20 * time.Second},
		"interval": {spec: "@every 45s", every: 45 * time.Second},
	}
	for id, s := range w.schedules {
		s.fired = map[time.Time]bool{}
		err := w.store.PutRecurring(context.Background(), driver.Recurring{
			ID: id, Spec: s.spec, Location: "UTC", Misfire: driver.MisfireAll, Overlap: true, NextRunAt: w.start.Add(s.every),
			Template: driver.InsertParams{Kind: "job", Queue: queues[0], Args: []byte("{}"), MaxAttempts: 3},
		})
		if err != nil {
			panic(err)
		}
	}
}

// recorded is the store as it is behind all faults: what it fired has happened, whether its answer is heard or not.
type recorded struct {
	*memstore.Store
	world *world
}

// FireMany notes what was fired.
func (s recorded) FireMany(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	results, err := s.Store.FireMany(ctx, fires)
	for i := range results {
		for k, job := range results[i].Jobs {
			s.world.fired(fires[i].ID, fires[i].Jobs[k].RunAt, job.ID)
		}
	}
	return results, err
}

// fired holds a fire to the rules and takes its job in.
func (w *world) fired(id string, at time.Time, job int64) {
	rec := &jobRecord{id: job}
	w.jobs[job] = rec
	w.order = append(w.order, job)
	s := w.schedules[id]
	if s.fired[at] {
		rec.fail("job %d: the occurrence %s of %s has a job already", job, at, id)
	}
	s.fired[at] = true
	w.logf("%s fires job %d for %s", id, job, at.Sub(w.start))
}

// unplan removes the recurring jobs, so that the world can come to rest.
func (w *world) unplan() {
	for id, s := range w.schedules {
		def, err := w.store.Recurring(context.Background(), id)
		if err != nil {
			panic(err)
		}
		s.last = def.LastRunAt
		if err := w.store.RemoveRecurring(context.Background(), id); err != nil {
			panic(err)
		}
	}
}

// judgeSchedules checks that no occurrence is missing.
func (w *world) judgeSchedules() error {
	for id, s := range w.schedules {
		n := 0
		if !s.last.IsZero() {
			n = int(s.last.Sub(w.start) / s.every)
		}
		for i := 1; i <= n; i++ {
			if at := w.start.Add(time.Duration(i) * s.every); !s.fired[at] {
				return fmt.Errorf("the occurrence %s of %s has no job, its last run was %s", at, id, s.last)
			}
		}
		if len(s.fired) != n {
			return fmt.Errorf("%s has %d jobs for %d occurrences", id, len(s.fired), n)
		}
	}
	return nil
}
