package storekit

import (
	"math"
	"time"
)

// maxSeconds is where instants end that fit into microseconds, in the year 294247.
const maxSeconds = math.MaxInt64 / 1_000_000

// Micros is how stores keep an instant: microseconds since the Unix epoch, rounded down. The zero time is 0. The first
// microsecond of 1970, which would be 0 as well, is kept as the second; an instant that is too far away as the last that fits.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	switch s := t.Unix(); {
	case s >= maxSeconds:
		return maxSeconds * 1_000_000
	case s <= -maxSeconds:
		return -maxSeconds * 1_000_000
	}
	if micros := t.UnixMicro(); micros != 0 {
		return micros
	}
	return 1
}

// Instant is the inverse of Micros. It answers in UTC, so that two readings of one stored value are equal with ==.
func Instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Stamp is t as a store gives it back: in UTC, to the microsecond, without a monotonic reading.
func Stamp(t time.Time) time.Time { return Instant(Micros(t)) }

// TimeoutMillis is how stores keep a job's timeout: 0 unset, -1 none, otherwise milliseconds, rounded up.
func TimeoutMillis(d time.Duration) int64 {
	switch {
	case d == 0:
		return 0
	case d < 0:
		return -1
	}
	return int64((d-1)/time.Millisecond) + 1
}

// MillisTimeout is the inverse of TimeoutMillis. What is longer than a duration can be is the longest one.
func MillisTimeout(ms int64) time.Duration {
	switch {
	case ms < 0:
		return -1
	case ms > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// Later is t plus d; a negative d counts as 0.
func Later(t time.Time, d time.Duration) time.Time {
	if d <= 0 {
		return t
	}
	return t.Add(d)
}
