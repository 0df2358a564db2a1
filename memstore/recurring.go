package memstore

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// PutRecurring implements driver.Admin.
func (s *Store) PutRecurring(ctx context.Context, r driver.Recurring) error {
	if err := driver.CheckRecurring(r); err != nil {
		return err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	old, exists := s.recurring[r.ID]
	if r.Version != old.Version {
		return storekit.NotAtVersion(r.ID, r.Version)
	}
	r = storedRecurring(r)
	r.CreatedAt, r.UpdatedAt = now, now
	if exists {
		r.CreatedAt = old.CreatedAt
	}
	r.Version++
	s.recurring[r.ID] = r
	return nil
}

// storedRecurring is a definition as it comes back: a copy, with instants in UTC and timeouts in milliseconds.
func storedRecurring(r driver.Recurring) driver.Recurring {
	r = copyRecurring(r)
	r.NextRunAt, r.LastRunAt = storekit.Stamp(r.NextRunAt), storekit.Stamp(r.LastRunAt)
	t := &r.Template
	t.RunAt, t.Deadline = storekit.Stamp(t.RunAt), storekit.Stamp(t.Deadline)
	t.Timeout = storekit.MillisTimeout(storekit.TimeoutMillis(t.Timeout))
	return r
}

func copyRecurring(r driver.Recurring) driver.Recurring {
	t := &r.Template
	t.Args, t.UniqueKey = bytes.Clone(t.Args), cloneSlice(t.UniqueKey)
	t.Meta, t.Tags, t.Parents = cloneMap(t.Meta), cloneSlice(t.Tags), cloneSlice(t.Parents)
	return r
}

// Recurring implements driver.Admin.
func (s *Store) Recurring(ctx context.Context, id string) (driver.Recurring, error) {
	if _, err := s.lock(ctx); err != nil {
		return driver.Recurring{}, err
	}
	defer s.mu.Unlock()
	r, ok := s.recurring[id]
	if !ok {
		return driver.Recurring{}, storekit.NoRecurring(id)
	}
	return copyRecurring(r), nil
}

// RemoveRecurring implements driver.Admin.
func (s *Store) RemoveRecurring(ctx context.Context, id string) error {
	if _, err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.recurring[id]; !ok {
		return storekit.NoRecurring(id)
	}
	delete(s.recurring, id)
	return nil
}

// Recurrings implements driver.Inspector.
func (s *Store) Recurrings(ctx context.Context) ([]driver.Recurring, error) {
	if _, err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []driver.Recurring
	for _, id := range slices.Sorted(maps.Keys(s.recurring)) {
		list = append(list, copyRecurring(s.recurring[id]))
	}
	return list, nil
}

// Due implements driver.Coordinator.
func (s *Store) Due(ctx context.Context, limit int) ([]driver.Recurring, time.Time, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer s.mu.Unlock()
	var due []driver.Recurring
	for _, r := range s.recurring {
		if !r.Paused && !r.NextRunAt.IsZero() && !r.NextRunAt.After(now) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b driver.Recurring) int {
		return cmp.Or(a.NextRunAt.Compare(b.NextRunAt), strings.Compare(a.ID, b.ID))
	})
	due = due[:min(len(due), storekit.AtLeastOne(limit))]
	for i := range due {
		due[i] = copyRecurring(due[i])
	}
	return due, now, nil
}

// Fire implements driver.Coordinator.
func (s *Store) Fire(ctx context.Context, f driver.Fire) ([]driver.Inserted, error) {
	results, err := s.FireMany(ctx, []driver.Fire{f})
	if err != nil {
		return nil, err
	}
	return results[0].Jobs, results[0].Err
}

// FireMany implements driver.BlockFirer.
func (s *Store) FireMany(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	c := s.change(now)
	results := make([]driver.FireResult, len(fires))
	for i := range fires {
		results[i].Jobs, results[i].Err = c.fire(&fires[i])
	}
	c.finish()
	return results, nil
}

// fire takes one step of a schedule, if it is at the version that the step was computed from.
func (c *change) fire(f *driver.Fire) ([]driver.Inserted, error) {
	r, ok := c.recurring[f.ID]
	switch {
	case !ok:
		return nil, storekit.NoRecurring(f.ID)
	case r.Version != f.Version:
		return nil, storekit.NotAtVersion(f.ID, f.Version)
	}
	var out []driver.Inserted
	if len(f.Jobs) > 0 {
		if err := driver.CheckInsert(f.Jobs); err != nil {
			return nil, err
		}
		in, err := c.bring(f.Jobs)
		if err != nil {
			return nil, err
		}
		out = in.results(c.Store)
		r.LastJobID = out[len(out)-1].ID
	}
	r.NextRunAt, r.LastRunAt = storekit.Stamp(f.NextRunAt), storekit.Stamp(f.LastRunAt)
	r.Version++
	c.recurring[f.ID] = r
	return out, nil
}
