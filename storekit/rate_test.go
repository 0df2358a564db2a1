package storekit

import (
	"math"
	"slices"
	"testing"
	"time"
)

// line is one limit key with its jobs, as a store keeps them: it admits when something happens, and promotes when told to.
type line struct {
	Limit
	now time.Time
	// waiting are throttled jobs in order, reserved those with a start in the future.
	waiting  []waiter
	reserved []waiter
	started  []time.Time
	ids      []int
	inserted int
}

type waiter struct {
	id      int
	granted bool
	runAt   time.Time
}

func (l *line) insert(n int) {
	for range n {
		l.waiting = append(l.waiting, waiter{id: l.inserted})
		l.inserted++
	}
	l.admit()
}

func (l *line) admit() {
	slices.SortFunc(l.waiting, func(a, b waiter) int { return a.id - b.id })
	for range MaxTurns {
		if len(l.waiting) == 0 {
			return
		}
		w := l.waiting[0]
		turn, at := l.Next(w.granted, l.now)
		switch turn {
		case Wait:
			return
		case Start:
			l.started = append(l.started, l.now)
			l.ids = append(l.ids, w.id)
		case Reserve:
			l.reserved = append(l.reserved, waiter{w.id, true, at})
		}
		l.waiting = l.waiting[1:]
	}
}

// promote brings back the jobs whose start has come.
func (l *line) promote() {
	var later []waiter
	for _, w := range l.reserved {
		if w.runAt.After(l.now) {
			later = append(later, w)
		} else {
			l.waiting = append(l.waiting, w)
		}
	}
	l.reserved = later
	l.admit()
}

func (l *line) finish(n int) {
	l.Active -= min(n, l.Active)
	l.admit()
}

// next moves the clock to the earliest reserved start, plus late, and promotes.
func (l *line) next(late time.Duration) bool {
	if len(l.reserved) == 0 {
		return false
	}
	first := slices.MinFunc(l.reserved, func(a, b waiter) int { return a.runAt.Compare(b.runAt) })
	if first.runAt.After(l.now) {
		l.now = first.runAt
	}
	l.now = l.now.Add(late)
	l.promote()
	return true
}

// crowded returns the start of a window of Per with more starts than Rate and Burst together, if there is one.
func (l *line) crowded() (time.Time, bool) {
	for i := l.Rate + l.Burst; i < len(l.started); i++ {
		first := l.started[i-l.Rate-l.Burst]
		if l.started[i].Sub(first) <= l.Per {
			return first, true
		}
	}
	return time.Time{}, false
}

func newLine(r Rule) *line { return &line{Limit: Limit{Rule: r}, now: noon} }

// offsets are the starts, counted from noon.
func (l *line) offsets() []time.Duration {
	out := make([]time.Duration, len(l.started))
	for i, at := range l.started {
		out[i] = at.Sub(noon)
	}
	return out
}

func (l *line) want(t *testing.T, what string, want ...time.Duration) {
	t.Helper()
	if got := l.offsets(); !slices.Equal(got, want) {
		t.Errorf("%s: starts at %v, want %v", what, got, want)
	}
	if at, bad := l.crowded(); bad {
		t.Errorf("%s: too many starts in the window from %s", what, at)
	}
}

const ms = time.Millisecond

func TestRateSpacing(t *testing.T) {
	l := newLine(Rule{Rate: 10, Per: time.Second, Burst: 1})
	l.insert(4)
	for l.next(0) {
	}
	l.want(t, "one by one", 0, 100*ms, 200*ms, 300*ms)

	l = newLine(Rule{Rate: 10, Per: time.Second, Burst: 3})
	l.insert(5)
	for l.next(0) {
	}
	l.want(t, "a burst first", 0, 0, 0, 100*ms, 200*ms)
	l.now = noon.Add(time.Hour)
	l.insert(4)
	if n := len(l.started); n != 8 {
		t.Errorf("after an idle hour %d jobs start at once, want a burst of 3", n-5)
	}
}

