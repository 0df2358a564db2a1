package cron

import (
	"strings"
	"testing"
	"time"
)

// firings lists when a spec fires from an instant to another, both included, with the zone's clock.
func firings(t testing.TB, spec, zoneName, from, to string) []string {
	t.Helper()
	s, end := mustParse(t, spec), instant(t, to)
	var out []string
	for at := instant(t, from).Add(-time.Nanosecond).In(zone(t, zoneName)); ; {
		next := s.Next(at)
		if next.IsZero() || next.After(end) {
			return out
		}
		if !next.After(at) {
			t.Fatalf("%s in %s: %s comes after %s", spec, zoneName, next, at)
		}
		if out = append(out, next.UTC().Format("2006-01-02T15:04Z")); len(out) > 1000 {
			t.Fatalf("%s in %s: no end of firings", spec, zoneName)
		}
		at = next
	}
}

type window struct{ spec, zone, from, to, want string }

func (w window) check(t *testing.T) {
	t.Helper()
	if got := strings.Join(firings(t, w.spec, w.zone, w.from, w.to), ", "); got != w.want {
		t.Errorf("%s in %s from %s to %s:\n got %s\nwant %s", w.spec, w.zone, w.from, w.to, got, w.want)
	}
}

// TestDaylightSaving has the exact firings around changes of the clock, by tzdata 2025b.
func TestDaylightSaving(t *testing.T) {
	for _, w := range []window{
		{"0 2 * * *", "America/Los_Angeles", "2025-03-08T00:00Z", "2025-03-10T23:00Z", "2025-03-08T10:00Z, 2025-03-09T10:00Z, 2025-03-10T09:00Z"},
		{"30 2 * * *", "America/New_York", "2026-03-07T00:00Z", "2026-03-09T23:00Z", "2026-03-07T07:30Z, 2026-03-08T07:00Z, 2026-03-09T06:30Z"},
		{"30 2 * * *", "America/Chicago", "2016-03-12T12:00Z", "2016-03-14T12:00Z", "2016-03-13T08:00Z, 2016-03-14T07:30Z"},
		{"*/30 * * * *", "Australia/Melbourne", "2024-04-06T15:00Z", "2024-04-06T17:00Z", "2024-04-06T15:00Z, 2024-04-06T15:30Z, 2024-04-06T16:00Z, 2024-04-06T16:30Z, 2024-04-06T17:00Z"},
		{"4 16 * * *", "America/New_York", "2025-03-08T12:00Z", "2025-03-10T23:00Z", "2025-03-08T21:04Z, 2025-03-09T20:04Z, 2025-03-10T20:04Z"},
		{"0 9 * * *", "Europe/Berlin", "2022-03-26T00:00Z", "2022-03-28T23:00Z", "2022-03-26T08:00Z, 2022-03-27T07:00Z, 2022-03-28T07:00Z"},
		{"1 0 * * *", "Europe/Berlin", "2020-10-23T12:00Z", "2020-10-26T23:30Z", "2020-10-23T22:01Z, 2020-10-24T22:01Z, 2020-10-25T23:01Z, 2020-10-26T23:01Z"},
		{"0 12 * * 1", "Europe/Amsterdam", "2013-10-28T00:00Z", "2013-10-28T23:00Z", "2013-10-28T11:00Z"},
		{"0 0 7 9 *", "America/Santiago", "2025-09-05T00:00Z", "2025-09-09T00:00Z", "2025-09-07T04:00Z"},
		{"30 23 * * *", "America/Santiago", "2026-04-04T12:00Z", "2026-04-05T12:00Z", "2026-04-05T02:30Z"},
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03T00:00Z", "2018-11-05T12:00Z", "2018-11-03T03:00Z, 2018-11-04T03:00Z, 2018-11-05T02:00Z"},
		{"30 23 * * *", "America/Sao_Paulo", "2019-02-16T12:00Z", "2019-02-17T12:00Z", "2019-02-17T01:30Z"},
		{"0 3 * * *", "America/Sao_Paulo", "2026-01-15T00:00Z", "2026-01-15T12:00Z", "2026-01-15T06:00Z"},
		{"0 0 * * *", "Africa/Cairo", "2025-04-24T12:00Z", "2025-04-25T12:00Z", "2025-04-24T22:00Z"},
		{"0 0 * * *", "Asia/Beirut", "2024-03-30T12:00Z", "2024-03-31T12:00Z", "2024-03-30T22:00Z"},
		{"15 2 * * *", "Australia/Lord_Howe", "2025-10-04T00:00Z", "2025-10-05T20:00Z", "2025-10-04T15:30Z, 2025-10-05T15:15Z"},
		{"0 12 * * *", "Pacific/Apia", "2011-12-29T00:00Z", "2011-12-31T12:00Z", "2011-12-29T22:00Z, 2011-12-30T10:00Z, 2011-12-30T22:00Z"},
		{"30 2 * * *", "Africa/Casablanca", "2025-02-23T00:00Z", "2025-02-23T23:00Z", "2025-02-23T01:30Z"},
		{"0 14 * * *", "America/Los_Angeles", "2016-03-12T00:00Z", "2016-03-13T23:00Z", "2016-03-12T22:00Z, 2016-03-13T21:00Z"},
		{"2 2 * * *", "America/Los_Angeles", "2016-03-12T10:03Z", "2016-03-14T12:00Z", "2016-03-13T10:00Z, 2016-03-14T09:02Z"},
		{"30 2 L * *", "Europe/Berlin", "2024-03-01T00:00Z", "2024-04-30T12:00Z", "2024-03-31T01:00Z, 2024-04-30T00:30Z"},
		{"30 1 * * *", "UTC", "2022-10-29T12:00Z", "2022-10-30T12:00Z", "2022-10-30T01:30Z"},
		{"20 2 * * *", "Europe/Paris", "2020-10-24T12:00Z", "2020-10-26T12:00Z", "2020-10-25T00:20Z, 2020-10-26T01:20Z"},
		{"30 1 * * *", "Europe/Dublin", "2025-03-29T12:00Z", "2025-03-31T12:00Z", "2025-03-30T01:00Z, 2025-03-31T00:30Z"},
		{"0 0 13 * 5", "UTC", "2026-02-10T00:00Z", "2026-03-14T00:00Z", "2026-02-13T00:00Z, 2026-02-20T00:00Z, 2026-02-27T00:00Z, 2026-03-06T00:00Z, 2026-03-13T00:00Z"},
	} {
		w.check(t)
	}
}

