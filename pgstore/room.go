package pgstore

import (
	"maps"
	"slices"

	"github.com/kilnjobs/kiln/driver"
)

// insertAdmitted is insert for a call of its own. Jobs whose limit keys have room for all of them, and nobody waiting, are ready at once:
// they would be admitted when the call ends anyway, whatever their order.
func (w *work) insertAdmitted(drafts []draft) error {
	w.admitting = true
	defer func() { w.admitting = false }()
	return w.insert(drafts)
}

// admitFitting makes the throttled jobs of such keys ready.
func (w *work) admitFitting(drafts []draft) error {
	if !w.admitting {
		return nil
	}
	jobs := map[string][]*draft{}
	for i := range drafts {
		if d := &drafts[i]; d.state == driver.Throttled && !d.duplicate() {
			jobs[d.limited.key] = append(jobs[d.limited.key], d)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(jobs))
	return w.each("limits_room", []any{keys}, func(rows rows) error {
		var index int
		var room int64
		if err := rows.Scan(&index, &room); err != nil {
			return err
		}
		key := keys[index]
		n := int64(len(jobs[key]))
		if n > room-w.limits[key].active {
			return nil
		}
		w.shiftKey(key, shift{active: n})
		for _, d := range jobs[key] {
			d.state = driver.Enqueued
		}
		return nil
	})
}
