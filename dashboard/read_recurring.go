package dashboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/cron"
	"github.com/kilnjobs/kiln/driver"
)

// nextRuns is how many times after the next one are shown of a schedule.
const nextRuns = 4

// The last jobs of recurring ones are read one by one, so only so many of them, and only for so long.
const (
	lastJobs    = 200
	lastJobTime = 500 * time.Millisecond
)

func (h *handler) readRecurring(ctx context.Context) (recurringsView, error) {
	list, err := h.listRecurring(ctx)
	if err != nil {
		return recurringsView{}, err
	}
	last, err := h.lastStates(ctx, list)
	return h.viewRecurrings(list, last), err
}

func (h *handler) listRecurring(ctx context.Context) ([]driver.Recurring, error) {
	list, err := h.store.Recurrings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list recurring jobs: %w", err)
	}
	return list, nil
}

// viewRecurrings shows recurring jobs, with the states of the last jobs that are known.
func (h *handler) viewRecurrings(list []driver.Recurring, last map[int64]driver.State) recurringsView {
	v := recurringsView{Recurring: make([]recurringView, len(list))}
	for i := range list {
		v.Recurring[i] = h.viewRecurring(&list[i])
		v.Recurring[i].LastState = last[list[i].LastJobID]
	}
	return v
}

// late says that a recurring job should have run.
func late(r *driver.Recurring, now time.Time) bool {
	return !r.Paused && !r.NextRunAt.IsZero() && now.Sub(r.NextRunAt) > driver.SilentAfter
}

// lastStates are the states of the last jobs of recurring ones, by id. Those of jobs that are gone are left out.
func (h *handler) lastStates(ctx context.Context, list []driver.Recurring) (map[int64]driver.State, error) {
	if reader, ok := h.store.(driver.StateReader); ok {
		ids := make([]int64, len(list))
		for i := range list {
			ids[i] = list[i].LastJobID
		}
		states, err := reader.States(ctx, ids)
		return states, named(err, "read the states of jobs")
	}
	jobs, _, err := h.lastRuns(ctx, list)
	states := make(map[int64]driver.State, len(jobs))
	for id := range jobs {
		states[id] = jobs[id].State
	}
	return states, err
}

// lastRuns reads the last jobs of recurring ones. Jobs that are gone are left out, and so is what would take too long: then all is
// false.
func (h *handler) lastRuns(ctx context.Context, list []driver.Recurring) (jobs map[int64]driver.Record, all bool, err error) {
	began := time.Now()
	jobs = make(map[int64]driver.Record)
	for i := range list {
		id := list[i].LastJobID
		if id == 0 {
			continue
		}
		if len(jobs) == lastJobs || time.Since(began) > lastJobTime {
			return jobs, false, nil
		}
		job, err := h.store.Job(ctx, id)
		switch {
		case errors.Is(err, driver.ErrNotFound):
		case err != nil:
			return nil, false, fmt.Errorf("read job %d: %w", id, err)
		default:
			jobs[id] = job
		}
	}
	return jobs, true, nil
}

var misfires = map[driver.Misfire]string{driver.MisfireOnce: "once", driver.MisfireAll: "all", driver.MisfireSkip: "skip"}

func (h *handler) viewRecurring(r *driver.Recurring) recurringView {
	v := recurringView{
		ID: r.ID, Group: r.Group, Spec: r.Spec, Location: r.Location, Kind: r.Template.Kind, Queue: r.Template.Queue,
		Args:    h.redactJSON(r.Template.Kind, PartArgs, r.Template.Args),
		Misfire: misfires[r.Misfire], Overlap: r.Overlap, Paused: r.Paused,
		NextRunAt: r.NextRunAt, LastRunAt: r.LastRunAt, LastJobID: r.LastJobID, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	schedule, zone, err := readSchedule(r)
	if err != nil {
		v.Unreadable = err.Error()
		return v
	}
	for at := r.NextRunAt.In(zone); !at.IsZero() && len(v.NextRuns) < nextRuns; {
		if at = schedule.Next(at); !at.IsZero() {
			v.NextRuns = append(v.NextRuns, at)
		}
	}
	return v
}

func readSchedule(r *driver.Recurring) (*cron.Schedule, *time.Location, error) {
	schedule, err := cron.Parse(r.Spec)
	if err != nil {
		return nil, nil, err
	}
	zone, err := time.LoadLocation(r.Location)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: time zone %.60q is not known here", driver.ErrInvalid, r.Location)
	}
	return schedule, zone, nil
}
