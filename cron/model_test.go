package cron

import (
	"math/rand/v2"
	"testing"
	"time"
)

// model walks over every second and asks what the wall clock shows. It shares nothing with Next but the parsed fields' meaning,
// which each case spells out.
type model struct {
	spec    string
	follows bool
	match   func(wall time.Time) bool
}

var models = []model{
	{"0 0 * * * *", true, func(w time.Time) bool { return w.Minute() == 0 && w.Second() == 0 }},
	{"15 */20 * * * *", true, func(w time.Time) bool { return w.Minute()%20 == 0 && w.Second() == 15 }},
	{"30 2 * * *", false, func(w time.Time) bool { return w.Hour() == 2 && w.Minute() == 30 && w.Second() == 0 }},
	{"0 0 * * *", false, func(w time.Time) bool { return w.Hour() == 0 && w.Minute() == 0 && w.Second() == 0 }},
	{"*/10 0-3 * * *", false, func(w time.Time) bool { return w.Hour() <= 3 && w.Minute()%10 == 0 && w.Second() == 0 }},
	{"59 59 23 * * *", false, func(w time.Time) bool { return w.Hour() == 23 && w.Minute() == 59 && w.Second() == 59 }},
	{"45 1,2,23 * * SAT,SUN", false, func(w time.Time) bool {
		h := w.Hour()
		weekend := w.Weekday() == time.Saturday || w.Weekday() == time.Sunday
		return (h == 1 || h == 2 || h == 23) && w.Minute() == 45 && w.Second() == 0 && weekend
	}},
	{"5 */3 * * 0", true, func(w time.Time) bool {
		return w.Hour()%3 == 0 && w.Minute() == 5 && w.Second() == 0 && w.Weekday() == time.Sunday
	}},
}

// changes are moments around which clocks change in all the ways there are.
var changes = []struct{ zone, at string }{
	{"Europe/Berlin", "2025-03-30T01:00Z"}, {"Europe/Berlin", "2025-10-26T01:00Z"},
	{"America/New_York", "2026-03-08T07:00Z"}, {"America/New_York", "2026-11-01T06:00Z"},
	{"Europe/Dublin", "2025-03-30T01:00Z"}, {"Europe/Dublin", "2025-10-26T01:00Z"},
	{"America/Santiago", "2025-09-07T04:00Z"}, {"America/Santiago", "2026-04-05T03:00Z"},
	{"America/Havana", "2026-03-08T05:00Z"}, {"America/Havana", "2026-11-01T05:00Z"},
	{"Australia/Lord_Howe", "2025-10-04T15:30Z"}, {"Australia/Lord_Howe", "2025-04-05T15:00Z"},
	{"Asia/Beirut", "2024-03-30T22:00Z"}, {"Asia/Beirut", "2024-10-26T21:00Z"},
	{"Pacific/Apia", "2011-12-30T10:00Z"}, {"Pacific/Kwajalein", "1993-08-21T12:00Z"},
	{"Africa/Casablanca", "2025-02-23T02:00Z"}, {"America/Sao_Paulo", "2019-02-17T02:00Z"},
	{"America/St_Johns", "2006-10-29T02:31Z"}, {"Asia/Kathmandu", "2026-05-05T00:00Z"}, {"UTC", "2026-05-05T00:00Z"},
}

// fires lists the firings of the model in a window, both ends included. A schedule with fixed hours fires when the clock first
// reaches, or jumps over, a time that matches.
func (m *model) fires(from, to time.Time) []time.Time {
	var out []time.Time
	wall := func(at time.Time) time.Time {
		_, offset := at.Zone()
		return time.Unix(at.Unix()+int64(offset), 0).UTC()
	}
	begin := from.Add(-4 * time.Hour) // no clock here was set back by more
	shown := wall(begin)
	for at := begin; !at.After(to); at = at.Add(time.Second) {
		now := wall(at)
		hit := false
		if m.follows {
			hit = m.match(now)
		} else {
			for shown.Before(now) {
				shown = shown.Add(time.Second)
				hit = hit || m.match(shown)
			}
		}
		if hit && !at.Before(from) {
			out = append(out, at)
		}
	}
	return out
}

// TestModel compares Next with the walk around every kind of change.
func TestModel(t *testing.T) {
	for _, c := range changes {
		t.Run(c.zone+" "+c.at, func(t *testing.T) {
			t.Parallel()
			at := instant(t, c.at).In(zone(t, c.zone))
			from, to := at.Add(-14*time.Hour), at.Add(14*time.Hour)
			for _, m := range models {
				s, last := mustParse(t, m.spec), from.Add(-time.Second)
				for _, want := range m.fires(from, to) {
					got := s.Next(last)
					if !got.Equal(want) {
						t.Errorf("%s after %s: %s, want %s", m.spec, last, got, want)
						break
					}
					last = want
				}
				if got := s.Next(last); !got.After(to) {
					t.Errorf("%s after %s: %s, want nothing before %s", m.spec, last, got, to)
				}
				// From anywhere between two firings the answer is the same.
				r := rand.New(rand.NewPCG(1, 2))
				for range 200 {
					a := from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
					b := s.Next(a)
					between := a.Add(time.Duration(r.Int64N(int64(b.Sub(a)))))
					if got := s.Next(between); !got.Equal(b) {
						t.Errorf("%s: %s follows %s, and %s follows %s in between", m.spec, b, a, got, between)
					}
				}
			}
		})
	}
}

// FuzzNext holds every answer against the rules that have no exception: strictly later, whole seconds, in order, and within the
// horizon and a bounded number of steps.
func FuzzNext(f *testing.F) {
	f.Add("30 2 * * *", "America/New_York", int64(1772900000), int64(1000))
	f.Add("*/15 * L * 5#2", "Africa/Casablanca", int64(1740250000), int64(5))
	f.Add("0 0 29 2 *", "Pacific/Apia", int64(1325200000), int64(90000))
	f.Add("@every 61s", "UTC", int64(-1), int64(1))
	f.Add("0 12 1W,LW */3 *", "Pacific/Kwajalein", int64(745900000), int64(86400))
	f.Fuzz(func(t *testing.T, spec, zoneName string, unix, gap int64) {
		s, err := Parse(spec)
		if err != nil {
			return
		}
		l, err := time.LoadLocation(zoneName)
		if err != nil {
			return
		}
		const century = 100 * 365 * day
		a := time.Unix(unix%century, gap%1e9).In(l)
		if gap%1e9 < 0 {
			a = time.Unix(unix%century, 0).In(l)
		}
		b := a.Add(time.Duration((gap%(30*day)+30*day)%(30*day)) * time.Second)
		after, steps := s.next(a)
		later, _ := s.next(b)
		if steps > 300 {
			t.Errorf("%s after %s took %d steps", s, a, steps)
		}
		if after.IsZero() {
			return
		}
		if !after.After(a) || after.Nanosecond() != 0 || after.Sub(a) > horizon || after.Location() != l {
			t.Errorf("%s after %s is %s", s, a, after)
		}
		if !later.IsZero() && later.Before(after) {
			t.Errorf("%s: after %s comes %s, and after %s already %s", s, a, after, b, later)
		}
		if s.every == 0 && b.Before(after) && !later.Equal(after) {
			t.Errorf("%s: after %s comes %s, and after %s, before that, %s", s, a, after, b, later)
		}
	})
}
