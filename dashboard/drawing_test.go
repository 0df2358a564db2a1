package dashboard

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// whole checks that segments stand side by side over the whole bar.
func whole(t *testing.T, line *timeline) {
	t.Helper()
	x := 0
	for i, s := range line.Segments {
		if s.X != x || s.Width < timelineLeast {
			t.Errorf("segment %d is at %d with %d, want it at %d", i, s.X, s.Width, x)
		}
		x += s.Width
	}
	if x != timelineWidth {
		t.Errorf("the bar is %d wide", x)
	}
}

func kinds(line *timeline) string {
	var all []string
	for _, s := range line.Segments {
		text := s.Kind
		if s.Kind == "run" || s.Kind == "mixed" {
			text += ":" + string(s.Outcome)
		}
		if s.Broken {
			text += "/"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestTimeline(t *testing.T) {
	born := time.Date(2026, time.March, 2, 14, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return born.Add(time.Duration(seconds * float64(time.Second))) }
	retry := entryView{At: at(4), State: driver.Scheduled, Attempt: 1, Reason: "retry", Server: "s", StartedAt: at(2)}
	for _, c := range []struct {
		name string
		job  jobView
		now  float64
		want string
	}{
		{"new", jobView{State: driver.Enqueued}, 5, "wait"},
		{"this very moment", jobView{State: driver.Enqueued}, 0, ""},
		{"running", jobView{State: driver.Processing, Attempt: 1, AttemptedAt: at(3)}, 5, "wait run:"},
		{"succeeded", jobView{State: driver.Succeeded, Attempt: 1, AttemptedAt: at(1), FinalizedAt: at(2)}, 60, "wait run:succeeded"},
		{"retried, then failed", jobView{State: driver.Failed, Attempt: 2, AttemptedAt: at(10), FinalizedAt: at(12), History: []entryView{
			retry, {At: at(12), State: driver.Failed, Attempt: 2, Reason: "exhausted", Server: "s"},
		}}, 60, "wait run:scheduled backoff run:failed"},
		{"start of the first attempt unknown", jobView{State: driver.Scheduled, Attempt: 2, AttemptedAt: at(8), History: []entryView{
			{At: at(4), State: driver.Scheduled, Attempt: 1, Reason: "retry", Server: "s"}, {At: at(9), State: driver.Scheduled, Attempt: 2, Reason: "retry", Server: "s"},
		}}, 11, "mixed:scheduled backoff run:scheduled backoff"},
		{"waits of days are cut short", jobView{State: driver.Succeeded, Attempt: 1, AttemptedAt: at(86400), FinalizedAt: at(86402)}, 0, "wait/ run:succeeded"},
		{"requeued", jobView{State: driver.Enqueued, History: []entryView{
			retry, {At: at(30), State: driver.Enqueued, Reason: "requeued", Actor: "ana"},
		}}, 31, "wait run:scheduled backoff/ wait"},
		{"deleted while it waited", jobView{State: driver.Deleted, FinalizedAt: at(7), History: []entryView{{At: at(7), State: driver.Deleted, Reason: "deleted"}}}, 9, "wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.job.CreatedAt = born
			line := lineOf(&c.job, at(c.now))
			if got := kinds(line); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.want != "" {
				whole(t, line)
			}
		})
	}
}

func TestStripes(t *testing.T) {
	for _, counts := range []map[driver.State]int64{
		{}, {driver.Succeeded: 1}, {driver.Succeeded: 1_000_000, driver.Failed: 1}, {driver.Awaiting: 1, driver.Enqueued: 1, driver.Processing: 1, driver.Deleted: 1},
		{driver.Succeeded: 3, driver.Deleted: 3, driver.Failed: 3, driver.Processing: 3, driver.Enqueued: 3, driver.Throttled: 3, driver.Scheduled: 3, driver.Awaiting: 1_000_000},
	} {
		x, total := 0, int64(0)
		for _, s := range stripesOf(&batchView{Counts: counts}) {
			if s.X != x || s.Width < 1 || counts[s.State] != s.Count {
				t.Errorf("%v: stripe %+v, want it at %d", counts, s, x)
			}
			x += s.Width
			total += s.Count
		}
		if len(counts) > 0 && x != stripeWidth {
			t.Errorf("%v: the bar is %d wide", counts, x)
		}
	}
	for _, c := range []struct {
		batch batchView
		want  int64
	}{
		{batchView{}, 0},
		{batchView{Finished: true}, 100},
		{batchView{Total: 8, Counts: map[driver.State]int64{driver.Succeeded: 4, driver.Failed: 2}}, 75},
		{batchView{Total: 10, Counts: map[driver.State]int64{driver.Enqueued: 10}}, 0},
	} {
		if got := c.batch.Done(); got != c.want {
			t.Errorf("%+v is done by %d %%, want %d", c.batch, got, c.want)
		}
	}
}

func TestChart(t *testing.T) {
	series := seriesView{Step: 60, Points: []pointView{{Succeeded: 1_000_000}, {Succeeded: 1, Failed: 1}, {Failed: 10}, {}}}
	c := chartOf(&series)
	if c.Succeeded != 1_000_001 || c.Failed != 11 || c.MostUp != 1_000_000 || c.MostDown != 10 {
		t.Errorf("sums %+v", c)
	}
	for i, bar := range c.Bars {
		if (bar.Up > 0) != (series.Points[i].Succeeded > 0) || (bar.Down > 0) != (series.Points[i].Failed > 0) || bar.UpY < 0 || bar.DownY+bar.Down > c.Height {
			t.Errorf("bar %d is %+v", i, bar)
		}
	}
}

func TestTree(t *testing.T) {
	text := func(n *node) string {
		var walk func(n *node) string
		walk = func(n *node) string {
			s := n.Key + "=" + n.Kind + ":" + n.Text
			if n.Cut {
				s += "…"
			}
			for i := range n.Children {
				s += "(" + walk(&n.Children[i]) + ")"
			}
			return s
		}
		return walk(n)
	}
	for in, want := range map[string]string{
		`{"a":1,"b":[true,null,"x"],"a":2}`: `=object:(a=number:1)(b=array:(=bool:true)(=null:null)(=string:"x"))(a=number:2)`,
		`12345678901234567890.10`:           `=number:12345678901234567890.10`,
		`"<b>\u2028"`:                       `=string:"<b>\u2028"`,
		`not json`:                          `=string:not json`,
		``:                                  `=string:`,
		`{"a":`:                             `=string:{"a":`,
	} {
		if got := text(treeOf(json.RawMessage(in))); got != want {
			t.Errorf("%s:\n have %s\n want %s", in, got, want)
		}
	}
	many := treeOf(json.RawMessage("[" + strings.Repeat("1,", 5000) + "1]"))
	if len(many.Children) >= treeNodes || !many.Cut {
		t.Errorf("a long array has %d nodes, cut %v", len(many.Children), many.Cut)
	}
	deep := treeOf(json.RawMessage(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)))
	depth := 0
	for n := deep; len(n.Children) > 0; n = &n.Children[0] {
		depth++
	}
	if depth > treeDepth {
		t.Errorf("a deep value has %d levels", depth)
	}
	long := treeOf(json.RawMessage(`"` + strings.Repeat("é", 10_000) + `"`))
	if !long.Cut || len(long.Text) > treeText+10 {
		t.Errorf("a long string has %d bytes, cut %v", len(long.Text), long.Cut)
	}
}
