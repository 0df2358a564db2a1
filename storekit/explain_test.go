package storekit

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TestExpectedStart compares what is expected with what admission does to the jobs of a line that nothing but the rate holds back.
func TestExpectedStart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2031, 5, 14, 9, 26, 53, 0, time.UTC)
	future := 0
	for range 20_000 {
		l := Limit{Rule: Rule{Rate: 1 + random.IntN(5), Per: time.Duration(1 + random.Int64N(int64(time.Hour))), Burst: 1 + random.IntN(4)}}
		if random.IntN(4) > 0 {
			l.TAT = now.UnixNano() + random.Int64N(int64(2*time.Hour)) - int64(time.Hour)
		}
		if random.IntN(4) > 0 {
			l.AdmitTAT = l.TAT - random.Int64N(int64(time.Hour))
		}
		line := Line{Ahead: random.IntN(6)}
		got := l.ExpectedStart(l.Clocks, line, now)
		before := l
		for range line.Ahead {
			l.Next(false, now)
		}
		turn, want := l.Next(false, now)
		if turn == Start {
			want = time.Time{}
		} else {
			future++
		}
		if !got.Equal(want) {
			t.Fatalf("%+v behind %d jobs: expected %v, it starts at %v", before, line.Ahead, got, want)
		}
	}
	if future < 1000 {
		t.Errorf("only %d of the jobs had a start in the future, so this shows little", future)
	}
}

// TestExpectedStartGranted expects jobs ahead that have a start already to push nobody, and one that has its own to follow what has
// started.
func TestExpectedStartGranted(t *testing.T) {
	now := time.Unix(1_900_000_000, 0).UTC()
	minute := int64(time.Minute)
	r := Rule{Rate: 1, Per: time.Minute, Burst: 1}
	for _, c := range []struct {
		what   string
		rule   Rule
		clocks Clocks
		line   Line
		want   time.Time
	}{
		{"no rate", Rule{Max: 1}, Clocks{TAT: math.MaxInt64}, Line{Ahead: 3}, time.Time{}},
		{"a new key", r, Clocks{}, Line{}, time.Time{}},
		{"two with starts and one without ahead", r, Clocks{TAT: now.UnixNano() + 2*minute}, Line{Ahead: 3, GrantedAhead: 2}, now.Add(3 * time.Minute)},
		{"its own start has come", r, Clocks{TAT: now.UnixNano() + 9*minute, AdmitTAT: now.UnixNano() - minute}, Line{Granted: true}, time.Time{}},
		{"its own start has come, two ahead", r, Clocks{AdmitTAT: now.UnixNano()}, Line{Granted: true, Ahead: 2, GrantedAhead: 2}, now.Add(90 * time.Second)},
		{"the end of time", Rule{Rate: 1, Per: math.MaxInt64, Burst: 1}, Clocks{TAT: math.MaxInt64}, Line{Ahead: 1000}, Instant(math.MaxInt64/1000 + 1)},
	} {
		if got := c.rule.ExpectedStart(c.clocks, c.line, now); !got.Equal(c.want) {
			t.Errorf("%s: expected %v, want %v", c.what, got, c.want)
		}
	}
}

func TestExplainBatch(t *testing.T) {
	var x driver.Explanation
	b := driver.Batch{ID: 7, Nested: 3, NestedFinished: 1, Counts: map[driver.State]int64{driver.Failed: 2, driver.Awaiting: 1, driver.Succeeded: 100}}
	ExplainBatch(&x, &b, 10)
	if x.AfterBatch != 7 || x.BatchLive != 15 || x.BatchSealed {
		t.Errorf("an open batch explains as %+v", x)
	}
	x, b.FinishedAt = driver.Explanation{}, time.Unix(1, 0)
	ExplainBatch(&x, &b, 0)
	if x.AfterBatch != 0 || x.BatchLive != 0 {
		t.Errorf("a finished batch explains as %+v", x)
	}
}