func TestRateLate(t *testing.T) {
	l := newLine(Rule{Rate: 10, Per: time.Second, Burst: 1})
	l.insert(4)
	l.next(20 * ms)
	l.next(0)
	l.next(20 * ms)
	l.want(t, "a little late", 0, 120*ms, 200*ms, 320*ms)
}

func TestRateStall(t *testing.T) {
	l := newLine(Rule{Rate: 10, Per: time.Second, Burst: 1})
	l.insert(5)
	l.now = noon.Add(time.Second)
	l.promote()
	l.want(t, "after a stall", 0, time.Second)
	for l.next(0) {
	}
	l.want(t, "and then", 0, time.Second, 1100*ms, 1200*ms, 1300*ms)
	if !slices.Equal(l.ids, []int{0, 1, 2, 3, 4}) {
		t.Errorf("order %v", l.ids)
	}

	l = newLine(Rule{Rate: 10, Per: time.Second, Burst: 3})
	l.insert(8)
	l.now = noon.Add(time.Second)
	l.promote()
	l.want(t, "a burst after a stall", 0, 0, 0, time.Second, time.Second, time.Second)
	l.next(0)
	l.next(0)
	l.want(t, "and then", 0, 0, 0, time.Second, time.Second, time.Second, 1100*ms, 1200*ms)
}

func TestRateFull(t *testing.T) {
	l := newLine(Rule{Max: 2, Rate: 10, Per: time.Second, Burst: 2})
	l.insert(6)
	l.now = noon.Add(500 * ms)
	l.promote()
	l.want(t, "full", 0, 0)
	if len(l.waiting) != 4 {
		t.Fatalf("%d jobs wait with their reserved starts, want 4", len(l.waiting))
	}
	l.finish(1)
	l.want(t, "one slot", 0, 0, 500*ms)
	if len(l.waiting) != 3 || len(l.reserved) != 0 {
		t.Errorf("%d wait and %d are reserved again, want 3 and none: there is no slot to look further", len(l.waiting), len(l.reserved))
	}
}

func TestRateMutex(t *testing.T) {
	l := newLine(Rule{Max: 1, Rate: 1000, Per: time.Second, Burst: 1000})
	l.insert(3)
	if len(l.started) != 1 || len(l.reserved) != 0 {
		t.Errorf("%d start and %d are reserved, want 1 and none", len(l.started), len(l.reserved))
	}
}

func TestUnrated(t *testing.T) {
	l := newLine(Rule{Max: 2})
	l.insert(4)
	if len(l.started) != 2 || l.Clocks != (Clocks{}) {
		t.Errorf("%d start, clocks %+v", len(l.started), l.Clocks)
	}
	l.finish(1)
	if len(l.started) != 3 || l.Active != 2 {
		t.Errorf("%d start, %d active", len(l.started), l.Active)
	}
	// A rule without a rate starts what an earlier rule has reserved as soon as it comes back.
	l.waiting = []waiter{{id: 0, granted: true}}
	l.finish(1)
	if len(l.started) != 4 {
		t.Error("a reserved start waits under a rule without a rate")
	}
}

func TestNextStart(t *testing.T) {
	r := Rule{Rate: 10, Per: time.Second, Burst: 2}
	l := newLine(r)
	if at := r.NextStart(l.Clocks, noon); !at.IsZero() || !l.Past(noon) {
		t.Errorf("a new key: next start %s, past %v", at, l.Past(noon))
	}
	l.insert(1)
	if at := r.NextStart(l.Clocks, noon); !at.IsZero() || l.Past(noon) {
		t.Errorf("with half of a burst left: next start %s, past %v", at, l.Past(noon))
	}
	l.insert(3)
	if at := r.NextStart(l.Clocks, noon); !at.Equal(noon.Add(300 * ms)) {
		t.Errorf("next start %s, want 300ms after noon", at.Sub(noon))
	}
	if l.Past(noon.Add(399*ms)) || !l.Past(noon.Add(400*ms)) {
		t.Error("the clocks are past when the line has ended")
	}
	if at := (Rule{Max: 1}).NextStart(l.Clocks, noon); !at.IsZero() {
		t.Errorf("a key without a rate: next start %s", at)
	}
}

