package cron

import (
	"testing"
	"time"
	_ "time/tzdata"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustParse(t testing.TB, spec string) *Schedule {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	for _, layout := range []string{"2006-01-02T15:04Z", time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	t.Fatalf("%q is no instant", text)
	return time.Time{}
}

// TestNext goes through days, in UTC: each spec from a start, with what comes next.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		spec, from string
		want       []string
	}{
		{"* * * * *", "2026-01-01T00:00:00Z", []string{"2026-01-01T00:01Z", "2026-01-01T00:02Z"}},
		{"* * * * *", "2025-12-31T23:59:59.999Z", []string{"2026-01-01T00:00Z"}},
		{"* * * * * *", "2026-01-01T00:00:00.5Z", []string{"2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"}},
		{"30 5 7 * * *", "2026-01-01", []string{"2026-01-01T07:05:30Z", "2026-01-02T07:05:30Z"}},
		{"10/20 * * * *", "2026-01-01", []string{"2026-01-01T00:10Z", "2026-01-01T00:30Z", "2026-01-01T00:50Z", "2026-01-01T01:10Z"}},
		{"0 8-18/5 * * *", "2026-01-01", []string{"2026-01-01T08:00Z", "2026-01-01T13:00Z", "2026-01-01T18:00Z", "2026-01-02T08:00Z"}},
		{"0 0 31 * *", "2026-01-31", []string{"2026-03-31", "2026-05-31", "2026-07-31", "2026-08-31"}},
		{"0 0 29 2 *", "2026-01-01", []string{"2028-02-29", "2032-02-29"}},
		{"0 0 L * *", "2026-01-15", []string{"2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"}},
		{"0 0 L-30 * *", "2026-01-15", []string{"2026-03-01", "2026-05-01"}},
		{"0 0 L-3 2 *", "2028-01-01", []string{"2028-02-26"}},
		{"0 0 1W * *", "2026-07-15", []string{"2026-08-03", "2026-09-01", "2026-10-01", "2026-11-02"}},  // 1 Aug: Saturday, 1 Nov: Sunday
		{"0 0 15W * *", "2026-01-20", []string{"2026-02-16", "2026-03-16", "2026-04-15", "2026-05-15"}}, // 15 Feb: Sunday
		{"0 0 15W 8 *", "2026-01-20", []string{"2026-08-14"}},                                           // a Saturday
		{"0 0 31W * *", "2026-05-01", []string{"2026-05-29", "2026-07-31", "2026-08-31"}},               // 31 May: Sunday; June has none
		{"0 0 30W 8 *", "2026-01-01", []string{"2026-08-31"}},                                           // a Sunday
		{"0 0 LW * *", "2026-01-01", []string{"2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30", "2026-05-29"}},
		{"0 0 * * 5L", "2026-01-01", []string{"2026-01-30", "2026-02-27", "2026-03-27"}},
		{"0 0 * * 0L,7#1", "2026-01-01", []string{"2026-01-04", "2026-01-25", "2026-02-01", "2026-02-22"}},
		{"0 0 * * FRI#5", "2026-01-01", []string{"2026-01-30", "2026-05-29"}},
		{"0 0 * * 7", "2026-01-01", []string{"2026-01-04", "2026-01-11"}},
		{"0 0 * * 5-7", "2026-01-01", []string{"2026-01-02", "2026-01-03", "2026-01-04", "2026-01-09"}},
		{"0 0 * * MON/3", "2026-01-01", []string{"2026-01-04", "2026-01-05", "2026-01-08"}}, // 1, 4, 7
		{"0 0 13 * 5", "2026-02-10", []string{"2026-02-13", "2026-02-20", "2026-02-27", "2026-03-06", "2026-03-13"}},
		{"0 0 */10 * 1", "2026-01-01", []string{"2026-05-11", "2026-06-01", "2026-08-31"}}, // both: the 1st, 11th, 21st or 31st, a Monday
		{"0 0 ?,13 * 5", "2026-01-01", []string{"2026-01-02", "2026-01-09"}},
		{"0 0 13 * */5", "2026-01-01", []string{"2026-02-13", "2026-03-13", "2026-09-13"}}, // both: a Sunday or a Friday
		{"0 0 13,* * 5", "2026-01-01", []string{"2026-01-02", "2026-01-03"}},               // restricted, and every day of it
		{"0 0 29 2 1#5", "2026-01-01", []string{"2028-02-29", "2032-02-29"}},
		{"@yearly", "2026-01-01", []string{"2027-01-01"}},
		{"@monthly", "2026-01-01", []string{"2026-02-01"}},
		{"@weekly", "2026-01-01", []string{"2026-01-04", "2026-01-11"}},
		{"@daily", "2026-01-01", []string{"2026-01-02"}},
		{"@hourly", "2026-01-01", []string{"2026-01-01T01:00Z"}},
		{"@every 90m", "2026-01-01T00:00:30.9Z", []string{"2026-01-01T01:30:30Z", "2026-01-01T03:00:30Z"}},
		{"@every 1900ms", "2026-01-01T00:00:30.9Z", []string{"2026-01-01T00:00:31Z"}},
	} {
		s, at := mustParse(t, c.spec), instant(t, c.from)
		for _, want := range c.want {
			from := at
			if at = s.Next(at); !at.Equal(instant(t, want)) {
				t.Errorf("%s after %s: %s, want %s", c.spec, from, at, want)
				break
			}
		}
	}
}

