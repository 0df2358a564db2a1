package cron

import (
	"math/bits"
	"time"
)

// days is the part of a schedule that picks days. Bit n stands for the value n.
type days struct {
	months uint64
	// month and week are the plain values of the day and the weekday field, Sunday as 0.
	month, week uint64
	// monthOpen and weekOpen say that a field begins with *, so that it restricts nothing by itself.
	monthOpen, weekOpen bool

	// beforeLast are days counted back from the last of the month: L is 0, L-3 is 3.
	beforeLast uint64
	// nearest are the days whose nearest weekday is meant.
	nearest uint64
	// lastWorking is LW.
	lastWorking bool
	// lastWeek are the weekdays of which the last of the month is meant.
	lastWeek uint64
	// nth are the weekdays of which the first to the fifth of the month is meant: nth[k-1].
	nth [5]uint64
}

// of is the days of a month that match.
func (d *days) of(year int, month time.Month) uint64 {
	if d.months>>uint(month)&1 == 0 {
		return 0
	}
	first := int(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Weekday())
	m := monthOf{last: daysIn(year, month), first: first}
	byMonth, byWeek := d.byMonth(m), d.byWeek(m)
	if d.monthOpen || d.weekOpen {
		return byMonth & byWeek
	}
	return byMonth | byWeek
}

// byMonth is the days that the day field picks.
func (d *days) byMonth(m monthOf) uint64 {
	picked := d.month & m.all()
	for n := nextBit(d.beforeLast, 0); n >= 0; n = nextBit(d.beforeLast, n+1) {
		if n < m.last {
			picked |= 1 << (m.last - n)
		}
	}
	for n := nextBit(d.nearest, 1); n >= 0 && n <= m.last; n = nextBit(d.nearest, n+1) {
		picked |= 1 << m.working(n)
	}
	if d.lastWorking {
		picked |= 1 << m.working(m.last)
	}
	return picked
}

// byWeek is the days that the weekday field picks.
func (d *days) byWeek(m monthOf) uint64 {
	var picked uint64
	for n := 1; n <= m.last; n++ {
		weekday := uint64(1) << m.weekday(n)
		if d.week&weekday != 0 || d.nth[(n-1)/7]&weekday != 0 || d.lastWeek&weekday != 0 && n+7 > m.last {
			picked |= 1 << n
		}
	}
	return picked
}

// monthOf is a month's last day and the weekday of its first.
type monthOf struct{ last, first int }

func (m monthOf) all() uint64 { return 1<<(m.last+1) - 2 }

func (m monthOf) weekday(n int) int { return (m.first + n - 1) % 7 }

// working is the weekday nearest to a day, never in another month.
func (m monthOf) working(n int) int {
	switch {
	case m.weekday(n) == int(time.Saturday) && n == 1:
		return 3
	case m.weekday(n) == int(time.Saturday):
		return n - 1
	case m.weekday(n) == int(time.Sunday) && n == m.last:
		return n - 2
	case m.weekday(n) == int(time.Sunday):
		return n + 1
	}
	return n
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// nextBit is the lowest set bit that is not below n, -1 when there is none.
func nextBit(set uint64, n int) int {
	if n > 63 {
		return -1
	}
	if set &= ^uint64(0) << n; set != 0 {
		return bits.TrailingZeros64(set)
	}
	return -1
}
