package memstore

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// change is one call that writes: the instant that it stamps, and what is told and counted once at its end.
type change struct {
	*Store
	now   time.Time
	hints hints
	// counts are what nobody's outcome counted: deletions by operators, deadlines and dooms.
	counts counts
	// touched are the limit keys whose waiting rows have to be looked at, admitted is how many of those moved.
	touched  map[string]bool
	admitted int
	// ripe are batches that may have finished.
	ripe []*batch
	// extra are events that say more than which queue has work.
	extra []driver.Event
}

func (s *Store) change(now time.Time) *change { return &change{Store: s, now: now} }

// move takes a row to another state. Edit sets the fields that go with it.
func (c *change) move(r *row, state driver.State, edit func()) {
	c.unlist(r)
	from := r.State
	r.State = state
	if edit != nil {
		edit()
	}
	c.enlist(r)
	c.hints.note(r)
	c.moved(r, from)
}

// moved notes what a row's new state may set off.
func (c *change) moved(r *row, from driver.State) {
	if r.LimitKey != "" && (from == driver.Enqueued || from == driver.Processing) {
		c.slotFreed(r)
	}
	if r.State == driver.Throttled {
		c.keyTouched(r.LimitKey)
	}
	if r.State.Final() {
		c.keyReleased(r)
		c.rowEnded(r)
	}
}

// finish settles what the call set off: first the rows and batches that waited for those that have ended, then, since that may
// free and ask for slots, the admission of every limit key that was touched. Then it counts and tells.
func (c *change) finish() {
	c.settleEnded()
	c.finishSettled()
}

// finishSettled is finish for a call that has settled as much as it may.
func (c *change) finishSettled() {
	c.admitTouched()
	c.count(c.now, "", c.counts)
	c.publish(append(c.extra, c.hints.events...)...)
}
