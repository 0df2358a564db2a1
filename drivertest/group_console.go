package drivertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func consoleCases() []testCase {
	cases := []testCase{
		{name: "Fencing", pins: "WriteConsole is ErrLost, also with no lines, unless the job is processing under the claim; nothing is written then.", run: consoleFencing},
		{name: "Order", pins: "Lines come back as they went in, oldest first, with a Seq that grows; Logs pages by Seq.", run: consoleOrder},
		{name: "Limit", pins: "Logs returns at most limit lines: 100 for 0 or less, and 1000 when asked for.", run: consoleLimit},
		{name: "Stamps", pins: "A line carries the store's time at which it was written.", run: consoleStamps},
		{name: "Attempts", pins: "A line carries the attempt that wrote it; lines of all attempts stay, and Seq goes on through them.", run: consoleAttempts},
		{name: "Progress", pins: "A progress that is not negative is kept on the row, the last one wins, and it stays across attempts, ends and requeues.", run: consoleProgress},
		{name: "Cleaned", pins: "NUL bytes and invalid UTF-8 in lines are replaced and never refuse them.", run: consoleCleaned},
		{name: "Ended", pins: "Lines stay readable after the job's end.", run: consoleEnded},
		{name: "Prune", pins: "Lines go with their job, and the count has the job once.", run: consolePrune},
		{name: "Concurrent", pins: "Consoles of many jobs can be written at once, and each keeps its own lines in order.", run: consoleConcurrent},
		{name: "Batch", pins: "WriteConsoles writes each console, each fenced for itself.", run: consoleBatch},
		{name: "BatchSame", pins: "Of several writes for one job in a WriteConsoles all are applied, in order.", run: consoleBatchSame},
	}
	for i := range cases {
		cases[i].needs = needsConsole
		if strings.HasPrefix(cases[i].name, "Batch") {
			cases[i].needs = needsConsoleBatch
		}
	}
	return cases
}

func needsConsole(e *env) string {
	if _, ok := e.s.(driver.Console); !ok {
		return "the store is no Console"
	}
	return ""
}

func needsConsoleBatch(e *env) string {
	if _, ok := e.s.(driver.ConsoleBatch); !ok {
		return "the store is no ConsoleBatch"
	}
	return needsConsole(e)
}

const noProgress = -1

func (e *env) write(ref driver.Ref, progress int, lines ...string) {
	e.Helper()
	e.must(e.s.(driver.Console).WriteConsole(e.ctx, ref, lines, progress), "WriteConsole of %d lines for %+v", len(lines), ref)
}

func (e *env) writeLost(what string, ref driver.Ref, progress int, lines ...string) {
	e.Helper()
	err := e.s.(driver.Console).WriteConsole(e.ctx, ref, lines, progress)
	e.wantErr(err, driver.ErrLost, "WriteConsole of %d lines for %s", len(lines), what)
}

func (e *env) logs(id, after int64, limit int) []driver.LogLine {
	e.Helper()
	lines, err := e.s.(driver.Console).Logs(e.ctx, id, after, limit)
	e.must(err, "Logs(%d, %d, %d)", id, after, limit)
	last := after
	for i, line := range lines {
		if line.Seq <= last {
			e.Errorf("line %d has Seq %d after %d", i, line.Seq, last)
		}
		last = line.Seq
	}
	return lines
}

// said expects the texts of a job's lines.
func (e *env) said(id int64, want ...string) []driver.LogLine {
	e.Helper()
	lines := e.logs(id, 0, 1000)
	got := make([]string, len(lines))
	for i, line := range lines {
		got[i] = line.Text
	}
	if !slices.Equal(got, want) {
		e.Errorf("job %d has the lines %s, want %s", id, show(got), show(want))
	}
	return lines
}

func consoleFencing(e *env) {
	waiting := e.insertOne(inQueue("other"))
	j := e.running()
	e.write(j.Ref, 10, "kept")
	for what, ref := range map[string]driver.Ref{
		"a job that was not claimed": {ID: waiting}, "an unknown job": {ID: j.ID + 100, Claim: 1},
		"another claim": {ID: j.ID, Claim: j.Claim + 1}, "claim 0": {ID: j.ID},
	} {
		e.writeLost(what, ref, 99, "lost")
		e.writeLost(what, ref, noProgress)
	}
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled})
	e.writeLost("a job that went back", j.Ref, 99, "lost")
	again := e.claimOne()
	e.writeLost("an older claim", j.Ref, 99, "lost")
	e.write(again.Ref, noProgress, "of the second")
	e.apply(driver.Outcome{Ref: again.Ref, State: driver.Succeeded})
	e.writeLost("a job that has ended", again.Ref, 99, "lost")
	e.writeLost("a job that has ended", again.Ref, noProgress)
	e.said(j.ID, "kept", "of the second")
	eq(e, "progress", e.record(j.ID).Progress, 10)
	eq(e, "lines of a job that never ran", len(e.logs(waiting, 0, 10)), 0)
	eq(e, "lines of an unknown job", len(e.logs(j.ID+100, 0, 10)), 0)
}

