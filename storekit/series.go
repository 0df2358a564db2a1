package storekit

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// CheckSeries checks the step of a Series call.
func CheckSeries(step time.Duration) error {
	if step <= 0 || step%time.Minute != 0 {
		return fmt.Errorf("%w: series step %s is not a positive multiple of 1m", driver.ErrInvalid, step)
	}
	return nil
}

// Bucket is the start of the bucket that holds the instant, aligned to the epoch. Both are minutes since the epoch.
func Bucket(minute int64, step time.Duration) int64 {
	n := int64(step / time.Minute)
	b := minute - minute%n
	if minute < 0 && minute%n != 0 {
		b -= n
	}
	return b
}

// Minute is the number of the minute since the epoch that holds t.
func Minute(t time.Time) int64 {
	sec := t.Unix()
	m := sec / 60
	if sec < 0 && sec%60 != 0 {
		m--
	}
	return m
}

// MinuteTime is the start of a minute since the epoch.
func MinuteTime(minute int64) time.Time { return time.Unix(minute*60, 0).UTC() }

// MinuteFrom is the first minute since the epoch that does not start before t.
func MinuteFrom(t time.Time) int64 {
	minute := Minute(t)
	if MinuteTime(minute).Before(t) {
		minute++
	}
	return minute
}

// SeriesRange is the minutes that a Series call reads: from the start of the bucket that holds from, up to, but without, the
// first minute that does not start before to.
func SeriesRange(from, to time.Time, step time.Duration) (first, end int64) {
	return Bucket(Minute(from), step), MinuteFrom(to)
}
