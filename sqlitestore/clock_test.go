package sqlitestore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func TestClockSteps(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("here", 3600))
	now := start
	var logged strings.Builder
	c := &clock{source: func() time.Time { return now }, logger: slog.New(slog.NewTextHandler(&logged, nil))}
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
	if text := logged.String(); strings.Count(text, "set back") != 2 || !strings.Contains(text, "by=1.000001s") {
		t.Errorf("two large steps back are logged as %q", text)
	}
}

// TestLogger hands the logger of New to the clock, and refuses none.
func TestLogger(t *testing.T) {
	var logged strings.Builder
	now := time.Now()
	s := newStore(t, newPool(t), Clock(func() time.Time { return now }), Logger(slog.New(slog.NewTextHandler(&logged, nil))))
	for range 2 {
		if _, err := s.Now(context.Background()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(-time.Hour)
	}
	if _, err := s.Now(context.Background()); err != nil || !strings.Contains(logged.String(), "level=WARN") {
		t.Errorf("two hours back are logged as %q, %v", logged.String(), err)
	}
	for name, option := range map[string]Option{"Logger": Logger(nil), "Clock": Clock(nil)} {
		if _, err := New(context.Background(), newPool(t), option); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("without a %s New returns %v", name, err)
		}
	}
}
