package engine

import (
	"fmt"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/kilnjobs/kiln/cron"
	"github.com/kilnjobs/kiln/driver"
)

func at(t testing.TB, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	out, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func nextOf(t testing.TB, spec string) func(time.Time) time.Time {
	t.Helper()
	s, err := cron.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s.Next
}

func TestMissed(t *testing.T) {
	const once, all, skip = driver.MisfireOnce, driver.MisfireAll, driver.MisfireSkip
	for _, c := range []struct {
		spec           string
		policy         driver.Misfire
		due, last, now string
		fire           string
		next           string
	}{
		{"0 * * * *", once, "2026-01-01 10:00:00", "", "2026-01-01 10:00:00", "[10:00]", "2026-01-01 11:00:00"},
		{"0 * * * *", once, "2026-01-01 10:00:00", "2026-01-01 09:00:00", "2026-01-01 13:30:00", "[13:00]", "2026-01-01 14:00:00"},
		{"0 * * * *", all, "2026-01-01 10:00:00", "2026-01-01 09:00:00", "2026-01-01 13:30:00", "[10:00 11:00 12:00 13:00]", "2026-01-01 14:00:00"},
		{"0 * * * *", skip, "2026-01-01 10:00:00", "2026-01-01 09:00:00", "2026-01-01 13:30:00", "[]", "2026-01-01 14:00:00"},
		{"0 * * * *", skip, "2026-01-01 10:00:00", "", "2026-01-01 13:01:00", "[13:00]", "2026-01-01 14:00:00"},
		{"0 * * * *", skip, "2026-01-01 10:00:00", "", "2026-01-01 13:01:01", "[]", "2026-01-01 14:00:00"},
		{"@every 50m", once, "2026-01-01 10:00:00", "", "2026-01-01 13:30:00", "[13:20]", "2026-01-01 14:10:00"},
		// What is not due yet, and what was fired before the clock went back.
		{"0 * * * *", once, "2026-01-01 10:00:00", "", "2026-01-01 09:59:59", "[]", "2026-01-01 10:00:00"},
		{"0 * * * *", all, "2026-01-01 10:00:00", "2026-01-01 12:00:00", "2026-01-01 12:30:00", "[]", "2026-01-01 13:00:00"},
		{"0 * * * *", all, "2026-01-01 10:00:00", "2026-01-01 12:00:00", "2026-01-01 14:30:00", "[13:00 14:00]", "2026-01-01 15:00:00"},
		// Nothing follows.
		{"0 0 29 2 *", once, "2096-02-29 00:00:00", "", "2096-02-29 00:00:00", "[00:00]", ""},
		{"0 0 29 2 *", all, "2096-02-29 00:00:00", "2096-02-29 00:00:00", "2096-03-01 00:00:00", "[]", ""},
	} {
		m := missed{next: nextOf(t, c.spec), due: at(t, c.due), last: at(t, c.last), now: at(t, c.now)}
		fire, next := m.resolve(c.policy)
		texts := []string{}
		for _, f := range fire {
			texts = append(texts, f.Format("15:04"))
		}
		if fmt.Sprint(texts) != c.fire || !next.Equal(at(t, c.next)) {
			t.Errorf("%+v: fires %v, then %s", c, texts, next)
		}
	}
}

// TestMissedIsBounded pins that neither policy runs away, however much was missed.
func TestMissedIsBounded(t *testing.T) {
	calls := 0
	next := func(t time.Time) time.Time { calls++; return t.Add(time.Second) }
	due := at(t, "2000-01-01 00:00:00")
	m := missed{next: next, due: due, now: due.Add(30 * 365 * 24 * time.Hour)}
	fire, nextRun := m.resolve(driver.MisfireOnce)
	if calls > missedSteps+1 || len(fire) != 1 || !nextRun.Equal(m.now.Add(time.Second)) {
		t.Errorf("%d calls, fires %v, then %s", calls, fire, nextRun)
	}
	calls = 0
	fire, nextRun = m.resolve(driver.MisfireAll)
	if calls > missedBlock+1 || len(fire) != missedBlock || !nextRun.Equal(due.Add(missedBlock*time.Second)) {
		t.Errorf("%d calls, %d fires, then %s", calls, len(fire), nextRun)
	}
}

// TestOnce lets two servers with other time zone data take turns: one local date has one run.
func TestOnce(t *testing.T) {
	ahead, behind := time.FixedZone("ahead", 3600), time.FixedZone("behind", 0)
	daily := nextOf(t, "0 2 * * *")
	in := func(l *time.Location) func(time.Time) time.Time {
		return func(t time.Time) time.Time { return daily(t.In(l)) }
	}
	// Computed by one server, 02:00 of the second is 01:00Z; the other takes it for 02:00Z.
	due := at(t, "2026-01-02 01:00:00")
	next, differs := once(in(behind), due.In(behind))
	if got := next(due); !differs || !got.Equal(at(t, "2026-01-03 02:00:00")) {
		t.Errorf("differs %v, then %s", differs, got)
	}
	// The other way round the own time of the date is over.
	due = at(t, "2026-01-02 02:00:00")
	next, differs = once(in(ahead), due.In(ahead))
	if got := next(due); !differs || !got.Equal(at(t, "2026-01-03 01:00:00")) {
		t.Errorf("differs %v, then %s", differs, got)
	}
	// An own time changes nothing, and neither does one of a schedule with several times a day.
	due = at(t, "2026-01-02 02:00:00")
	if next, differs = once(in(behind), due.In(behind)); differs || !next(due).Equal(at(t, "2026-01-03 02:00:00")) {
		t.Error("an own time differs")
	}
	hourly := nextOf(t, "0 * * * *")
	due = at(t, "2026-01-02 02:30:00")
	if next, differs = once(hourly, due); !differs || !next(due).Equal(at(t, "2026-01-02 03:00:00")) {
		t.Error("an hourly schedule skips a time")
	}
}

// FuzzMissed holds every answer against the rules without exceptions: fires are in order, after the last one and not after now; the
// next run is after all of them, and after now unless there was more to fire.
func FuzzMissed(f *testing.F) {
	f.Add("*/7 * * * *", uint8(0), int64(1770000000), int64(5000), int64(-100))
	f.Add("30 2 * * *", uint8(1), int64(1772900000), int64(90000), int64(100))
	f.Add("@every 61s", uint8(2), int64(0), int64(30), int64(0))
	f.Fuzz(func(t *testing.T, spec string, policy uint8, unix, gap, last int64) {
		s, err := cron.Parse(spec)
		if err != nil {
			return
		}
		const year = 366 * 24 * 3600
		due := time.Unix(unix%(100*year), 0).UTC()
		m := missed{next: s.Next, due: due, last: due.Add(time.Duration(last%year) * time.Second), now: due.Add(time.Duration(gap%year/100) * time.Second)}
		fire, next := m.resolve(driver.Misfire(policy % 3))
		before := m.last
		for _, at := range fire {
			if !at.After(before) || at.After(m.now) {
				t.Fatalf("%s, %+v: fires %v", s, m, fire)
			}
			before = at
		}
		if len(fire) > missedBlock || policy%3 != 1 && len(fire) > 1 {
			t.Fatalf("%s: %d fires", s, len(fire))
		}
		if next.IsZero() {
			return
		}
		if !next.After(before) || !next.After(m.now) && (policy%3 != 1 || len(fire) < missedBlock) {
			t.Fatalf("%s, %+v: fires %v, then %s", s, m, fire, next)
		}
	})
}
