package storekit

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func TestCheckSeries(t *testing.T) {
	for _, step := range []time.Duration{time.Minute, 2 * time.Minute, time.Hour, 24 * time.Hour} {
		if err := CheckSeries(step); err != nil {
			t.Errorf("step %s: %v", step, err)
		}
	}
	for _, step := range []time.Duration{0, -1, -time.Minute, 1, time.Second, 59 * time.Second, time.Minute + 1, 90 * time.Second} {
		if err := CheckSeries(step); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), step.String()) || !strings.Contains(err.Error(), "1m") {
			t.Errorf("step %s: %v, want ErrInvalid with the step and the bound", step, err)
		}
	}
}

func TestSeriesRange(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse("15:04:05.999999", s)
		if err != nil {
			t.Fatal(err)
		}
		return noon.Truncate(24 * time.Hour).Add(v.Sub(v.Truncate(24 * time.Hour)))
	}
	for _, c := range []struct {
		from, to, step   string
		first, lastStart string
	}{
		{"12:00:00", "12:05:00", "1m", "12:00:00", "12:04:00"},
		{"12:00:59.999999", "12:05:00.000001", "1m", "12:00:00", "12:05:00"},
		{"12:07:00", "12:12:00", "5m", "12:05:00", "12:11:00"},
		{"12:59:59", "13:00:30", "1h", "12:00:00", "13:00:00"},
		{"23:59:00", "23:59:01", "24h", "00:00:00", "23:59:00"},
		// The bucket that holds from is read from its start, even when to lies in it before from.
		{"12:09:00", "12:07:00", "5m", "12:05:00", "12:06:00"},
	} {
		step, err := time.ParseDuration(c.step)
		if err != nil {
			t.Fatal(err)
		}
		first, end := SeriesRange(at(c.from), at(c.to), step)
		if MinuteTime(first) != at(c.first) || MinuteTime(end-1) != at(c.lastStart) {
			t.Errorf("%s to %s by %s reads from %v to %v, want %s to %s", c.from, c.to, c.step, MinuteTime(first), MinuteTime(end-1), c.first, c.lastStart)
		}
	}
	if first, end := SeriesRange(noon, noon, time.Minute); first != end {
		t.Errorf("an empty range reads minutes %d to %d", first, end)
	}
}

func TestBucketsAndMinutesBeforeTheEpoch(t *testing.T) {
	for _, c := range []struct{ minute, n, want int64 }{
		{0, 5, 0}, {4, 5, 0}, {5, 5, 5}, {-1, 5, -5}, {-4, 5, -5}, {-5, 5, -5}, {-6, 5, -10}, {-10, 5, -10}, {-3, 1, -3},
	} {
		if got := Bucket(c.minute, time.Duration(c.n)*time.Minute); got != c.want {
			t.Errorf("Bucket(%d, %dm) is %d, want %d", c.minute, c.n, got, c.want)
		}
	}
	for sec, want := range map[int64]int64{0: 0, 59: 0, 60: 1, -1: -1, -59: -1, -60: -1, -61: -2, -120: -2} {
		if got := Minute(time.Unix(sec, 999)); got != want {
			t.Errorf("Minute of second %d is %d, want %d", sec, got, want)
		}
	}
}

// slowMinute divides without rounding towards zero and without the limits of an int64.
func slowMinute(t time.Time) int64 {
	ns := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1_000_000_000))
	ns.Add(ns, big.NewInt(int64(t.Nanosecond())))
	return ns.Div(ns, big.NewInt(int64(time.Minute))).Int64()
}

// slowBucket walks back to the minute that a bucket begins with.
func slowBucket(minute, n int64) int64 {
	for minute%n != 0 {
		minute--
	}
	return minute
}

func FuzzSeries(f *testing.F) {
	f.Add(int64(0), int64(0), int64(1), uint16(1))
	f.Add(int64(-1), int64(999_999_999), int64(-61), uint16(5))
	f.Add(int64(-60), int64(0), int64(60), uint16(7))
	f.Add(int64(-600), int64(0), int64(60), uint16(4))
	f.Add(int64(1709208000), int64(1), int64(3600), uint16(1440))
	f.Add(int64(-62135596800), int64(0), int64(1), uint16(60))
	f.Fuzz(func(t *testing.T, sec, nsec, span int64, n uint16) {
		const far = 200_000_000_000 // seconds: more than 6,000 years
		steps := int64(n%2000) + 1
		step := time.Duration(steps) * time.Minute
		from := time.Unix(sec%far, nsec%1_000_000_000)
		to := from.Add(time.Duration(span % (40 * 3600 * 1_000_000_000)))
		minute := Minute(from)
		if want := slowMinute(from); minute != want {
			t.Fatalf("Minute(%v) is %d, want %d", from, minute, want)
		}
		if start := MinuteTime(minute); start.After(from) || from.Sub(start) >= time.Minute || start.Location() != time.UTC {
			t.Errorf("minute %d of %v starts at %v", minute, from, start)
		}
		if got, want := Bucket(minute, step), slowBucket(minute, steps); got != want {
			t.Fatalf("Bucket(%d, %s) is %d, want %d", minute, step, got, want)
		}
		first, end := SeriesRange(from, to, step)
		if first != slowBucket(slowMinute(from), steps) {
			t.Errorf("the range from %v by %s begins with minute %d", from, step, first)
		}
		if MinuteTime(end).Before(to) || !MinuteTime(end-1).Before(to) {
			t.Errorf("the range up to %v ends before %v", to, MinuteTime(end))
		}
	})
}
