package storekit

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

type choice int

const (
	either choice = iota
	no
	yes
)

func (c choice) fits(b bool) bool { return c == either || b == (c == yes) }

// endings says what becomes of a processing job: for each outcome, whether the deletion of the job was asked for, whether it
// has a limit key, and whether the outcome's delay is above 0. Where canceled is set the outcome's reason gives way.
var endings = []struct {
	out                    driver.State
	cancel, limited, later choice
	want                   driver.State
	stat, refunded         Stat
	canceled               bool
}{
	{driver.Succeeded, either, either, either, driver.Succeeded, StatSucceeded, StatSucceeded, false},
	{driver.Deleted, either, either, either, driver.Deleted, StatDeleted, StatDeleted, false},
	{driver.Failed, no, either, either, driver.Failed, StatFailed, StatFailed, false},
	{driver.Failed, yes, either, either, driver.Deleted, StatDeleted, StatDeleted, true},
	{driver.Scheduled, no, either, yes, driver.Scheduled, StatRetried, NoStat, false},
	{driver.Scheduled, no, no, no, driver.Enqueued, StatRetried, NoStat, false},
	{driver.Scheduled, no, yes, no, driver.Throttled, StatRetried, NoStat, false},
	{driver.Scheduled, yes, either, either, driver.Deleted, StatDeleted, StatDeleted, true},
	{driver.Enqueued, no, no, either, driver.Enqueued, NoStat, NoStat, false},
	{driver.Enqueued, no, yes, either, driver.Throttled, NoStat, NoStat, false},
	{driver.Enqueued, yes, either, either, driver.Deleted, StatDeleted, StatDeleted, true},
}

// each calls f with every combination of what Settle looks at.
func each(f func(out driver.Outcome, job Running)) {
	states := append(driver.States[:], "", "Failed", "gone")
	for _, state := range states {
		for _, delay := range []time.Duration{-time.Hour, 0, 1, time.Hour} {
			for _, output := range []string{"-", "", `{"n":1}`, "1 2"} {
				for bits := range 16 {
					for _, attempt := range []int{0, 1, 3} {
						out := driver.Outcome{State: state, Delay: delay, Refund: bits&1 > 0, Error: "boom", Trace: "main.go:1"}
						if output != "-" {
							out.Output = []byte(output)
						}
						if bits&2 > 0 {
							out.Reason = "why"
						}
						f(out, Running{Attempt: attempt, Server: "s1", Cancel: bits&4 > 0, Limited: bits&8 > 0})
					}
				}
			}
		}
	}
}

func TestSettle(t *testing.T) {
	const badOutput = "1 2"
	fitted := make([]int, len(endings))
	rejected := 0
	each(func(out driver.Outcome, job Running) {
		name := fmt.Sprintf("%+v of %+v", out, job)
		before := out
		got, ok := Settle(&out, job, noon)
		if !reflect.DeepEqual(out, before) {
			t.Fatalf("%s: the outcome was changed", name)
		}
		row := -1
		for i, e := range endings {
			if e.out == out.State && e.cancel.fits(job.Cancel) && e.limited.fits(job.Limited) && e.later.fits(out.Delay > 0) {
				if row >= 0 {
					t.Fatalf("%s: rows %d and %d of the table fit", name, row, i)
				}
				row = i
				fitted[i]++
			}
		}
		if row < 0 || string(out.Output) == badOutput {
			rejected++
			if ok || !reflect.DeepEqual(got, Settled{}) {
				t.Errorf("%s: %+v, want it rejected", name, got)
			}
			return
		}
		e := endings[row]
		want := Settled{State: e.want, Attempt: job.Attempt, Stat: e.stat}
		if out.Refund {
			want.Attempt, want.Stat = max(job.Attempt-1, 0), e.refunded
		}
		switch e.want {
		case driver.Scheduled:
			want.RunAt = Stamp(noon.Add(out.Delay))
		case driver.Enqueued, driver.Throttled:
			want.RunAt = noon
		default:
			want.FinalizedAt = noon
		}
		if e.want.Archived() && string(out.Output) != "" {
			want.Output = out.Output
		}
		reason := out.Reason
		if e.canceled {
			reason = "canceled"
		}
		if want.HasEntry = reason != ""; want.HasEntry {
			want.Entry = driver.Entry{
				At: noon, State: e.want, Attempt: job.Attempt, Reason: reason, Error: "boom", Trace: "main.go:1", Server: "s1",
			}
		}
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v, %t\nwant %+v", name, got, ok, want)
		}
	})
	for i, n := range fitted {
		if n == 0 {
			t.Errorf("no combination fits row %d of the table", i)
		}
	}
	if rejected == 0 {
		t.Error("nothing was rejected")
	}
}

