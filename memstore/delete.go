package memstore

import (
	"context"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Delete implements driver.Admin.
func (s *Store) Delete(ctx context.Context, f driver.Filter) (int, error) {
	if err := driver.CheckFilter(f); err != nil {
		return 0, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	c := s.change(now)
	n := 0
	for _, r := range s.filter(f) {
		switch {
		case r.State.Archived() || r.CancelRequested:
			continue
		case r.State == driver.Processing:
			r.CancelRequested = true
			c.extra = append(c.extra, driver.Event{Kind: driver.CancelRequested, ID: r.ID})
		default:
			c.end(r, driver.Entry{Reason: "deleted", Actor: driver.Actor(ctx)})
		}
		n++
	}
	c.finish()
	return n, nil
}

// end deletes a row that is not processing, for the reason in the entry.
func (c *change) end(r *row, why driver.Entry) {
	why.At, why.State, why.Attempt = c.now, driver.Deleted, r.Attempt
	c.move(r, driver.Deleted, func() {
		r.FinalizedAt, r.granted = c.now, false
		r.PendingDeps = 0
		r.History = storekit.AppendHistory(r.History, storekit.CleanEntry(why))
	})
	c.counts.deleted++
}

// endLate deletes up to limit waiting rows whose deadline has come.
func (c *change) endLate(limit int) {
	for range limit {
		first, ok := c.deadlines.first()
		if !ok || first.row.deadline.After(c.now) {
			break
		}
		c.end(first.row, driver.Entry{Reason: "deadline"})
	}
}

// filter collects the rows that match, by id where ids are given and in the order of their list otherwise.
func (s *Store) filter(f driver.Filter) []*row {
	var rows []*row
	if len(f.IDs) == 0 {
		for _, l := range s.lists(f.State, f.Queue, f.Kind) {
			l.ascend(lowest, func(e entry) bool {
				if matches(e.row, f) {
					rows = append(rows, e.row)
				}
				return true
			})
		}
		return rows
	}
	ids := slices.Clone(f.IDs)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if r := s.rows[id]; r != nil && matches(r, f) {
			rows = append(rows, r)
		}
	}
	return rows
}

// matches checks every field of a filter but the ids.
func matches(r *row, f driver.Filter) bool {
	return (f.State == "" || f.State == r.State) &&
		(f.Queue == "" || f.Queue == r.Queue) &&
		(f.Kind == "" || f.Kind == r.Kind) &&
		(f.BatchID == 0 || f.BatchID == r.BatchID) &&
		(f.RecurringID == "" || f.RecurringID == r.RecurringID) &&
		(f.Tag == "" || slices.Contains(r.Tags, f.Tag))
}
