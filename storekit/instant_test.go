package storekit

import (
	"math"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

var noon = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

func TestStamp(t *testing.T) {
	tokyo := time.FixedZone("Tokyo", 9*3600)
	for _, c := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Time{}.In(tokyo), time.Time{}},
		{noon, noon},
		{noon.In(tokyo), noon},
		{noon.Add(1999), noon.Add(1000)},
		{noon.Add(-1), noon.Add(-1000)},
		{time.Unix(-1, 999_999_999), time.Unix(-1, 999_999_000).UTC()},
		{time.Unix(0, 0), time.Unix(0, 1000).UTC()},
		{time.Unix(0, 999), time.Unix(0, 1000).UTC()},
		{time.Unix(0, 1000), time.Unix(0, 1000).UTC()},
		{time.Unix(1<<55, 0), time.Unix(maxSeconds, 0).UTC()},
		{time.Unix(-1<<55, 0), time.Unix(-maxSeconds, 0).UTC()},
	} {
		if got := Stamp(c.in); got != c.want {
			t.Errorf("Stamp(%v) is %v, want %v", c.in, got, c.want)
		}
	}
	if read := time.Now(); Stamp(read) != Stamp(read.Round(0)) || !Stamp(read).Equal(read.Truncate(time.Microsecond)) {
		t.Errorf("Stamp(%v) keeps more or less than the microsecond: %v", read, Stamp(read))
	}
}

func FuzzInstant(f *testing.F) {
	f.Add(int64(0), int64(0), 0)
	f.Add(int64(1709208000), int64(123456789), 3600)
	f.Add(int64(-1), int64(999_999_999), -7200)
	f.Add(int64(-62135596800), int64(0), 0)
	f.Add(int64(math.MaxInt64/1_000_000), int64(775_807_000), 0)
	f.Add(int64(math.MinInt64), int64(1), 1)
	f.Add(int64(-62135596800), int64(96), -88)
	f.Fuzz(func(t *testing.T, sec, nsec int64, zone int) {
		// Beyond that, package time itself wraps around.
		in := time.Unix(sec%(1<<60), nsec%1_000_000_000).In(time.FixedZone("somewhere", zone%86400))
		got := Stamp(in)
		if got.Location() != time.UTC || got != Stamp(in.UTC()) || got != Stamp(got) || got != Instant(Micros(in)) {
			t.Fatalf("Stamp(%v) is not one value in UTC: %v", in, got)
		}
		if got.IsZero() != in.Truncate(time.Microsecond).IsZero() {
			t.Fatalf("Stamp(%v) is %v", in, got)
		}
		if s := in.Unix(); s >= maxSeconds || s <= -maxSeconds {
			return
		}
		lost := in.Sub(got)
		if first := in.Unix() == 0 && in.Nanosecond() < 1000; first && lost >= -time.Microsecond && lost < 0 {
			return
		}
		if lost < 0 || lost >= time.Microsecond {
			t.Errorf("Stamp(%v) is %s before it", in, lost)
		}
	})
}

func FuzzMicros(f *testing.F) {
	for _, m := range []int64{0, 1, -1, 999_999, 1709208000123456, -62135596800000001, math.MaxInt64, math.MinInt64} {
		f.Add(m, m+1)
	}
	// The zero time counts from year 1, and is kept as 0.
	const yearOne = -62135596800000000
	inRange := func(m int64) bool {
		return m != 0 && m != yearOne && m < maxSeconds*1_000_000 && m > -maxSeconds*1_000_000
	}
	f.Fuzz(func(t *testing.T, a, b int64) {
		if !inRange(a) || !inRange(b) {
			return
		}
		if got := Micros(Instant(a)); got != a {
			t.Errorf("Micros(Instant(%d)) is %d", a, got)
		}
		if a <= b == Instant(a).After(Instant(b)) {
			t.Errorf("%d and %d are %v and %v, the other way round", a, b, Instant(a), Instant(b))
		}
	})
}

