package driver_test

import (
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

func TestStates(t *testing.T) {
	type is struct{ valid, archived, live, final bool }
	for _, c := range []struct {
		state driver.State
		want  is
	}{
		{driver.Awaiting, is{valid: true, live: true}},
		{driver.Scheduled, is{valid: true, live: true}},
		{driver.Throttled, is{valid: true, live: true}},
		{driver.Enqueued, is{valid: true, live: true}},
		{driver.Processing, is{valid: true, live: true}},
		{driver.Succeeded, is{valid: true, archived: true, final: true}},
		{driver.Failed, is{valid: true, live: true, final: true}},
		{driver.Deleted, is{valid: true, archived: true, final: true}},
		{"", is{}},
		{"Succeeded", is{}},
		{"succeeded ", is{}},
		{"gone", is{}},
	} {
		if got := (is{c.state.Valid(), c.state.Archived(), c.state.Live(), c.state.Final()}); got != c.want {
			t.Errorf("state %q: %+v, want %+v", c.state, got, c.want)
		}
	}
}

func TestMaskHas(t *testing.T) {
	for _, c := range []struct {
		state driver.State
		bit   driver.Mask
	}{
		{driver.Succeeded, 1}, {driver.Failed, 2}, {driver.Deleted, 4},
		{driver.Awaiting, 0}, {driver.Scheduled, 0}, {driver.Throttled, 0}, {driver.Enqueued, 0}, {driver.Processing, 0},
		{"", 0}, {"gone", 0}, {"Failed", 0},
	} {
		for m := range 256 {
			if got, want := driver.Mask(m).Has(c.state), driver.Mask(m)&c.bit > 0; got != want {
				t.Errorf("Mask(%d).Has(%q) is %t", m, c.state, got)
			}
		}
	}
}

// Stores and other programs keep these values, so they are written out here once more.
func TestValuesOfConstants(t *testing.T) {
	if want := [8]driver.State{"awaiting", "scheduled", "throttled", "enqueued", "processing", "succeeded", "failed", "deleted"}; driver.States != want {
		t.Errorf("States is %q", driver.States)
	}
	for i, s := range [8]driver.State{
		driver.Awaiting, driver.Scheduled, driver.Throttled, driver.Enqueued, driver.Processing, driver.Succeeded, driver.Failed, driver.Deleted,
	} {
		if s != driver.States[i] {
			t.Errorf("constant %d is %q, want %q", i, s, driver.States[i])
		}
	}
	for i, m := range []driver.Mask{driver.OnSucceeded, driver.OnFailed, driver.OnDeleted, driver.OnFinished} {
		if want := []driver.Mask{1, 2, 4, 7}[i]; m != want {
			t.Errorf("mask %d is %d, want %d", i, m, want)
		}
	}
	for i, m := range []driver.Misfire{driver.MisfireOnce, driver.MisfireAll, driver.MisfireSkip} {
		if m != driver.Misfire(i) {
			t.Errorf("misfire %d is %d", i, m)
		}
	}
	for i, k := range []driver.EventKind{driver.Resync, driver.JobsReady, driver.CancelRequested, driver.QueueChanged, driver.JobsScheduled, driver.Deaf} {
		if k != driver.EventKind(i+1) {
			t.Errorf("event kind %d is %d", i+1, k)
		}
	}
	for i, r := range []driver.Result{driver.Applied, driver.Stale, driver.Busy, driver.Rejected} {
		if r != driver.Result(i+1) {
			t.Errorf("result %d is %d", i+1, r)
		}
	}
}