// Text that a database refuses, or that is too long, never costs a result.
func TestSettleCleansTheEntry(t *testing.T) {
	out := driver.Outcome{
		State: driver.Failed, Reason: strings.Repeat("r", MaxReason-1) + "é", Error: "a\x00b\xff" + strings.Repeat("e", MaxError),
		Trace: strings.Repeat("é", MaxTrace),
	}
	got, ok := Settle(&out, Running{Attempt: 2, Server: "s\x001"}, noon)
	want := driver.Entry{
		At: noon, State: driver.Failed, Attempt: 2, Reason: strings.Repeat("r", MaxReason-1), Server: "s\uFFFD1",
		Error: "a\uFFFDb\uFFFD" + strings.Repeat("e", MaxError-8), Trace: strings.Repeat("é", MaxTrace/2),
	}
	if !ok || got.Entry != want {
		t.Errorf("entry %+v, want %+v", got.Entry, want)
	}
}

func TestCleanEntryActor(t *testing.T) {
	long := strings.Repeat("a", MaxReason)
	if got := CleanEntry(driver.Entry{Actor: "\x00" + long}).Actor; got != "\uFFFD"+long[3:] {
		t.Errorf("actor %q", got)
	}
}

func TestSettleKeepsOutputsOfEveryKindOfJSON(t *testing.T) {
	for _, text := range []string{"null", "0", `""`, `"\u0000"`, " [1,\n2] ", `{"a":{"a":1,"a":2}}`} {
		out := driver.Outcome{State: driver.Succeeded, Output: []byte(text)}
		if got, ok := Settle(&out, Running{}, noon); !ok || string(got.Output) != text {
			t.Errorf("output %s: %q, %t", text, got.Output, ok)
		}
	}
	for _, text := range []string{" ", "{", "nul", "'a'", `{"a":}`, "1,2", "\x00"} {
		for _, state := range driver.States {
			out := driver.Outcome{State: state, Output: []byte(text)}
			if _, ok := Settle(&out, Running{Cancel: true}, noon); ok {
				t.Errorf("output %q of a %s job is taken", text, state)
			}
		}
	}
}

func TestAppendHistory(t *testing.T) {
	var history []driver.Entry
	if LastReason(history) != "" {
		t.Errorf("an empty history has the reason %q", LastReason(history))
	}
	for i := 1; i <= 20; i++ {
		reason := fmt.Sprint("r", i)
		history = AppendHistory(history, driver.Entry{Attempt: i, Reason: reason})
		if len(history) != min(i, MaxHistory) || LastReason(history) != reason {
			t.Fatalf("after %d entries: %d kept, the last is %q", i, len(history), LastReason(history))
		}
		for k, e := range history {
			if want := i - len(history) + 1 + k; e.Attempt != want {
				t.Fatalf("after %d entries, place %d holds entry %d, want %d", i, k, e.Attempt, want)
			}
		}
	}
	if got := AppendHistory(make([]driver.Entry, 40), driver.Entry{Attempt: 1}); len(got) != MaxHistory || got[MaxHistory-1].Attempt != 1 {
		t.Errorf("a history of 40 became one of %d", len(got))
	}
}

// Readers may still hold the history that an entry is added to.
func TestAppendHistoryLeavesTheArrayAlone(t *testing.T) {
	for n := range 2 * MaxHistory {
		array := make([]driver.Entry, n+4)
		for i := range array {
			array[i].Attempt = i
		}
		got := AppendHistory(array[:n], driver.Entry{Attempt: -1})
		got = AppendHistory(got, driver.Entry{Attempt: -2})
		for i := range got {
			got[i].Reason = "changed"
		}
		for i, e := range array {
			if e.Attempt != i || e.Reason != "" {
				t.Fatalf("history of %d: place %d of the caller's array became %+v", n, i, e)
			}
		}
	}
}