func TestTimeoutMillis(t *testing.T) {
	for _, c := range []struct {
		in   time.Duration
		want int64
		back time.Duration
	}{
		{0, 0, 0},
		{-1, -1, -1},
		{math.MinInt64, -1, -1},
		{1, 1, time.Millisecond},
		{time.Millisecond - 1, 1, time.Millisecond},
		{time.Millisecond, 1, time.Millisecond},
		{time.Millisecond + 1, 2, 2 * time.Millisecond},
		{time.Hour, 3_600_000, time.Hour},
		{math.MaxInt64, 9_223_372_036_855, math.MaxInt64},
		{math.MaxInt64 - 775_807, 9_223_372_036_854, math.MaxInt64 - 775_807},
	} {
		if got := TimeoutMillis(c.in); got != c.want {
			t.Errorf("TimeoutMillis(%d) is %d, want %d", c.in, got, c.want)
		}
		if got := MillisTimeout(c.want); got != c.back {
			t.Errorf("MillisTimeout(%d) is %d, want %d", c.want, got, c.back)
		}
	}
	if got := MillisTimeout(math.MinInt64); got != -1 {
		t.Errorf("MillisTimeout of the least number is %d", got)
	}
}

func FuzzTimeoutMillis(f *testing.F) {
	for _, d := range []int64{0, 1, -1, 999_999, 1_000_000, 1_000_001, math.MaxInt64, math.MinInt64} {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		d := time.Duration(n)
		back := MillisTimeout(TimeoutMillis(d))
		switch {
		case d == 0 && back != 0, d < 0 && back != -1, d > 0 && (back < d || back-d >= time.Millisecond):
			t.Errorf("%d came back as %d", d, back)
		}
		if TimeoutMillis(back) != TimeoutMillis(d) || MillisTimeout(TimeoutMillis(back)) != back {
			t.Errorf("%d came back as %d, which does not stay", d, back)
		}
	})
}

func TestLater(t *testing.T) {
	for d, want := range map[time.Duration]time.Time{
		0: noon, -1: noon, math.MinInt64: noon, 1: noon.Add(1), time.Hour: noon.Add(time.Hour), math.MaxInt64: noon.Add(math.MaxInt64),
	} {
		if got := Later(noon, d); got != want {
			t.Errorf("Later by %d is %v, want %v", d, got, want)
		}
	}
}

func TestRunAt(t *testing.T) {
	paris := time.FixedZone("Paris", 3600)
	for name, c := range map[string]struct {
		p    driver.InsertParams
		want time.Time
	}{
		"nothing given":      {driver.InsertParams{}, noon},
		"delay":              {driver.InsertParams{Delay: time.Hour}, noon.Add(time.Hour)},
		"negative delay":     {driver.InsertParams{Delay: -time.Hour}, noon},
		"delay to the µs":    {driver.InsertParams{Delay: 1999}, noon.Add(1000)},
		"run time":           {driver.InsertParams{RunAt: noon.Add(time.Minute)}, noon.Add(time.Minute)},
		"run time and delay": {driver.InsertParams{RunAt: noon.Add(time.Minute), Delay: time.Hour}, noon.Add(time.Minute)},
		"past run time":      {driver.InsertParams{RunAt: noon.Add(-time.Minute)}, noon.Add(-time.Minute)},
		"other zone":         {driver.InsertParams{RunAt: noon.Add(1500).In(paris)}, noon.Add(1000)},
		"start of 1970":      {driver.InsertParams{RunAt: time.Unix(0, 0)}, time.Unix(0, 1000).UTC()},
	} {
		if got := RunAt(&c.p, noon); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestReady(t *testing.T) {
	for _, c := range []struct {
		runAt   time.Time
		limited bool
		want    driver.State
	}{
		{noon.Add(-time.Hour), false, driver.Enqueued},
		{noon.Add(-time.Hour), true, driver.Throttled},
		{noon, false, driver.Enqueued},
		{noon, true, driver.Throttled},
		{noon.Add(time.Microsecond), false, driver.Scheduled},
		{noon.Add(time.Microsecond), true, driver.Scheduled},
	} {
		if got := Ready(c.runAt, noon, c.limited); got != c.want {
			t.Errorf("run time %v, limited %t: %s, want %s", c.runAt, c.limited, got, c.want)
		}
		for pending, want := range map[int]driver.State{0: c.want, 1: driver.Awaiting, 3: driver.Awaiting} {
			if got := FirstState(false, pending, c.runAt, noon, c.limited); got != want {
				t.Errorf("run time %v, limited %t, %d pending: first state %s, want %s", c.runAt, c.limited, pending, got, want)
			}
			if got := FirstState(true, pending, c.runAt, noon, c.limited); got != driver.Deleted {
				t.Errorf("doomed, run time %v, limited %t, %d pending: first state %s", c.runAt, c.limited, pending, got)
			}
		}
	}
}
