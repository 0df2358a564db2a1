package dashboard

import (
	"strings"
	"time"
)

// clock writes an instant's time of day, and the date before it when that is another day than now's.
func (l *locale) clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	return l.date(t) + " " + t.Format("15:04")
}

// date writes a day, without its year.
func (l *locale) date(t time.Time) string {
	months := strings.Split(l.message("date.months"), " ")
	return l.text("date.day", "month", months[t.Month()-1], "day", t.Day())
}

// instant writes an instant in full, with its zone.
func (l *locale) instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04:05.000 MST")
}

// relative writes how long ago, or how far ahead, an instant is.
func (l *locale) relative(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := now.Sub(t)
	switch {
	case d >= time.Second:
		return l.text("time.ago", "d", l.rough(d))
	case d <= -time.Second:
		return l.text("time.ahead", "d", l.rough(-d))
	default:
		return l.message("time.now")
	}
}

// rough writes a duration with its largest unit alone: people compare these, they do not add them up.
func (l *locale) rough(d time.Duration) string {
	switch {
	case d < time.Minute:
		return l.text("time.s", "n", int64(d/time.Second))
	case d < time.Hour:
		return l.text("time.m", "n", int64(d/time.Minute))
	case d < 48*time.Hour:
		return l.text("time.h", "n", int64(d/time.Hour))
	default:
		return l.text("time.d", "n", int64(d/(24*time.Hour)))
	}
}

// duration writes how long something took, with two units where one would be too rough.
func (l *locale) duration(d time.Duration) string {
	two := func(d, large, small time.Duration, largeKey, smallKey string) string {
		text := l.text(largeKey, "n", int64(d/large))
		if rest := d % large / small; rest > 0 {
			text += " " + l.text(smallKey, "n", int64(rest))
		}
		return text
	}
	switch {
	case d < 0:
		return l.duration(0)
	case d < time.Second:
		return l.text("time.ms", "n", d.Milliseconds())
	case d < 10*time.Second:
		tenths := int64(d / (100 * time.Millisecond))
		if tenths%10 == 0 {
			return l.text("time.s", "n", tenths/10)
		}
		return l.text("time.s", "n", l.number(tenths/10)+l.message("number.decimal")+l.number(tenths%10))
	case d < time.Minute:
		return l.text("time.s", "n", int64(d/time.Second))
	case d < time.Hour:
		return two(d, time.Minute, time.Second, "time.m", "time.s")
	case d < 48*time.Hour:
		return two(d, time.Hour, time.Minute, "time.h", "time.m")
	default:
		return two(d, 24*time.Hour, time.Hour, "time.d", "time.h")
	}
}
