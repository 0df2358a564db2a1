package kiln

import (
	"math"
	"testing"
	"time"
)

func TestDefaultBackoff(t *testing.T) {
	for _, c := range []struct {
		attempt     int
		least, most time.Duration
	}{
		{1, 15 * time.Second, 44 * time.Second},
		{2, 16 * time.Second, 74 * time.Second},
		{5, 271 * time.Second, 416 * time.Second},
		{10, 6576 * time.Second, 6866 * time.Second},
	} {
		seen := map[time.Duration]bool{}
		for range 500 {
			d := defaultBackoff(c.attempt, nil)
			if d < c.least || d > c.most || (d-c.least)%(time.Duration(c.attempt)*time.Second) != 0 {
				t.Fatalf("attempt %d waits %s, outside of %s..%s in steps of %ds", c.attempt, d, c.least, c.most, c.attempt)
			}
			seen[d] = true
		}
		if len(seen) < 20 {
			t.Errorf("attempt %d: only %d different waits", c.attempt, len(seen))
		}
	}
}

func TestExponential(t *testing.T) {
	b := Exponential(2*time.Second, 2*time.Minute)
	for attempt, v := range []time.Duration{2, 4, 8, 16, 32, 64, 120, 120, 120, 120, 120} {
		v *= time.Second
		for range 200 {
			if d := b(attempt+1, nil); d < v/2 || d > v {
				t.Fatalf("attempt %d waits %s, outside of %s..%s", attempt+1, d, v/2, v)
			}
		}
	}
	for range 100 {
		var total time.Duration
		for attempt := range 11 {
			total += b(attempt+1, nil)
		}
		if total < 5*time.Minute+3*time.Second || total > 12*time.Minute {
			t.Fatalf("12 attempts wait %s in all", total)
		}
	}
	for _, b := range []Backoff{Exponential(0, time.Minute), Exponential(time.Minute, 0), Exponential(-1, -1)} {
		if d := b(3, nil); d != 0 {
			t.Errorf("no base or limit waits %s", d)
		}
	}
}

func TestBackoffsAtTheEdge(t *testing.T) {
	for name, b := range map[string]Backoff{
		"default": defaultBackoff, "exponential": Exponential(time.Hour, math.MaxInt64), "delays": Delays(time.Second, time.Minute),
		"constant": Constant(time.Hour),
	} {
		for _, attempt := range []int{math.MinInt, -1, 0, 1, 100, 1_000_000, math.MaxInt} {
			if d := b(attempt, nil); d < 0 {
				t.Errorf("%s: attempt %d waits %s", name, attempt, d)
			}
		}
	}
}

func TestDelaysAndConstant(t *testing.T) {
	b := Delays(time.Second, time.Minute)
	for attempt, want := range map[int]time.Duration{1: time.Second, 2: time.Minute, 3: time.Minute, 99: time.Minute} {
		if d := b(attempt, nil); d != want {
			t.Errorf("attempt %d waits %s, want %s", attempt, d, want)
		}
	}
	if d := Delays()(1, nil); d < 15*time.Second || d > 44*time.Second {
		t.Errorf("no delays wait %s, which is not the default", d)
	}
	if d := Constant(7*time.Second)(5, nil); d != 7*time.Second {
		t.Errorf("constant waits %s", d)
	}
}

func FuzzBackoff(f *testing.F) {
	f.Add(1, int64(time.Second), int64(time.Minute))
	f.Fuzz(func(t *testing.T, attempt int, base, limit int64) {
		d := Exponential(time.Duration(base), time.Duration(limit))(attempt, nil)
		if d < 0 || d > max(time.Duration(limit), 0) {
			t.Errorf("Exponential(%d, %d) waits %d at attempt %d", base, limit, d, attempt)
		}
		if d := defaultBackoff(attempt, nil); d < 15*time.Second {
			t.Errorf("default waits %s at attempt %d", d, attempt)
		}
	})
}
