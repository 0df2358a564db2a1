package memstore

import (
	"context"
	"slices"
	"time"

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
	var events []driver.Event
	var counts counts
	n := 0
	for _, r := range s.filter(f) {
		switch {
		case r.State.Archived() || r.CancelRequested:
			continue
		case r.State == driver.Processing:
			r.CancelRequested = true
			events = append(events, driver.Event{Kind: driver.CancelRequested, ID: r.ID})
		default:
			s.end(r, driver.Entry{At: now, Reason: "deleted", Actor: driver.Actor(ctx)})
			counts.deleted++
		}
		n++
	}
	s.count(now, "", counts)
	s.publish(events...)
	return n, nil
}

// end deletes a row that is not processing, for the reason in the entry.
func (s *Store) end(r *row, why driver.Entry) {
	s.unlist(r)
	why.State, why.Attempt = driver.Deleted, r.Attempt
	r.State = driver.Deleted
	r.FinalizedAt = why.At
	r.History = storekit.AppendHistory(r.History, storekit.CleanEntry(why))
	s.enlist(r)
}

// endLate deletes up to limit waiting rows whose deadline has come.
func (s *Store) endLate(limit int, now time.Time) {
	var counts counts
	for range limit {
		first, ok := s.deadlines.first()
		if !ok || first.row.deadline.After(now) {
			break
		}
		s.end(first.row, driver.Entry{At: now, Reason: "deadline"})
		counts.deleted++
	}
	s.count(now, "", counts)
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
