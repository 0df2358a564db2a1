package drivertest

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func finishHistory(e *env) {
	j := e.running(withAttempts(100))
	for n := 1; n <= 20; n++ {
		out := driver.Outcome{Ref: j.Ref, State: driver.Scheduled, Reason: fmt.Sprintf("retry %d", n), Error: fmt.Sprintf("error %d", n), Trace: fmt.Sprintf("trace %d", n)}
		if n == 20 {
			out.State = driver.Failed
		}
		e.apply(out)
		e.pass(time.Millisecond)
		if n < 20 {
			j = e.claimOne()
		}
		if n == 16 {
			eq(e, "history entries after 16", len(e.record(j.ID).History), 16)
		}
	}
	h := e.record(j.ID).History
	if len(h) != 16 {
		e.Fatalf("history has %d entries after 20, want the newest 16", len(h))
	}
	for i, entry := range h {
		n := i + 5
		want := driver.Entry{
			At: entry.At, State: driver.Enqueued, Attempt: n, Server: server1,
			Reason: fmt.Sprintf("retry %d", n), Error: fmt.Sprintf("error %d", n), Trace: fmt.Sprintf("trace %d", n),
		}
		if n == 20 {
			want.State = driver.Failed
		}
		eq(e, fmt.Sprintf("entry %d of 16", i), entry, want)
		if i > 0 && entry.At.Before(h[i-1].At) {
			e.Errorf("entry %d is of %s, before the one that comes before it (%s)", i, clockText(entry.At), clockText(h[i-1].At))
		}
		e.utc(fmt.Sprintf("At of entry %d", i), entry.At)
	}
}

func finishTruncate(e *env) {
	const maxError, maxTrace = 2 << 10, 8 << 10
	long := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%d,", b.Len())
		}
		return b.String()[:n]
	}
	cases := []struct {
		what                 string
		text, trace          string
		wantError, wantTrace string
	}{
		{"just as long as allowed", long(maxError), long(maxTrace), long(maxError), long(maxTrace)},
		{"one byte longer", long(maxError + 1), long(maxTrace + 1), long(maxError), long(maxTrace)},
		{"much longer", long(300_000), long(300_000), long(maxError), long(maxTrace)},
		{
			"with a character across the end", long(maxError-1) + "é and more", long(maxTrace-3) + "😀 and more",
			long(maxError - 1), long(maxTrace - 3),
		},
		{
			"with a character that just fits", long(maxError-2) + "é and more", long(maxTrace-4) + "😀 and more",
			long(maxError-2) + "é", long(maxTrace-4) + "😀",
		},
	}
	for _, c := range cases {
		j := e.running()
		reason := strings.Repeat("reason ", 100)
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Failed, Reason: reason, Error: c.text, Trace: c.trace})
		entry := e.lastEntry(e.record(j.ID), 1)
		eq(e, "error "+c.what, entry.Error, c.wantError)
		eq(e, "trace "+c.what, entry.Trace, c.wantTrace)
		if !strings.HasPrefix(reason, entry.Reason) || len(entry.Reason) < 256 {
			e.Errorf("reason of %d bytes is kept as %s, want at least its first 256 bytes", len(reason), show(entry.Reason))
		}
	}
}

func finishText(e *env) {
	cases := []struct{ given, want string }{
		{"a\x00b", "a\ufffdb"},
		{"a\xffb", "a\ufffdb"},
		{"\x00", "\ufffd"},
		{"tail\xc3", "tail\ufffd"},
		{"quotes ' \" ` \\ $1 ? %s \t\r\n end", "quotes ' \" ` \\ $1 ? %s \t\r\n end"},
		{"日本語 😀 \u2028 \ufeff", "日本語 😀 \u2028 \ufeff"},
	}
	jobs := e.claimAll(copies(len(cases))...)
	var outs []driver.Outcome
	for i, c := range cases {
		outs = append(outs, driver.Outcome{Ref: jobs[i].Ref, State: driver.Failed, Reason: c.given, Error: c.given, Trace: c.given})
	}
	e.apply(outs...)
	for i, c := range cases {
		entry := e.lastEntry(e.record(jobs[i].ID), 1)
		for field, got := range map[string]string{"reason": entry.Reason, "error": entry.Error, "trace": entry.Trace} {
			eq(e, fmt.Sprintf("%s given as %q", field, c.given), got, c.want)
		}
	}
}

