package cron

import "time"

// A civil time is what a wall clock shows, counted in seconds as if the clock had always been in UTC. Calendars know nothing of
// offsets, so a search runs over civil times, and zones come in only where one is turned into an instant or back.

// day is the length of a civil day in seconds.
const day = 24 * 60 * 60

// widest is more than any offset from UTC, in seconds.
const widest = 26 * 60 * 60

// search is one call of Next.
type search struct {
	schedule *Schedule
	location *time.Location
	// limit is the last instant, in Unix seconds, that is of interest.
	limit int64
	// steps counts the months that were looked at.
	steps int
}

// fixed finds the next instant of a schedule with fixed hours. Each of its civil times happens once: at the first instant at which
// the clock shows that time or a later one. That is the first copy of a repeated time, and the end of the gap for one that is
// skipped.
func (f *search) fixed(after time.Time) (int64, bool) {
	civil, ok := f.civil(f.unseen(after), f.limit+widest)
	if !ok {
		return 0, false
	}
	return f.reached(civil), true
}

// unseen is the first civil time that the clock has not shown, nor passed over, up to t.
func (f *search) unseen(t time.Time) int64 {
	_, offset := t.Zone()
	first := t.Unix() + 1 + int64(offset)
	// Where the clock was set back, it may have shown later times before.
	for start, _ := t.ZoneBounds(); !start.IsZero() && t.Unix()-start.Unix() < 2*widest; {
		before := start.Add(-time.Second)
		_, offset := before.Zone()
		first = max(first, start.Unix()+int64(offset))
		start, _ = before.ZoneBounds()
	}
	return first
}

// reached is the first instant at which the clock shows the civil time or a later one.
func (f *search) reached(civil int64) int64 {
	for at := civil - widest; ; {
		offset, end := f.zone(at)
		first := max(at, civil-int64(offset))
		if end == 0 || first < end {
			return first
		}
		at = end
	}
}

// following finds the next instant at which the clock shows a time of the schedule. Between two changes of the offset, civil times
// and instants run side by side.
func (f *search) following(after time.Time) (int64, bool) {
	for at := after.Unix() + 1; at <= f.limit; {
		offset, end := f.zone(at)
		last := f.limit
		if end != 0 {
			last = min(last, end-1)
		}
		if civil, ok := f.civil(at+int64(offset), last+int64(offset)); ok {
			return civil - int64(offset), true
		}
		if end == 0 {
			break
		}
		at = end
	}
	return 0, false
}

// zone is the offset that holds at an instant, and the instant at which another one follows, 0 when none does.
func (f *search) zone(at int64) (offset int, end int64) {
	t := time.Unix(at, 0).In(f.location)
	_, offset = t.Zone()
	if _, to := t.ZoneBounds(); !to.IsZero() {
		end = to.Unix()
	}
	return offset, end
}

// civil finds the first civil time of the schedule from first to last. It looks at each month once, and in a month at the days that
// match.
func (f *search) civil(first, last int64) (int64, bool) {
	if first > last {
		return 0, false
	}
	from := time.Unix(first, 0).UTC()
	year, month, today := from.Date()
	second := int(first - time.Date(year, month, today, 0, 0, 0, 0, time.UTC).Unix())
	for {
		f.steps++
		midnight := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Unix()
		if midnight > last {
			return 0, false
		}
		matching := f.schedule.days.of(year, month)
		for d := nextBit(matching, today); d > 0; d = nextBit(matching, d+1) {
			if d > today {
				second = 0
			}
			if s, ok := f.schedule.clock.from(second); ok {
				at := midnight + int64(d-1)*day + int64(s)
				return at, at <= last
			}
			// A day has no time left only when the search began in it.
		}
		today, second = 1, 0
		if month++; month > time.December {
			year, month = year+1, time.January
		}
	}
}

// clock is the part of a schedule within a day, a bit for each value.
type clock struct{ seconds, minutes, hours uint64 }

// from is the first second of a day, not before the given one, at which the schedule fires.
func (c *clock) from(second int) (int, bool) {
	h, m, s := second/3600, second/60%60, second%60
	if c.hours>>h&1 != 0 {
		if c.minutes>>m&1 != 0 {
			if next := nextBit(c.seconds, s); next >= 0 {
				return h*3600 + m*60 + next, true
			}
		}
		if next := nextBit(c.minutes, m+1); next >= 0 {
			return h*3600 + next*60 + nextBit(c.seconds, 0), true
		}
	}
	next := nextBit(c.hours, h+1)
	if next < 0 {
		return 0, false
	}
	return next*3600 + nextBit(c.minutes, 0)*60 + nextBit(c.seconds, 0), true
}
