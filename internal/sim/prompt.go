package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

const (
	// quietFor is how long after the faults a cluster may need to find its feet: fences are lifted, the dead are judged.
	quietFor = 5 * time.Minute
	// promptness is how long a job may then wait for an idle server.
	promptness = time.Minute
)

// prompt checks that a calm cluster does not sleep over its work: no job stays in its queue while a server has nothing to do,
// and none stays with a server that is gone. A wake-up that was lost shows here long before somebody's chance hint hides it.
func (w *world) prompt() error {
	if !w.calm || w.now.Sub(w.calmAt) < quietFor || w.cfg.Faults.Jump {
		return nil
	}
	alive := map[string]bool{}
	idle := ""
	for _, n := range w.nodes {
		alive[n.id] = true
		if st := n.engine.Stats(); st.Running == 0 && st.Pending == 0 && !n.stopping {
			idle = n.id
		}
	}
	for _, state := range []driver.State{driver.Enqueued, driver.Processing} {
		page, err := w.store.Jobs(context.Background(), driver.JobQuery{State: state, Limit: 500})
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			if state == driver.Enqueued && r.LimitKey != "" {
				continue // its run time says nothing about how long ago it was let in
			}
			switch waited := w.inQueue(&r); {
			case state == driver.Enqueued && waited > promptness && idle != "":
				return fmt.Errorf("job %d has been enqueued for %s while %s has nothing to do%s", r.ID, waited, idle, w.cluster())
			case state == driver.Processing && waited > quietFor && !alive[r.Server]:
				return fmt.Errorf("job %d is still with %s, which is gone%s", r.ID, r.Server, w.cluster())
			}
		}
	}
	return nil
}

// inQueue is how long a job has stood in its queue, as far as was seen: a released job has the run time that it was given.
func (w *world) inQueue(r *driver.Record) time.Duration {
	waited := w.storeNow().Sub(r.RunAt)
	if len(r.Parents) == 0 && r.AfterBatch == 0 {
		return waited
	}
	rec := w.jobs[r.ID]
	if rec.readyAt.IsZero() {
		rec.readyAt = w.storeNow()
	}
	return min(waited, w.storeNow().Sub(rec.readyAt))
}
