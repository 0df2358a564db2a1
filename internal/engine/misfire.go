package engine

import (
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

const (
	// missedSteps bounds the scan for the latest missed occurrence: twelve days of a schedule that fires every second.
	missedSteps = 1 << 20
	// missedBlock is the most occurrences that one pass of MisfireAll fires.
	missedBlock = 100
	// missedGrace is how late an occurrence may be that MisfireSkip still fires.
	missedGrace = time.Minute
)

// missed is the occurrences of a schedule from the one that is due up to now.
type missed struct {
	// next is the first occurrence after t, zero when there is none.
	next func(t time.Time) time.Time
	// due is the occurrence that the schedule waits for, last the one that was fired last, zero for none.
	due, last, now time.Time
}

// resolve applies a policy: the occurrences to fire, in order, and the one to wait for then.
func (m *missed) resolve(policy driver.Misfire) (fire []time.Time, nextRun time.Time) {
	first := m.due
	if !first.After(m.last) {
		// The clock went back: what was fired is not fired again.
		first = m.next(m.last)
	}
	if first.IsZero() || first.After(m.now) {
		return nil, first
	}
	if policy == driver.MisfireAll {
		return m.all(first)
	}
	latest, nextRun := m.latest(first)
	if policy == driver.MisfireSkip && m.now.Sub(latest) > missedGrace {
		return nil, nextRun
	}
	return []time.Time{latest}, nextRun
}

// all is the first missed occurrences, and the one with which the next pass goes on.
func (m *missed) all(first time.Time) (fire []time.Time, nextRun time.Time) {
	at := first
	for len(fire) < missedBlock && !at.IsZero() && !at.After(m.now) {
		fire = append(fire, at)
		at = m.next(at)
	}
	return fire, at
}

// latest is the last occurrence that is not after now, and the one that follows. Where there are too many to look at, it is the last
// one of those that were looked at, and the first one after now follows.
func (m *missed) latest(first time.Time) (latest, nextRun time.Time) {
	latest = first
	for range missedSteps {
		nextRun = m.next(latest)
		if nextRun.IsZero() || nextRun.After(m.now) {
			return latest, nextRun
		}
		latest = nextRun
	}
	return latest, m.next(m.now)
}

// once changes a schedule that fires once on the date of an instant that is none of its own, so that this instant stands for the
// schedule's time on that date. Another server, with other data about the time zone, takes the two for one and the same.
func once(next func(time.Time) time.Time, due time.Time) (changed func(time.Time) time.Time, differs bool) {
	if next(due.Add(-time.Second)).Equal(due) {
		return next, false
	}
	year, month, day := due.Date()
	var own []time.Time
	for at := next(time.Date(year, month, day, 0, 0, -1, 0, due.Location())); len(own) < 2; at = next(at) {
		y, m, d := at.Date()
		if at.IsZero() || y != year || m != month || d != day {
			break
		}
		own = append(own, at)
	}
	if len(own) != 1 {
		return next, true
	}
	return func(t time.Time) time.Time {
		at := next(t)
		if slices.ContainsFunc(own, at.Equal) {
			at = next(at)
		}
		return at
	}, true
}
