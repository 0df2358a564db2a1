package drivertest

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func (m *model) putRecurring() {
	id := choose(&m.choices, "r1", "r2")
	if m.one(6) {
		m.both("RemoveRecurring "+id, func(s *side) (any, error) { return nil, s.s.RemoveRecurring(m.ctx, id) })
		return
	}
	r := driver.Recurring{
		ID: id, Group: choose(&m.choices, "", "g"), Spec: "* * * * *", Location: "UTC", Overlap: m.one(2), Paused: m.one(6),
		Template:  driver.InsertParams{Kind: "x", Queue: "a", Args: []byte(`{}`), MaxAttempts: 2, RecurringID: id},
		NextRunAt: m.clock.Add(choose(&m.choices, time.Second, -time.Second, time.Minute)).Truncate(time.Second).UTC(),
	}
	stale := m.one(6)
	m.both(fmt.Sprintf("PutRecurring %+v stale %v", r, stale), func(s *side) (any, error) {
		r := r
		if old, err := s.s.Recurring(m.ctx, id); err == nil {
			r.Version = old.Version
			r.LastRunAt, r.LastJobID = old.LastRunAt, old.LastJobID
		}
		if stale {
			r.Version += 3
		}
		return nil, s.s.PutRecurring(m.ctx, r)
	})
}

// fire fires everything that is due, as a leader does.
func (m *model) fire() {
	var due [2][]driver.Recurring
	m.both("Due", func(s *side) (any, error) {
		list, at, err := s.s.Due(m.ctx, 100)
		due[0], due[1] = due[1], list
		return struct {
			list []driver.Recurring
			at   time.Time
		}{s.recurrings(list), at}, err
	})
	if len(due[0]) != len(due[1]) || m.jobs >= mostJobs {
		return
	}
	for i := range due[0] {
		added := 0
		err := m.both("Fire "+due[0][i].ID, func(s *side) (any, error) {
			r := due[0][i]
			if s == m.sides[1] {
				r = due[1][i]
			}
			job := r.Template
			job.RunAt = r.NextRunAt
			results, err := s.s.Fire(m.ctx, driver.Fire{
				ID: r.ID, Version: r.Version, NextRunAt: r.NextRunAt.Add(time.Minute), LastRunAt: r.NextRunAt, Jobs: []driver.InsertParams{job},
			})
			added = 0
			for i := range results {
				if !results[i].Duplicate {
					s.jobs.add(results[i].ID)
					added++
				}
				results[i].ID = s.jobs.number(results[i].ID)
			}
			return results, err
		})
		if err != nil {
			return
		}
		m.jobs += added
	}
}