// TestChangesMore adds what follows from the rule of the hour field, and zones that are unlike others.
func TestChangesMore(t *testing.T) {
	for _, w := range []window{
		// A fixed hour: once, whatever the minutes are.
		{"*/15 2 * * *", "Europe/Berlin", "2025-10-25T23:00Z", "2025-10-26T03:00Z", "2025-10-26T00:00Z, 2025-10-26T00:15Z, 2025-10-26T00:30Z, 2025-10-26T00:45Z"},
		{"*/15 2 * * *", "Europe/Berlin", "2025-03-29T23:00Z", "2025-03-30T03:00Z", "2025-03-30T01:00Z"},
		{"0 1-3 * * *", "Europe/Berlin", "2025-03-29T23:00Z", "2025-03-30T03:00Z", "2025-03-30T00:00Z, 2025-03-30T01:00Z"},
		{"30 0-23 * * *", "Europe/Berlin", "2025-10-25T23:00Z", "2025-10-26T03:00Z", "2025-10-25T23:30Z, 2025-10-26T00:30Z, 2025-10-26T02:30Z"},
		// A star or a step: what the wall clock shows.
		{"30 * * * *", "Europe/Berlin", "2025-10-25T23:00Z", "2025-10-26T03:00Z", "2025-10-25T23:30Z, 2025-10-26T00:30Z, 2025-10-26T01:30Z, 2025-10-26T02:30Z"},
		{"30 */2 * * *", "Europe/Berlin", "2025-10-25T22:00Z", "2025-10-26T04:00Z", "2025-10-25T22:30Z, 2025-10-26T00:30Z, 2025-10-26T01:30Z, 2025-10-26T03:30Z"},
		{"30 2/1 * * *", "Europe/Berlin", "2025-03-29T23:00Z", "2025-03-30T02:00Z", "2025-03-30T01:30Z"},
		{"30 2,*/12 * * *", "Europe/Berlin", "2025-03-29T22:00Z", "2025-03-30T11:00Z", "2025-03-29T23:30Z, 2025-03-30T10:30Z"},
		{"@hourly", "Europe/Berlin", "2025-03-29T23:00Z", "2025-03-30T02:00Z", "2025-03-29T23:00Z, 2025-03-30T00:00Z, 2025-03-30T01:00Z, 2025-03-30T02:00Z"},
		{"@daily", "America/Havana", "2026-03-07T12:00Z", "2026-03-09T12:00Z", "2026-03-08T05:00Z, 2026-03-09T04:00Z"},
		{"@every 1h", "Europe/Berlin", "2025-10-25T23:00Z", "2025-10-26T02:00Z", "2025-10-25T23:59Z, 2025-10-26T00:59Z, 2025-10-26T01:59Z"},
		// Half an hour back: 01:30 to 02:00 comes twice.
		{"45 1 * * *", "Australia/Lord_Howe", "2025-04-05T12:00Z", "2025-04-05T18:00Z", "2025-04-05T14:45Z"},
		{"45 * * * *", "Australia/Lord_Howe", "2025-04-05T14:00Z", "2025-04-05T16:00Z", "2025-04-05T14:45Z, 2025-04-05T15:15Z"},
		// Whole days that never were.
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-29T00:00Z", "2011-12-31T12:00Z", "2011-12-30T10:00Z"},
		{"0 12 * * *", "Pacific/Kwajalein", "1993-08-19T12:00Z", "1993-08-23T12:00Z", "1993-08-20T00:00Z, 1993-08-21T00:00Z, 1993-08-21T12:00Z, 1993-08-22T00:00Z, 1993-08-23T00:00Z"},
	} {
		w.check(t)
	}
}

