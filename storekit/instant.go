package storekit

import "time"

// Micros is how stores keep an instant: microseconds since the Unix epoch. The zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
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

// MillisTimeout is the inverse of TimeoutMillis.
func MillisTimeout(ms int64) time.Duration {
	if ms < 0 {
		return -1
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
