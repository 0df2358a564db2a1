package kiln

import (
	"math"
	"math/rand/v2"
	"time"
)

// Backoff computes how long a job waits after an attempt that failed. The first attempt is 1; err is what it failed with. A
// negative wait counts as 0. A Backoff is itself a [HandleOption]. It must be safe for concurrent use.
type Backoff func(attempt int, err error) time.Duration

// Exponential doubles the wait with each attempt, from base up to limit, and draws the actual one between half of that and
// all of it. A base or limit of 0 or less is no wait.
func Exponential(base, limit time.Duration) Backoff {
	return func(attempt int, _ error) time.Duration {
		v := min(float64(base)*math.Pow(2, float64(max(attempt, 1)-1)), float64(limit))
		if v <= 0 {
			return 0
		}
		return drawn(v/2, v)
	}
}

// Constant waits d after every attempt.
func Constant(d time.Duration) Backoff {
	return func(int, error) time.Duration { return d }
}

// Delays waits ds[0] after the first attempt, ds[1] after the second and so on, and the last one from then on. No delays mean
// the default backoff.
func Delays(ds ...time.Duration) Backoff {
	if len(ds) == 0 {
		return defaultBackoff
	}
	ds = append([]time.Duration(nil), ds...)
	return func(attempt int, _ error) time.Duration {
		return ds[min(max(attempt, 1), len(ds))-1]
	}
}

// defaultBackoff waits (attempt-1)⁴ + 15 seconds and up to 29 seconds more per attempt.
func defaultBackoff(attempt int, _ error) time.Duration {
	n := float64(max(attempt, 1))
	seconds := math.Pow(n-1, 4) + 15 + float64(rand.IntN(30))*n
	return clamped(seconds * float64(time.Second))
}

// clamped turns nanoseconds into a duration without overflow.
func clamped(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

func drawn(from, to float64) time.Duration {
	return clamped(from + rand.Float64()*(to-from))
}