// TestNextKeepsTheLocation pins that the answer is in the location of the question and has no fraction.
func TestNextKeepsTheLocation(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, spec := range []string{"0 9 * * *", "*/7 * * * *", "@every 1h"} {
		got := mustParse(t, spec).Next(time.Date(2026, 7, 1, 3, 4, 5, 678, berlin))
		if got.Location() != berlin || got.Nanosecond() != 0 {
			t.Errorf("%s: %s", spec, got)
		}
	}
	if got := mustParse(t, "0 9 * * *").Next(time.Date(2026, 7, 1, 3, 0, 0, 0, berlin)); got.Hour() != 9 || got.UTC().Hour() != 7 {
		t.Errorf("nine in Berlin is %s", got)
	}
	india := time.FixedZone("IST", 5*3600+1800)
	if got := mustParse(t, "15 0 * * *").Next(time.Date(2026, 7, 1, 0, 15, 0, 0, india)); got.UTC().Format(time.RFC3339) != "2026-07-01T18:45:00Z" {
		t.Errorf("a quarter past midnight in a fixed zone is %s", got)
	}
}

// TestHorizon pins how far Next looks, and that it does so in a bounded number of steps, whatever is asked of it.
func TestHorizon(t *testing.T) {
	const months = 5*12 + 2
	for _, c := range []struct{ spec, from, want string }{
		{"0 0 30 2 *", "2026-01-01", ""},
		{"0 0 31 2,4 *", "2026-01-01", ""},
		{"0 0 31W 6 *", "2026-01-01", ""},
		{"0 0 29 2 *", "2027-12-31", "2028-02-29"},
		{"0 0 29 2 *", "2096-03-01", ""}, // the next one is eight years later
		{"0 0 29 2 *", "2100-01-01", "2104-02-29"},
		{"0 0 1 1 *", "2026-01-01", "2027-01-01"},
		{"0 * 30 2 *", "2026-01-01", ""},
		{"* * 30 2 *", "2026-01-01", ""},
	} {
		for _, name := range []string{"UTC", "America/New_York", "Africa/Casablanca"} {
			l := zone(t, name)
			from := instant(t, c.from)
			from = time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, l)
			got, steps := mustParse(t, c.spec).next(from)
			text := ""
			if !got.IsZero() {
				text = got.Format(time.DateOnly)
			}
			if text != c.want {
				t.Errorf("%s in %s after %s: %q, want %q", c.spec, name, c.from, text, c.want)
			}
			// A change of the offset makes the search look at its month twice.
			if most := months + 25; steps > most {
				t.Errorf("%s in %s after %s: %d steps, more than %d", c.spec, name, c.from, steps, most)
			}
		}
	}
}

// TestHorizonOfIntervals pins that an interval longer than the horizon never comes.
func TestHorizonOfIntervals(t *testing.T) {
	from := instant(t, "2026-01-01")
	if got := mustParse(t, "@every 43848h").Next(from); !got.Equal(from.Add(horizon)) {
		t.Errorf("at the horizon: %s", got)
	}
	for _, spec := range []string{"@every 43849h", "@every 2540400h10m10s"} {
		if got := mustParse(t, spec).Next(from); !got.IsZero() {
			t.Errorf("%s: %s", spec, got)
		}
	}
}

// TestHostZone pins that a schedule knows no other zone than that of the question.
func TestHostZone(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	for _, host := range []string{"Europe/London", "America/Sao_Paulo", "Asia/Kolkata"} {
		time.Local = zone(t, host)
		got := mustParse(t, "30 1 * * *").Next(time.Date(2022, 10, 29, 12, 0, 0, 0, time.UTC))
		if got.Format(time.RFC3339) != "2022-10-30T01:30:00Z" {
			t.Errorf("on a host in %s: %s", host, got)
		}
	}
}
