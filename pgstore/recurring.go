package pgstore

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// PutRecurring implements driver.Admin.
func (s *Store) PutRecurring(ctx context.Context, r driver.Recurring) error {
	if err := driver.CheckRecurring(r); err != nil {
		return err
	}
	template, err := storekit.EncodeTemplate(r.Template)
	if err != nil {
		return err
	}
	written := false
	err = s.do(ctx, func(w *work) error {
		args := []any{r.Group, r.Spec, r.Location, template, int32(r.Misfire), r.Overlap, r.Paused,
			storekit.Micros(r.NextRunAt), storekit.Micros(r.LastRunAt), r.LastJobID, r.ID, w.nowAt}
		name := "recurring_add"
		if r.Version > 0 {
			name, args = "recurring_update", append(args, r.Version)
		}
		n, err := w.affect(name, args...)
		written = n > 0
		return err
	})
	if err == nil && !written {
		return storekit.NotAtVersion(r.ID, r.Version)
	}
	return err
}

// Recurring implements driver.Admin.
func (s *Store) Recurring(ctx context.Context, id string) (driver.Recurring, error) {
	var list []driver.Recurring
	if !storable(id) {
		return driver.Recurring{}, storekit.NoRecurring(id)
	}
	err := s.read(ctx, func(r *reader) (err error) {
		list, err = r.definitions("recurring_get", id)
		return err
	})
	if err == nil && len(list) == 0 {
		err = storekit.NoRecurring(id)
	}
	if err != nil {
		return driver.Recurring{}, err
	}
	return list[0], nil
}

// RemoveRecurring implements driver.Admin.
func (s *Store) RemoveRecurring(ctx context.Context, id string) error {
	if !storable(id) {
		return storekit.NoRecurring(id)
	}
	removed := false
	err := s.do(ctx, func(w *work) error {
		n, err := w.affect("recurring_drop", id)
		removed = n > 0
		return err
	})
	if err == nil && !removed {
		return storekit.NoRecurring(id)
	}
	return err
}

// Recurrings implements driver.Inspector.
func (s *Store) Recurrings(ctx context.Context) ([]driver.Recurring, error) {
	var list []driver.Recurring
	err := s.read(ctx, func(r *reader) (err error) {
		list, err = r.definitions("recurring_list")
		return err
	})
	return list, err
}

// Due implements driver.Coordinator. A definition whose template cannot be read comes with an empty one.
func (s *Store) Due(ctx context.Context, limit int) ([]driver.Recurring, time.Time, error) {
	var list []driver.Recurring
	var now time.Time
	err := s.read(ctx, func(r *reader) (err error) {
		now = r.now
		list, err = r.definitions("recurring_due", r.nowAt, int64(storekit.AtLeastOne(limit)))
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return list, now, nil
}

// definitions reads recurring jobs.
func (r *runner) definitions(name string, args ...any) (list []driver.Recurring, err error) {
	err = r.each(name, args, func(rows rows) error {
		var d driver.Recurring
		var template []byte
		var next, last, created, updated int64
		if err := rows.Scan(&d.ID, &d.Group, &d.Spec, &d.Location, &template, &d.Misfire, &d.Overlap, &d.Paused, &next, &last,
			&d.LastJobID, &created, &updated, &d.Version); err != nil {
			return err
		}
		d.NextRunAt, d.LastRunAt = storekit.Instant(next), storekit.Instant(last)
		d.CreatedAt, d.UpdatedAt = storekit.Instant(created), storekit.Instant(updated)
		if t, err := storekit.DecodeTemplate(template); err == nil {
			d.Template = t
		}
		list = append(list, d)
		return nil
	})
	return list, err
}
