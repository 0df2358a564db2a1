package memstore

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// unique is a unique key that is held.
type unique struct {
	// row is the job that took the key. It may be pruned while a window keeps the key.
	row *row
	// expires is the end of the window that the key is held for; zero holds it while the job is live and not failed.
	expires time.Time
	// tx is the open transaction that took it, nil once it is committed.
	tx *Tx
}

// holder is who holds a key now, nil when it is free.
func (s *Store) holder(key string, now time.Time) *row {
	u := s.uniques[key]
	if u == nil || !u.expires.IsZero() && !u.expires.After(now) {
		return nil
	}
	return u.row
}

// take gives a key to a row.
func (s *Store) take(a *arrival, tx *Tx) {
	if a.key == "" || a.holder != nil || a.row.State.Final() {
		return
	}
	u := &unique{row: a.row, tx: tx}
	if a.window > 0 {
		u.expires = a.row.CreatedAt.Add(a.window)
	}
	s.uniques[a.key] = u
}

// retake gives a row that starts over its key back, and is false when another job holds it.
func (s *Store) retake(r *row, now time.Time) bool {
	if r.unique == "" || !r.State.Final() {
		return true
	}
	if s.holder(r.unique, now) != nil {
		return false
	}
	s.uniques[r.unique] = &unique{row: r}
	return true
}

// keyReleased frees the unique key of a row that has just succeeded, failed or been deleted, if it holds one while it is live.
func (c *change) keyReleased(r *row) {
	if r.unique != "" && c.uniques[r.unique] != nil && c.uniques[r.unique].row == r {
		delete(c.uniques, r.unique)
	}
}

// replace gives the holder of a key the values that a duplicate brings.
func (c *change) replace(h, values *row, to storekit.Merged) {
	edit := func() {
		h.Args, h.Meta, h.Tags, h.Title = values.Args, values.Meta, values.Tags, values.Title
		h.Priority, h.deadline, h.RunAt = values.Priority, values.deadline, to.RunAt
	}
	if h.lane == nil { // a job of the same open transaction
		h.State, h.scheduled = to.State, to.State == driver.Scheduled
		edit()
		return
	}
	c.move(h, to.State, edit)
}

// pruneUniques removes up to limit keys whose window has ended.
func (s *Store) pruneUniques(now time.Time, limit int) int {
	n := 0
	for key, u := range s.uniques {
		if n < limit && !u.expires.IsZero() && !u.expires.After(now) && u.tx == nil {
			delete(s.uniques, key)
			n++
		}
	}
	return n
}