func finishRejected(e *env) {
	for _, output := range []string{"{", "not json", `{"a":1} x`, " ", "\xff", "NaN", `{'a':1}`} {
		jobs := e.claimAll(copies(3)...)
		was := e.record(jobs[1].ID)
		what := fmt.Sprintf("output %q", output)
		res := e.finish(
			driver.Outcome{Ref: jobs[0].Ref, State: driver.Succeeded, Output: []byte(`{"fine":true}`)},
			driver.Outcome{Ref: jobs[1].Ref, State: driver.Succeeded, Reason: "r", Output: []byte(output)},
			driver.Outcome{Ref: jobs[2].Ref, State: driver.Failed, Reason: "r"},
		)
		e.results(what, res, driver.Applied, driver.Rejected, driver.Applied)
		e.inState(jobs[0].ID, driver.Succeeded)
		e.inState(jobs[2].ID, driver.Failed)
		e.unchanged(what+": the job whose outcome was refused", was)
		e.results(what+" of a deletion", e.finish(driver.Outcome{Ref: jobs[1].Ref, State: driver.Deleted, Output: []byte(output)}), driver.Rejected)
		e.unchanged(what+": the job whose deletion was refused", was)
		leases := e.beat(driver.ServerInfo{ID: server1}).Leases
		if len(leases) != 1 || leases[0].Ref != jobs[1].Ref {
			e.Errorf("%s: leases are %+v, want only job %d under claim %d", what, leases, jobs[1].ID, jobs[1].Claim)
		}
		e.results(what+": failing the job after", e.finish(driver.Outcome{Ref: jobs[1].Ref, State: driver.Failed, Reason: "rejected"}), driver.Applied)
		e.inState(jobs[1].ID, driver.Failed)
	}
}

func finishUnknownState(e *env) {
	jobs := e.claimAll(copies(2)...)
	was, counts := e.record(jobs[0].ID), e.counts()
	for _, state := range []driver.State{"", driver.Throttled, driver.Awaiting, driver.Processing, "Succeeded", "succeeded ", "bogus"} {
		what := fmt.Sprintf("outcome state %q", state)
		e.results(what, e.finish(driver.Outcome{Ref: jobs[0].Ref, State: state, Reason: "r", Delay: time.Hour}), driver.Rejected)
		e.unchanged(what, was)
		e.countsAre(what, counts)
	}
	e.results("an unknown state beside a good one", e.finish(
		driver.Outcome{Ref: jobs[0].Ref, State: "bogus"}, driver.Outcome{Ref: jobs[1].Ref, State: driver.Succeeded},
	), driver.Rejected, driver.Applied)
	e.apply(driver.Outcome{Ref: jobs[0].Ref, State: driver.Succeeded})
}

func finishOutput(e *env) {
	outputs := []string{
		`null`, `0`, `""`, `{"b": 1,  "a":[ ], "b":2}`, "  [1,\n2]\t", `{"nul":"a\u0000b","é":"\u00e9"}`, `1e400`,
		`"` + strings.Repeat("o", 1<<20-2) + `"`,
	}
	for _, output := range outputs {
		for _, state := range []driver.State{driver.Succeeded, driver.Deleted} {
			j := e.running()
			e.apply(driver.Outcome{Ref: j.Ref, State: state, Output: []byte(output)})
			eq(e, fmt.Sprintf("output of a job that is %s", state), string(e.inState(j.ID, state).Output), output)
		}
	}
	for _, out := range allOutcomes(driver.Ref{})[1:] {
		if out.State == driver.Deleted {
			continue
		}
		j := e.running(inQueue("others"))
		out.Ref, out.Output = j.Ref, []byte(`{"lost":true}`)
		e.apply(out)
		eq(e, fmt.Sprintf("output after a %s outcome", out.State), string(e.record(j.ID).Output), "")
		e.delete(driver.Filter{IDs: []int64{j.ID}})
	}
	for _, state := range []driver.State{driver.Succeeded, driver.Deleted} {
		j := e.running()
		e.apply(driver.Outcome{Ref: j.Ref, State: state, Output: []byte(`{"old":1}`)})
		e.requeue(driver.Filter{IDs: []int64{j.ID}})
		eq(e, "output after the requeue", string(e.inState(j.ID, driver.Enqueued).Output), "")
		j = e.claimOne()
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded, Output: []byte{}})
		eq(e, "output of a second run that left none", string(e.inState(j.ID, driver.Succeeded).Output), "")
	}
}

