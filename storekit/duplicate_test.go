package storekit

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func TestMerge(t *testing.T) {
	later, past, given := noon.Add(time.Hour), noon.Add(-time.Hour), noon.Add(-time.Minute)
	const (
		awaiting, scheduled, throttled, enqueued = driver.Awaiting, driver.Scheduled, driver.Throttled, driver.Enqueued
		none, replace, debounce                  = 0, 1, 2
	)
	for _, c := range []struct {
		name             string
		state            driver.State
		limited, granted bool
		how              int
		runAt            time.Time
		want             Merged
	}{
		{"plain duplicate", enqueued, false, false, none, later, Merged{false, enqueued, given}},
		{"plain duplicate of a scheduled job", scheduled, false, false, none, later, Merged{false, scheduled, given}},

		{"awaiting takes the run time", awaiting, false, false, replace, later, Merged{true, awaiting, later}},
		{"awaiting takes now", awaiting, true, false, replace, noon, Merged{true, awaiting, noon}},
		{"scheduled takes the run time", scheduled, false, false, replace, later, Merged{true, scheduled, later}},
		{"scheduled stays when due", scheduled, true, false, replace, noon, Merged{true, scheduled, noon}},
		{"scheduled takes a run time in the past", scheduled, false, false, replace, past, Merged{true, scheduled, past}},
		{"reserved start stays", scheduled, true, true, replace, later, Merged{true, scheduled, given}},
		{"throttled keeps its run time", throttled, true, false, replace, noon, Merged{true, throttled, given}},
		{"throttled goes back", throttled, true, false, replace, later, Merged{true, scheduled, later}},
		{"throttled with a reserved start stays", throttled, true, true, replace, later, Merged{true, throttled, given}},
		{"enqueued keeps its run time", enqueued, false, false, replace, past, Merged{true, enqueued, given}},
		{"enqueued goes back", enqueued, false, false, replace, later, Merged{true, scheduled, later}},
		{"admitted stays", enqueued, true, false, replace, later, Merged{true, enqueued, given}},
		{"processing changes nothing", driver.Processing, false, false, replace, later, Merged{false, driver.Processing, given}},
		{"failed changes nothing", driver.Failed, false, false, replace, later, Merged{false, driver.Failed, given}},
		{"succeeded changes nothing", driver.Succeeded, false, false, replace, later, Merged{false, driver.Succeeded, given}},
		{"deleted changes nothing", driver.Deleted, false, false, replace, later, Merged{false, driver.Deleted, given}},

		{"debounce pushes", scheduled, false, false, debounce, later, Merged{true, scheduled, later}},
		{"debounce pushes a limited job", scheduled, true, false, debounce, later, Merged{true, scheduled, later}},
		{"debounce leaves a reserved start", scheduled, true, true, debounce, later, Merged{false, scheduled, given}},
		{"debounce leaves awaiting", awaiting, false, false, debounce, later, Merged{false, awaiting, given}},
		{"debounce leaves throttled", throttled, true, false, debounce, later, Merged{false, throttled, given}},
		{"debounce leaves enqueued", enqueued, false, false, debounce, later, Merged{false, enqueued, given}},
		{"debounce leaves processing", driver.Processing, false, false, debounce, later, Merged{false, driver.Processing, given}},
	} {
		n := Newcomer{Replace: c.how == replace, RunAt: c.runAt}
		if c.how == debounce {
			n.Debounce = time.Hour
		}
		got := Merge(Holder{State: c.state, RunAt: given, Limited: c.limited, Granted: c.granted}, n, noon)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestRunAtDebounce(t *testing.T) {
	p := driver.InsertParams{UniqueKey: []byte("k"), UniqueDebounce: time.Minute, Delay: time.Hour, RunAt: noon.Add(time.Hour)}
	if got := RunAt(&p, noon); !got.Equal(noon.Add(time.Minute)) {
		t.Errorf("a debounced job runs at %s", got)
	}
	p.UniqueKey = nil
	if got := RunAt(&p, noon); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("a job without a key runs at %s", got)
	}
}

func TestFollowRepeats(t *testing.T) {
	on := func(index int) driver.Parent { return driver.Parent{Index: index, On: driver.OnSucceeded} }
	known := driver.Parent{ID: 9, On: driver.OnDeleted}
	firsts := func(of map[int]int) func(int) int {
		return func(job int) int {
			if f, ok := of[job]; ok {
				return f
			}
			return -1
		}
	}
	got, err := FollowRepeats([][]driver.Parent{nil, {known}, {on(1), known}, {on(2), on(1)}}, firsts(map[int]int{1: 0}))
	want := [][]driver.Parent{nil, nil, {on(0), known}, {on(2), on(0)}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	// Job 0 waits for job 2, which is job 0.
	if _, err := FollowRepeats([][]driver.Parent{{on(2)}, nil, nil}, firsts(map[int]int{2: 0})); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a job that waits for itself: %v", err)
	}
	// Job 0 waits for job 1, which waits for job 2, which is job 0.
	if _, err := FollowRepeats([][]driver.Parent{{on(1)}, {on(2)}, nil}, firsts(map[int]int{2: 0})); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a circle: %v", err)
	}
}