func consoleOrder(e *env) {
	j, other := e.running(), e.running(inQueue("other"))
	lines := []string{
		"first", "", "a\ttab", `"double" and 'single' quotes; \ and %s`, "two\nlines\r\n", " spaces ", "ünïcödé 漢字 🎉",
		strings.Repeat("x", 4<<10), strings.Repeat("é", 2<<10), "null", "{}", "last",
	}
	e.write(j.Ref, noProgress, lines[:3]...)
	e.write(other.Ref, noProgress, "in between")
	e.write(j.Ref, noProgress, lines[3:9]...)
	e.write(j.Ref, noProgress)
	e.write(j.Ref, noProgress, lines[9:]...)
	all := e.said(j.ID, lines...)
	e.said(other.ID, "in between")
	for limit := 1; limit <= 5; limit++ {
		var paged []driver.LogLine
		for after := int64(0); len(paged) <= len(all); {
			page := e.logs(j.ID, after, limit)
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
			after = page[len(page)-1].Seq
		}
		if !slices.Equal(paged, all) {
			e.Errorf("pages of %d lines give %s, want %s", limit, show(paged), show(all))
		}
	}
	eq(e, "lines after the last", len(e.logs(j.ID, all[len(all)-1].Seq, 10)), 0)
}

func consoleLimit(e *env) {
	j := e.running()
	lines := make([]string, 1500)
	for i := range lines {
		lines[i] = fmt.Sprint(i)
	}
	e.write(j.Ref, noProgress, lines...)
	for limit, want := range map[int]int{0: 100, -5: 100, 1: 1, 99: 99, 1000: 1000} {
		got := e.logs(j.ID, 0, limit)
		eq(e, fmt.Sprintf("lines of Logs with limit %d", limit), len(got), want)
		eq(e, "the last of them", got[len(got)-1].Text, fmt.Sprint(want-1))
	}
}

func consoleStamps(e *env) {
	j := e.running()
	for i := range 3 {
		before := e.now()
		e.write(j.Ref, noProgress, "line")
		after := e.now()
		e.between("At", e.logs(j.ID, 0, 10)[i].At, before, after)
		e.pass(2 * time.Millisecond)
	}
}

func consoleAttempts(e *env) {
	j := e.running()
	e.write(j.Ref, noProgress, "one", "two")
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled})
	j = e.claimOne()
	e.write(j.Ref, noProgress, "three")
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Failed, Reason: "permanent"})
	e.requeue(driver.Filter{IDs: []int64{j.ID}})
	j = e.claimOne()
	e.write(j.Ref, noProgress, "four")
	var attempts []int
	for _, line := range e.said(j.ID, "one", "two", "three", "four") {
		attempts = append(attempts, line.Attempt)
	}
	eq(e, "attempts of the lines, the last after a requeue", attempts, []int{1, 1, 2, 1})
}

func consoleProgress(e *env) {
	j := e.running()
	eq(e, "progress of a job that told none", e.record(j.ID).Progress, 0)
	e.write(j.Ref, noProgress, "line")
	eq(e, "progress after a line", e.record(j.ID).Progress, 0)
	for _, p := range []int{0, 30, 100, 55} {
		e.write(j.Ref, p)
		eq(e, "progress", e.record(j.ID).Progress, p)
	}
	e.write(j.Ref, noProgress, "another")
	eq(e, "progress after another line", e.record(j.ID).Progress, 55)
	eq(e, "progress in a list", e.page(driver.JobQuery{State: driver.Processing}).Records[0].Progress, 55)
	e.said(j.ID, "line", "another")
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Scheduled})
	eq(e, "progress of a job that waits for a retry", e.record(j.ID).Progress, 55)
	j = e.claimOne()
	eq(e, "progress in the next attempt", e.record(j.ID).Progress, 55)
	e.write(j.Ref, 60)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	eq(e, "progress of a job that succeeded", e.record(j.ID).Progress, 60)
	e.requeue(driver.Filter{IDs: []int64{j.ID}})
	eq(e, "progress after a requeue", e.record(j.ID).Progress, 60)
}