// metaIs expects the meta of a job.
func (e *env) metaIs(what string, id int64, want map[string]string) {
	e.Helper()
	if got := e.record(id).Meta; !maps.Equal(got, want) {
		e.Errorf("%s: Meta is %q, want %q", what, got, want)
	}
}

func finishSetMeta(e *env) {
	j := e.running()
	set := func(ref driver.Ref, meta map[string]string) {
		e.Helper()
		e.must(e.s.SetMeta(e.ctx, ref, meta), "SetMeta(%+v, %q)", ref, meta)
	}
	set(j.Ref, nil)
	e.metaIs("after nothing was set", j.ID, nil)
	set(j.Ref, map[string]string{"a": "1", "b": "2"})
	e.metaIs("set on an empty meta", j.ID, map[string]string{"a": "1", "b": "2"})
	set(j.Ref, map[string]string{"b": "3", "c": "", "d": "😀 '\"\\", "B": "other", "b ": "other"})
	want := map[string]string{"a": "1", "b": "3", "c": "", "d": "😀 '\"\\", "B": "other", "b ": "other"}
	e.metaIs("merged", j.ID, want)
	set(j.Ref, map[string]string{})
	e.metaIs("after an empty map", j.ID, want)
	e.inState(j.ID, driver.Processing)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Enqueued})
	again := e.claimOne()
	if !maps.Equal(again.Meta, want) {
		e.Errorf("the next claim carries Meta %q, want %q", again.Meta, want)
	}
	set(again.Ref, map[string]string{"a": "2"})
	want["a"] = "2"
	e.apply(driver.Outcome{Ref: again.Ref, State: driver.Succeeded})
	e.metaIs("after the end", j.ID, want)

	given := e.running(func(p *driver.InsertParams) { p.Meta = map[string]string{"trace": "t", "a": "0"} })
	set(given.Ref, map[string]string{"a": "1"})
	e.metaIs("merged into what was inserted", given.ID, map[string]string{"trace": "t", "a": "1"})
}

func finishSetMetaFenced(e *env) {
	meta := map[string]string{"lost": "x"}
	lost := func(what string, ref driver.Ref) {
		e.Helper()
		e.wantErr(e.s.SetMeta(e.ctx, ref, meta), driver.ErrLost, "SetMeta for %s", what)
		e.wantErr(e.s.SetMeta(e.ctx, ref, nil), driver.ErrLost, "SetMeta of nothing for %s", what)
	}
	lost("an unknown job", driver.Ref{ID: 1 << 50, Claim: 1})
	fresh := e.insertOne(inQueue("fresh"))
	lost("claim 0 of a job that was never claimed", driver.Ref{ID: fresh})
	e.metaIs("the job that was never claimed", fresh, nil)
	j := e.running()
	for _, claim := range []int32{0, j.Claim + 1, -1} {
		lost(fmt.Sprintf("claim %d of a job that is processing under %d", claim, j.Claim), driver.Ref{ID: j.ID, Claim: claim})
	}
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Enqueued})
	lost("a job that went back to its queue", j.Ref)
	again := e.claimOne()
	lost("the claim before", j.Ref)
	e.apply(driver.Outcome{Ref: again.Ref, State: driver.Scheduled, Delay: time.Hour})
	lost("a job that waits for its retry", again.Ref)
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
		done := e.running()
		e.apply(driver.Outcome{Ref: done.Ref, State: state})
		lost(fmt.Sprintf("a job that is %s", state), done.Ref)
		e.metaIs(fmt.Sprintf("the job that is %s", state), done.ID, nil)
	}
	e.metaIs("the job that was retried", j.ID, nil)
}

func finishSetMetaConcurrent(e *env) {
	j := e.running()
	const callers, calls = 8, 10
	want := map[string]string{}
	for i := range callers {
		for n := range calls {
			want[fmt.Sprintf("key %d/%d", i, n)] = fmt.Sprint(i)
		}
	}
	e.together(callers, func(i int) error {
		for n := range calls {
			if err := e.s.SetMeta(e.ctx, j.Ref, map[string]string{fmt.Sprintf("key %d/%d", i, n): fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	e.metaIs("after all calls", j.ID, want)
}
