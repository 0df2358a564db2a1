// Package cron reads cron specs and computes when they fire.
//
// A spec has five fields (minute, hour, day of the month, month, day of the week) or six, with seconds first, or is one of the
// descriptors @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and "@every 90m".
//
//	field     values            also
//	second    0-59
//	minute    0-59
//	hour      0-23
//	day       1-31              ? L L-3 15W LW
//	month     1-12 or JAN-DEC
//	weekday   0-7 or SUN-SAT    ? 5L 5#2 (0 and 7 are Sunday)
//
// Every field takes *, a value, a range a-b, a step after any of them (*/5, 10/5, 8-18/2), and lists of all that with commas. When
// day and weekday are both restricted, a day that matches either fires; a field that begins with * or ? is not restricted.
//
// # Daylight saving
//
// Only the hour field decides. A schedule with fixed hours fires once for each of its local times: at the first instant after the
// gap where the clock skips it, and in the first copy where the clock repeats it. A schedule whose hour field has a * or a step
// follows the clock on the wall: it has nothing in a skipped hour and fires in both copies of a repeated one.
package cron

import "time"

// Schedule is a parsed spec. It is immutable and safe for concurrent use.
type Schedule struct {
	text string
	// every is the interval of an @every schedule, 0 for all others.
	every time.Duration
	clock clock
	days  days
	// follows says that the hour field has a * or a step, so that the schedule follows the wall clock through changes of it.
	follows bool
}

// horizon is how far ahead Next looks: five years with two leap days.
const horizon = (5*365 + 2) * 24 * time.Hour

// String returns the spec in its normalised form: five fields where the seconds are 0, names in upper case, numbers without
// leading zeros, ? as *, single spaces; descriptors in lower case, with @annually and @midnight as @yearly and @daily. It parses
// to an equal schedule.
func (s *Schedule) String() string { return s.text }

// Next returns the first time after t at which the schedule fires, in t's location and in whole seconds. It is the zero time when
// there is none within five years and two days.
//
// An @every schedule fires one interval after t cut to the second. All others follow t's location, also through changes of its
// offset; see the package comment.
func (s *Schedule) Next(t time.Time) time.Time {
	next, _ := s.next(t)
	return next
}

// next also counts the months that it looked at.
func (s *Schedule) next(t time.Time) (next time.Time, steps int) {
	limit := t.Add(horizon)
	if s.every > 0 {
		next = t.Truncate(time.Second).Add(s.every)
	} else {
		search := search{schedule: s, location: t.Location(), limit: limit.Unix()}
		var at int64
		var ok bool
		if s.follows {
			at, ok = search.following(t)
		} else {
			at, ok = search.fixed(t)
		}
		steps = search.steps
		if !ok {
			return time.Time{}, steps
		}
		next = time.Unix(at, 0).In(t.Location())
	}
	if next.After(limit) {
		return time.Time{}, steps
	}
	return next, steps
}

// Interval reports whether this is an @every schedule, whose times depend on the one before and on nothing else.
func (s *Schedule) Interval() bool { return s.every > 0 }