func consoleCleaned(e *env) {
	j := e.running()
	e.write(j.Ref, noProgress, "a\x00b", "\xffbroken", "fine")
	e.said(j.ID, "a\uFFFDb", "\uFFFDbroken", "fine")
}

func consoleEnded(e *env) {
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
		j := e.running()
		e.write(j.Ref, 70, "still here")
		e.apply(driver.Outcome{Ref: j.Ref, State: state})
		e.said(j.ID, "still here")
	}
}

func consolePrune(e *env) {
	var gone []int64
	for range 3 {
		j := e.running()
		e.write(j.Ref, 10, "one", "two", "three")
		e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
		gone = append(gone, j.ID)
	}
	kept := e.running()
	e.write(kept.Ref, 20, "stays")
	eq(e, "rows pruned", e.prune(driver.PruneParams{Limit: 100}), 3)
	for _, id := range gone {
		eq(e, "lines of a pruned job", len(e.logs(id, 0, 100)), 0)
	}
	e.said(kept.ID, "stays")
	eq(e, "progress of the job that stays", e.record(kept.ID).Progress, 20)
}

func consoleConcurrent(e *env) {
	const jobs, rounds = 8, 20
	e.insert(copies(jobs)...)
	running := e.claimExactly(jobs)
	e.together(jobs, func(i int) error {
		for n := range rounds {
			lines := []string{fmt.Sprintf("%d %d a", i, n), fmt.Sprintf("%d %d b", i, n)}
			if err := e.s.(driver.Console).WriteConsole(e.ctx, running[i].Ref, lines, n); err != nil {
				return err
			}
		}
		return nil
	})
	for i, j := range running {
		var want []string
		for n := range rounds {
			want = append(want, fmt.Sprintf("%d %d a", i, n), fmt.Sprintf("%d %d b", i, n))
		}
		e.said(j.ID, want...)
		eq(e, "progress", e.record(j.ID).Progress, rounds-1)
	}
}

func consoleBatch(e *env) {
	e.insert(copies(4)...)
	jobs := e.claimExactly(4)
	e.apply(driver.Outcome{Ref: jobs[2].Ref, State: driver.Failed, Reason: "permanent"})
	errs, err := e.s.(driver.ConsoleBatch).WriteConsoles(e.ctx, []driver.ConsoleWrite{
		{Ref: jobs[0].Ref, Lines: []string{"a", "b"}, Progress: 10},
		{Ref: jobs[2].Ref, Lines: []string{"lost"}, Progress: 99},
		{Ref: driver.Ref{ID: jobs[3].ID, Claim: jobs[3].Claim + 1}, Lines: []string{"lost"}, Progress: 99},
		{Ref: jobs[1].Ref, Lines: []string{"c\x00"}, Progress: noProgress},
		{Ref: jobs[3].Ref, Progress: 100},
		{Ref: driver.Ref{ID: jobs[3].ID + 100, Claim: 1}, Progress: noProgress},
	})
	e.must(err, "WriteConsoles")
	if len(errs) != 6 {
		e.Fatalf("WriteConsoles of 6 writes returned %d errors", len(errs))
	}
	for i, lost := range []bool{false, true, true, false, false, true} {
		if lost {
			e.wantErr(errs[i], driver.ErrLost, "write %d", i)
		} else {
			e.must(errs[i], "write %d", i)
		}
	}
	e.said(jobs[0].ID, "a", "b")
	e.said(jobs[1].ID, "c\uFFFD")
	e.said(jobs[2].ID)
	e.said(jobs[3].ID)
	for i, want := range []int{10, 0, 0, 100} {
		eq(e, fmt.Sprintf("progress of job %d", i), e.record(jobs[i].ID).Progress, want)
	}
	errs, err = e.s.(driver.ConsoleBatch).WriteConsoles(e.ctx, nil)
	e.must(err, "WriteConsoles of nothing")
	eq(e, "errors of nothing", len(errs), 0)
}

func consoleBatchSame(e *env) {
	j := e.running()
	e.write(j.Ref, 5, "before")
	errs, err := e.s.(driver.ConsoleBatch).WriteConsoles(e.ctx, []driver.ConsoleWrite{
		{Ref: j.Ref, Lines: []string{"a", "b"}, Progress: 10},
		{Ref: j.Ref, Lines: []string{"c"}, Progress: noProgress},
		{Ref: j.Ref, Lines: []string{"d"}, Progress: 20},
	})
	e.must(err, "WriteConsoles")
	for i, err := range errs {
		e.must(err, "write %d", i)
	}
	e.said(j.ID, "before", "a", "b", "c", "d")
	eq(e, "progress", e.record(j.ID).Progress, 20)
}