// TestRateExtremes pins that no rule overflows.
func TestRateExtremes(t *testing.T) {
	for _, r := range []Rule{
		{Rate: 1, Per: math.MaxInt64, Burst: math.MaxInt},
		{Rate: 1, Per: math.MaxInt64, Burst: 1},
		{Rate: math.MaxInt, Per: 1, Burst: math.MaxInt},
		{Rate: math.MaxInt, Per: math.MaxInt64, Burst: 1},
		{Rate: 3, Per: time.Second, Burst: 1 << 40},
	} {
		l := newLine(r)
		l.insert(100)
		if len(l.started) < 1 {
			t.Errorf("%+v: the first job does not start", r)
		}
		last := noon
		for _, w := range l.reserved {
			if w.runAt.Before(last) {
				t.Fatalf("%+v: starts go back from %s to %s", r, last, w.runAt)
			}
			last = w.runAt
		}
	}
}

// FuzzRate lets jobs come, end and be promoted at any times, and looks for a window of Per with too many starts.
func FuzzRate(f *testing.F) {
	f.Add(uint8(0), uint16(1), uint16(100), uint8(1), []byte{3, 10, 0x41, 200, 0x82})
	f.Add(uint8(2), uint16(10), uint16(1000), uint8(3), []byte{0x3f, 0xff, 0x81, 0xc1, 0x3f, 0xff, 0xc2, 0xff, 0xc3})
	f.Add(uint8(1), uint16(1000), uint16(1000), uint8(200), []byte{0x3f, 0xc1, 0x81, 0xc1, 0x81, 0xc1})
	f.Add(uint8(0), uint16(7), uint16(60000), uint8(2), []byte{0x3f, 0x7f, 0xbf, 0xff, 0x3f, 0x7f, 0xbf, 0xff, 0x05, 0x55})
	f.Fuzz(func(t *testing.T, most uint8, rate, per uint16, burst uint8, steps []byte) {
		r := Rule{Max: int(most), Rate: max(int(rate), 1), Per: time.Duration(max(per, 1)) * ms, Burst: max(int(burst), 1)}
		l := newLine(r)
		if len(steps) > 200 {
			steps = steps[:200]
		}
		unit := max(r.Per/time.Duration(r.Rate)/8, time.Microsecond)
		for _, step := range steps {
			n := int(step & 0x3f)
			switch step >> 6 {
			case 0:
				l.insert(min(n, 400-l.inserted))
			case 1: // time passes, and the promoter is on time
				for end := l.now.Add(time.Duration(n*n) * unit).Truncate(time.Microsecond); ; {
					if len(l.reserved) == 0 || !l.next(0) || !l.now.Before(end) {
						l.now = later(l.now, end)
						break
					}
				}
			case 2: // time passes, and the promoter is late
				l.now = l.now.Add(time.Duration(n) * unit).Truncate(time.Microsecond)
				l.promote()
			case 3:
				l.finish(n)
			}
			if r.Max > 0 && l.Active > r.Max {
				t.Fatalf("%+v: %d active", r, l.Active)
			}
		}
		// Whatever happened, everything starts in the end.
		for len(l.started) < l.inserted {
			before := len(l.started) + len(l.waiting)
			l.finish(l.Active)
			if !l.next(0) && len(l.started)+len(l.waiting) == before && len(l.waiting) > 0 && l.Active == 0 {
				t.Fatalf("%+v: %d jobs are left waiting", r, len(l.waiting))
			}
		}
		if at, bad := l.crowded(); bad {
			t.Fatalf("%+v: more than %d starts in the window of %s from %s: %v", r, r.Rate+r.Burst, r.Per, at.Sub(noon), l.offsets())
		}
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
