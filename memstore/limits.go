package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// limit is one limit key. It is kept while a row names it, and until its clocks have passed.
type limit struct {
	storekit.Limit
	key string
	// waiting lists the throttled rows in the order of admission.
	waiting list
	// reserved counts the scheduled rows with a reserved start, rows all that name the key.
	reserved, rows int
}

// setRule gives a new row its limit and the limit the rule that comes with the row.
func (c *change) setRule(r *row, rule storekit.Rule) {
	l := c.limits[r.LimitKey]
	if l == nil {
		l = &limit{key: r.LimitKey}
		c.limits[l.key] = l
	}
	l.Rule = rule
	r.limit = l
	r.LimitKey = l.key
	c.keyTouched(l.key)
}

// enlist and unlist keep the limit's list and counters while rows move.
func (l *limit) enlist(r *row) {
	switch r.State {
	case driver.Throttled:
		l.waiting.add(r.key(), r)
	case driver.Enqueued, driver.Processing:
		l.Active++
	case driver.Scheduled:
		if r.granted {
			l.reserved++
		}
	}
}

func (l *limit) unlist(r *row) {
	switch r.State {
	case driver.Throttled:
		l.waiting.remove(r.key())
	case driver.Enqueued, driver.Processing:
		l.Active--
	case driver.Scheduled:
		if r.granted {
			l.reserved--
		}
	}
}

// slotFreed notes that a row with a limit key has left enqueued or processing.
func (c *change) slotFreed(r *row) { c.keyTouched(r.LimitKey) }

// keyTouched notes that the waiting rows of a key have to be looked at when the call ends: rows have come to it, its rule is new,
// or a slot is free.
func (c *change) keyTouched(key string) {
	if c.touched == nil {
		c.touched = make(map[string]bool)
	}
	c.touched[key] = true
}

// admitTouched admits what has room now under the limit keys that the call touched.
func (c *change) admitTouched() {
	for _, key := range slices.Sorted(maps.Keys(c.touched)) {
		if l := c.limits[key]; l != nil {
			c.admit(l)
		}
	}
	c.touched = nil
}

// touchUnsettled touches up to most keys whose last admission ended at its bound.
func (c *change) touchUnsettled(most int) {
	keys := slices.Sorted(maps.Keys(c.unsettled))
	for _, key := range keys[:min(most, len(keys))] {
		c.keyTouched(key)
	}
}

// admit takes the waiting rows of a key in order and starts or reserves them until one has to wait. All decisions are made
// before the first row moves.
func (c *change) admit(l *limit) {
	type decision struct {
		row   *row
		turn  storekit.Turn
		start time.Time
	}
	var decisions []decision
	at := l.Limit
	delete(c.unsettled, l.key)
	l.waiting.ascend(lowest, func(e entry) bool {
		if at.Rated() && len(decisions) == storekit.MaxTurns {
			c.unsettled[l.key] = true
			return false
		}
		turn, start := at.Next(e.row.granted, c.now)
		if turn == storekit.Wait {
			return false
		}
		decisions = append(decisions, decision{e.row, turn, start})
		return true
	})
	l.Clocks = at.Clocks
	for _, d := range decisions {
		if d.turn == storekit.Start {
			c.move(d.row, driver.Enqueued, func() { d.row.granted = false })
		} else {
			c.move(d.row, driver.Scheduled, func() { d.row.granted, d.row.RunAt = true, d.start })
		}
	}
	c.admitted += len(decisions)
}

// pruneLimits removes up to limit keys that no row names and whose clocks have passed.
func (s *Store) pruneLimits(now time.Time, limit int) int {
	n := 0
	for key, l := range s.limits {
		if n < limit && l.rows == 0 && l.Past(now) {
			delete(s.limits, key)
			delete(s.unsettled, key)
			n++
		}
	}
	return n
}

// Limits implements driver.LimitReader.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	limit = storekit.OrDefault(limit, 100)
	var infos []driver.LimitInfo
	for _, key := range slices.Sorted(maps.Keys(s.limits)) {
		if key > after && len(infos) < limit {
			infos = append(infos, s.limits[key].info(now))
		}
	}
	return infos, nil
}

func (l *limit) info(now time.Time) driver.LimitInfo {
	return l.Info(l.key, l.Clocks, now, l.Active, l.waiting.len, l.reserved)
}
