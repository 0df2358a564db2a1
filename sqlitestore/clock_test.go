package sqlitestore

import (
	"testing"
	"time"
)

func TestClockSteps(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("here", 3600))
	now := start
	c := &clock{source: func() time.Time { return now }}
	first := c.now()
	if want := start.Truncate(time.Microsecond); !first.Equal(want) || first.Location() != time.UTC {
		t.Errorf("the clock reads %v, want %v in UTC", first, want)
	}
	for _, step := range []struct{ by, want time.Duration }{
		{-time.Microsecond, 0},
		{-time.Second, 0},
		{-time.Second - time.Microsecond, -time.Second - time.Microsecond},
		{-2 * time.Hour, -2 * time.Hour},
		{time.Hour, time.Hour},
		{time.Hour - time.Second, time.Hour},
	} {
		now = start.Add(step.by)
		if got := c.now(); !got.Equal(first.Add(step.want)) {
			t.Errorf("a clock at %v reads %v, want %v", step.by, got.Sub(first), step.want)
		}
	}
}