// Once per local date, where the clock goes back over midnight.
func TestCaseB077(t *testing.T) {
	window{"30 23 * * *", "America/Santiago", "2026-04-03T12:00Z", "2026-04-06T12:00Z", "2026-04-04T02:30Z, 2026-04-05T02:30Z, 2026-04-06T03:30Z"}.check(t)
	window{"0 0 * * *", "America/Santiago", "2026-04-03T12:00Z", "2026-04-06T12:00Z", "2026-04-04T03:00Z, 2026-04-05T04:00Z, 2026-04-06T04:00Z"}.check(t)
	window{"30 23 * * *", "America/Sao_Paulo", "2019-02-15T12:00Z", "2019-02-18T12:00Z", "2019-02-16T01:30Z, 2019-02-17T01:30Z, 2019-02-18T02:30Z"}.check(t)
}

// The first instant after the gap, in the middle of the day's other runs.
func TestCaseB067(t *testing.T) {
	window{"0 2 * * *", "America/Los_Angeles", "2025-03-08T00:00Z", "2025-03-10T23:00Z", "2025-03-08T10:00Z, 2025-03-09T10:00Z, 2025-03-10T09:00Z"}.check(t)
	window{"30 2 * * *", "America/New_York", "2026-03-07T00:00Z", "2026-03-09T23:00Z", "2026-03-07T07:30Z, 2026-03-08T07:00Z, 2026-03-09T06:30Z"}.check(t)
}

// The first copy of a repeated hour, and never the second.
func TestCaseB068(t *testing.T) {
	window{"30 1 * * *", "America/New_York", "2026-11-01T05:29Z", "2026-11-02T12:00Z", "2026-11-01T05:30Z, 2026-11-02T06:30Z"}.check(t)
	window{"30 1 * * *", "America/New_York", "2026-11-01T06:10Z", "2026-11-02T12:00Z", "2026-11-02T06:30Z"}.check(t)
}

// What is not in the gap is not moved by it.
func TestCaseB071(t *testing.T) {
	window{"4 16 * * *", "America/New_York", "2025-03-08T12:00Z", "2025-03-10T23:00Z", "2025-03-08T21:04Z, 2025-03-09T20:04Z, 2025-03-10T20:04Z"}.check(t)
	window{"4 16 * * *", "America/New_York", "2025-03-09T16:00Z", "2025-03-09T23:00Z", "2025-03-09T20:04Z"}.check(t)
	window{"0 9 * * *", "Europe/Berlin", "2022-03-26T00:00Z", "2022-03-28T23:00Z", "2022-03-26T08:00Z, 2022-03-27T07:00Z, 2022-03-28T07:00Z"}.check(t)
	window{"0 20 * * *", "America/New_York", "2023-03-12T12:00Z", "2023-03-13T12:00Z", "2023-03-13T00:00Z"}.check(t)
}

// A midnight that does not exist.
func TestCaseB073(t *testing.T) {
	window{"0 0 * * *", "America/Santiago", "2025-09-05T12:00Z", "2025-09-08T12:00Z", "2025-09-06T04:00Z, 2025-09-07T04:00Z, 2025-09-08T03:00Z"}.check(t)
	window{"0 0 * * *", "America/Sao_Paulo", "2018-11-03T00:00Z", "2018-11-05T12:00Z", "2018-11-03T03:00Z, 2018-11-04T03:00Z, 2018-11-05T02:00Z"}.check(t)
	window{"0 0 * * *", "Africa/Cairo", "2025-04-24T12:00Z", "2025-04-25T12:00Z", "2025-04-24T22:00Z"}.check(t)
	window{"0 0 * * *", "America/Havana", "2026-03-07T12:00Z", "2026-03-08T12:00Z", "2026-03-08T05:00Z"}.check(t)
	window{"0 0 * * *", "Asia/Beirut", "2024-03-30T12:00Z", "2024-03-31T12:00Z", "2024-03-30T22:00Z"}.check(t)
	window{"0 0 7 9 *", "America/Santiago", "2025-09-05T00:00Z", "2026-09-01T00:00Z", "2025-09-07T04:00Z"}.check(t)
}

// No answer comes twice, and a gap collects only what lies in it.
func TestCaseB074(t *testing.T) {
	window{"0 14 * * *", "America/Los_Angeles", "2016-03-12T00:00Z", "2016-03-13T23:00Z", "2016-03-12T22:00Z, 2016-03-13T21:00Z"}.check(t)
	window{"2 2 * * *", "America/Los_Angeles", "2016-03-12T10:03Z", "2016-03-14T12:00Z", "2016-03-13T10:00Z, 2016-03-14T09:02Z"}.check(t)
}

// TestCaseB079: a schedule in UTC knows no change of the clock. See also TestHostZone.
func TestCaseB079(t *testing.T) {
	window{"30 1 * * *", "UTC", "2022-10-29T12:00Z", "2022-10-30T12:00Z", "2022-10-30T01:30Z"}.check(t)
}
