package drivertest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func insertCases() []testCase {
	return []testCase{
		{name: "IDs", pins: "Ids are above 0, increase with the position in the call and are never used again; every job gets one result.", run: insertIDs},
		{name: "IDsPruned", pins: "Ids are never used again, also when the jobs that had them are gone.", run: insertIDsPruned},
		{name: "IDsConcurrent", pins: "Inserts of many callers at once never share an id, and ids increase inside of each call.", run: insertIDsConcurrent},
		{name: "Many", pins: "One call takes thousands of jobs; results stand at the position of their job.", run: insertMany},
		{name: "None", pins: "An Insert of no jobs does nothing.", run: insertNone},
		{name: "States/plain", pins: "A job that waits for nothing is enqueued at once.", run: func(e *env) {
			e.firstState(job(), driver.Enqueued)
		}},
		{name: "States/delayed", pins: "A job with a delay is scheduled.", run: func(e *env) {
			e.firstState(job(withDelay(time.Hour)), driver.Scheduled)
		}},
		{name: "States/negativeDelay", pins: "A negative delay counts as none.", run: func(e *env) {
			e.firstState(job(withDelay(-time.Hour)), driver.Enqueued)
		}},
		{name: "States/future", pins: "A job with a run time in the future is scheduled.", run: func(e *env) {
			e.firstState(job(withRunAt(e.now().Add(time.Hour))), driver.Scheduled)
		}},
		{name: "States/past", pins: "A job with a run time in the past is enqueued.", run: func(e *env) {
			e.firstState(job(withRunAt(e.now().Add(-time.Hour))), driver.Enqueued)
		}},
		{name: "Fields/plain", pins: "Every field survives insert, record, list and claim; attempt 0 and no server before the claim; stamps are of the store's clock.", run: insertFields},
		{name: "Fields/empty", pins: "A job without tags, meta, title and timeout comes back without them.", run: insertFieldsEmpty},
		{name: "Fields/args", pins: "Args come back byte for byte, whitespace and \\u0000 inside of JSON included.", run: insertArgs},
		{name: "Fields/text", pins: "Any text that is valid UTF-8 without NUL survives in names, tags, title and meta, byte for byte.", run: insertText},
		{name: "Fields/sizes", pins: "Names, tags, meta and args of the size that the client allows are stored whole.", run: insertSizes},
		{name: "Fields/timeouts", pins: "A timeout is stored in milliseconds, rounded up; 0 is unset and negative none.", run: insertTimeouts},
		{name: "Fields/numbers", pins: "Priorities and attempts survive up to the ends of their range.", run: insertNumbers},
		{name: "Fields/copies", pins: "A store keeps what it was given: neither the caller's slices and maps nor those that it returned change it later.", run: insertCopies},
		{name: "RunAt/delay", pins: "Delay adds to the store's now.", run: insertDelay},
		{name: "RunAt/given", pins: "An explicit RunAt is stored as given and comes back in UTC; a Delay beside it is ignored.", run: insertRunAt},
		{name: "Invalid", pins: "A job that breaks a rule of CheckInsert is ErrInvalid and nothing of the call is stored.", run: insertInvalid},
		{name: "Title/cut", pins: "A title is stored, and cut to 200 bytes on a rune boundary.", run: insertTitleCut},
		{name: "Title/kept", pins: "A title is returned by claim, record and list and survives success, requeue and deletion.", run: insertTitleKept},
		{name: "Cleaned", pins: "NUL bytes and invalid UTF-8 in tags and titles are replaced and never refuse the job.", run: insertCleaned},
	}
}

// firstState inserts one job and expects the result, the record and the counts to agree on its state.
func (e *env) firstState(p driver.InsertParams, want driver.State) {
	e.Helper()
	res := e.insertAll(p)[0]
	eq(e, "state in the result", res.State, want)
	eq(e, "Duplicate in the result", res.Duplicate, false)
	eq(e, "Replaced in the result", res.Replaced, false)
	r := e.inState(res.ID, want)
	eq(e, "history entries of a new job", len(r.History), 0)
	counts := driver.Counts{}
	switch want {
	case driver.Scheduled:
		counts.Scheduled = 1
	case driver.Enqueued:
		counts.Enqueued = 1
	}
	e.countsAre("after the insert", counts)
	if got := len(e.claim(10)); got != int(counts.Enqueued) {
		e.Errorf("Claim returned %d jobs beside a job that is %s", got, want)
	}
}

func insertIDs(e *env) {
	seen := map[int64]bool{}
	for call := range 3 {
		last := int64(0)
		for i, r := range e.insertAll(copies(50)...) {
			if r.ID <= last {
				e.Errorf("call %d: job %d has id %d after %d: ids are above 0 and increase with the position", call, i, r.ID, last)
			}
			if seen[r.ID] {
				e.Errorf("call %d: job %d has id %d, which was given out before", call, i, r.ID)
			}
			if r.State != driver.Enqueued || r.Duplicate || r.Replaced {
				e.Errorf("call %d: job %d came back as %+v, want a new enqueued job", call, i, r)
			}
			seen[r.ID] = true
			last = r.ID
		}
	}
	e.countsAre("after three calls of 50", driver.Counts{Enqueued: 150})
}

func insertIDsPruned(e *env) {
	seen := map[int64]bool{}
	for round := range 3 {
		for _, id := range e.insert(copies(5)...) {
			if seen[id] {
				e.Errorf("round %d: id %d was given out before, to a job that is gone", round, id)
			}
			seen[id] = true
		}
		for _, j := range e.claimExactly(5) {
			e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
		}
		eq(e, "jobs pruned", e.prune(driver.PruneParams{Limit: 100}), 5)
	}
}

func insertIDsConcurrent(e *env) {
	const callers, calls, size = 8, 12, 10
	got := make([][]driver.Inserted, callers)
	e.together(callers, func(i int) error {
		for range calls {
			res, err := e.s.Insert(e.ctx, copies(size))
			if err != nil {
				return err
			}
			for k := 1; k < len(res); k++ {
				if res[k].ID <= res[k-1].ID {
					return fmt.Errorf("ids do not increase inside of one call: %+v", res)
				}
			}
			got[i] = append(got[i], res...)
		}
		return nil
	})
	seen := map[int64]bool{}
	for _, res := range got {
		for _, r := range res {
			if seen[r.ID] {
				e.Errorf("id %d was given out twice", r.ID)
			}
			seen[r.ID] = true
		}
	}
	e.countsAre("after all inserts", driver.Counts{Enqueued: callers * calls * size})
}

func insertMany(e *env) {
	const n = 3000
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = job(withArgs(fmt.Sprintf(`{"n":%d}`, i)), withPriority(int16(i%3)))
		if i%5 == 0 {
			jobs[i].Delay = time.Hour
		}
	}
	res := e.insertAll(jobs...)
	for i, r := range res {
		if i > 0 && r.ID <= res[i-1].ID {
			e.Fatalf("job %d has id %d after %d", i, r.ID, res[i-1].ID)
		}
		want := driver.Enqueued
		if i%5 == 0 {
			want = driver.Scheduled
		}
		if r.State != want {
			e.Fatalf("job %d is reported %s, want %s", i, r.State, want)
		}
	}
	e.countsAre("after the insert", driver.Counts{Enqueued: n - n/5, Scheduled: n / 5})
	for i := 0; i < n; i += 271 {
		r := e.record(res[i].ID)
		eq(e, fmt.Sprintf("Args of job %d", i), string(r.Args), string(jobs[i].Args))
		eq(e, fmt.Sprintf("Priority of job %d", i), r.Priority, jobs[i].Priority)
	}
}

func insertNone(e *env) {
	for _, jobs := range [][]driver.InsertParams{nil, {}} {
		res, err := e.s.Insert(e.ctx, jobs)
		e.must(err, "Insert of no jobs")
		eq(e, "results for no jobs", len(res), 0)
	}
	e.countsAre("after it", driver.Counts{})
}

// everything is a job with all fields set that need no other rows.
func everything() driver.InsertParams {
	return driver.InsertParams{
		Kind: "mail.send", Queue: "mail", Args: []byte(`{"to": "ann@example.com",  "n": 1.50}`),
		Meta: map[string]string{"trace": "00-abc", "empty": "", "kiln.custom": `{"a":1}`},
		Tags: []string{"z", "a", "m", "a"}, Title: "Mail to Ann", Priority: -7, MaxAttempts: 9,
		Timeout: 90 * time.Second, RecurringID: "nightly/mail",
	}
}

func insertFields(e *env) {
	p := everything()
	before := e.now()
	id := e.insert(p)[0]
	after := e.now()

	r := e.inState(id, driver.Enqueued)
	e.sameParams("record", r.Job, p)
	eq(e, "Attempt before the claim", r.Attempt, 0)
	eq(e, "Claim before the claim", r.Claim, 0)
	eq(e, "Server before the claim", r.Server, "")
	eq(e, "AttemptedAt before the claim", r.AttemptedAt, time.Time{})
	eq(e, "CancelRequested", r.CancelRequested, false)
	eq(e, "Progress", r.Progress, 0)
	eq(e, "PendingDeps", r.PendingDeps, 0)
	eq(e, "AfterBatch", r.AfterBatch, 0)
	eq(e, "number of Parents", len(r.Parents), 0)
	eq(e, "number of Children", len(r.Children), 0)
	eq(e, "bytes of Output", len(r.Output), 0)
	e.between("CreatedAt", r.CreatedAt, before, after)
	e.between("RunAt", r.RunAt, before, after)

	list := e.page(driver.JobQuery{State: driver.Enqueued}).Records
	eq(e, "jobs in the list", len(list), 1)
	e.sameJob("list against record", list[0].Job, r.Job)
	eq(e, "State in the list", list[0].State, driver.Enqueued)

	j := e.claimOne("mail")
	e.sameParams("claim", j, p)
	eq(e, "RunAt of the claim against the record", j.RunAt, r.RunAt)
	eq(e, "CreatedAt of the claim against the record", j.CreatedAt, r.CreatedAt)
	claimed := e.inState(id, driver.Processing)
	e.sameJob("record after the claim against the claim", claimed.Job, j)
}

func insertFieldsEmpty(e *env) {
	p := job()
	p.Meta, p.Tags = map[string]string{}, []string{}
	for _, id := range e.insert(job(), p) {
		r := e.record(id)
		e.sameParams(fmt.Sprintf("job %d", id), r.Job, job())
		eq(e, "Deadline has no place in meta: number of Meta keys", len(r.Meta), 0)
	}
	at := e.now().Add(time.Hour)
	eq(e, "number of Meta keys of a job with a deadline", len(e.record(e.insertOne(withDeadline(at))).Meta), 0)
}

func insertArgs(e *env) {
	texts := []string{
		`null`, `true`, `0`, `""`, `[]`, `{}`,
		`{"b":1,"a":2,"b":3}`,
		"  {\n\t\"a\" :  1 ,\r\n \"b\":[ 1,2 ]}  \n",
		`{"nul":"a\u0000b","esc":"\u00e9\ud83d\ude00\/\"\\"}`,
		`{"e":1e400,"long":123456789012345678901234567890.000100,"minus":-0.0,"E":1E+2}`,
		`"Ünïcödé ✓ 😀 ` + "\u2028" + `"`,
		`{"lone":"\ud800"}`,
		`"it's 100% \\ ' ; -- $1 ? :name {x}"`,
		"\"" + strings.Repeat("x", 70_000) + "\"",
		"[" + strings.Repeat("1,", 1<<19-16) + "1]",
	}
	jobs := make([]driver.InsertParams, len(texts))
	for i, text := range texts {
		jobs[i] = job(withArgs(text))
	}
	inserted := e.insert(jobs...)
	claimed := e.claimExactly(len(texts))
	for i, text := range texts {
		eq(e, fmt.Sprintf("Args %d in the record", i), string(e.record(inserted[i]).Args), text)
		eq(e, fmt.Sprintf("Args %d in the claim", i), string(claimed[i].Args), text)
	}
}

func insertText(e *env) {
	texts := []string{
		"a", "A", " a", "a ", "a  ", "á", "a\u0301", "ß", "ss", "ı", "I", "i", "Ａ", "日本語", "😀", "'", `"`, "%", "_", `\`, `\\`, "a\tb", "a\nb",
		"a;b", "a,b", "a:b", "{a}", "$1", "?", "NULL", "null", "--", "\u200b", "a\u00ad", "\ufeff", "\ufffd", "\U0010ffff", "\x01", "\x7f",
	}
	jobs := make([]driver.InsertParams, len(texts))
	for i, text := range texts {
		p := driver.InsertParams{Kind: text, Queue: text, Args: []byte("{}"), MaxAttempts: 1, RecurringID: text, Title: text}
		p.Tags = []string{text, "x" + text}
		p.Meta = map[string]string{text: text, "x" + text: "y" + text}
		jobs[i] = p
	}
	inserted := e.insert(jobs...)
	for i, id := range inserted {
		e.sameParams(fmt.Sprintf("record of the job named %q", texts[i]), e.record(id).Job, jobs[i])
	}
	// All the keys in one map: none may replace another.
	p := job()
	p.Meta = map[string]string{}
	for _, text := range texts {
		p.Meta[text] = "value of " + text
	}
	e.sameParams("job with all texts as meta keys", e.record(e.insert(p)[0]).Job, p)
	for i, text := range texts {
		e.order(fmt.Sprintf("claim in the queue named %q", text), jobIDs(e.claim(10, text)), []int64{inserted[i]})
	}
}

func insertSizes(e *env) {
	p := driver.InsertParams{
		Kind: strings.Repeat("k", 128), Queue: strings.Repeat("q", 64), Args: []byte(`"` + strings.Repeat("a", 1<<20-2) + `"`),
		MaxAttempts: 1, RecurringID: strings.Repeat("é", 100), Title: strings.Repeat("😀", 50), Meta: map[string]string{},
	}
	for i := range 32 {
		p.Tags = append(p.Tags, fmt.Sprintf("%02d", i)+strings.Repeat("ü", 31))
	}
	for i := range 64 {
		p.Meta[fmt.Sprintf("key-%03d", i)] = strings.Repeat("v", 240)
	}
	id := e.insert(p)[0]
	e.sameParams("record", e.record(id).Job, p)
	e.sameParams("claim", e.claimOne(p.Queue), p)
}

func insertTimeouts(e *env) {
	for _, d := range []time.Duration{0, -1, -time.Hour, 1, time.Millisecond, time.Millisecond + 1, 1500 * time.Microsecond, time.Second, 1000 * time.Hour} {
		p := job()
		p.Timeout = d
		what := fmt.Sprintf("job with Timeout %s", d)
		id := e.insert(p)[0]
		e.sameParams(what, e.record(id).Job, p)
		e.sameParams(what+", claimed", e.claimOne(), p)
	}
}

func insertNumbers(e *env) {
	for _, priority := range []int16{math.MinInt16, -1, 0, 1, math.MaxInt16} {
		for _, attempts := range []int{1, 2, 1000, math.MaxInt32} {
			p := job(withPriority(priority), withAttempts(attempts))
			what := fmt.Sprintf("job with Priority %d and MaxAttempts %d", priority, attempts)
			e.sameParams(what, e.record(e.insert(p)[0]).Job, p)
			e.sameParams(what+", claimed", e.claimOne(), p)
		}
	}
}

func insertCopies(e *env) {
	p := everything()
	p.Queue = queue1
	want := everything()
	want.Queue = queue1
	id := e.insert(p)[0]
	spoil := func(args []byte, meta map[string]string, tags []string) {
		args[2] = 'X'
		meta["trace"], meta["new"] = "spoilt", "spoilt"
		tags[0] = "spoilt"
	}
	spoil(p.Args, p.Meta, p.Tags)
	e.sameParams("record after the caller changed what it had given", e.record(id).Job, want)
	r := e.record(id)
	spoil(r.Args, r.Meta, r.Tags)
	e.sameParams("record after the reader changed what it had got", e.record(id).Job, want)
	j := e.claimOne()
	spoil(j.Args, j.Meta, j.Tags)
	e.sameParams("record after the claimer changed what it had got", e.record(id).Job, want)
	output := []byte(`{"a":1}`)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded, Output: output, Reason: "done"})
	output[2] = 'X'
	r = e.record(id)
	eq(e, "Output after the caller changed what it had given", string(r.Output), `{"a":1}`)
	r.Output[2], r.History[0].Reason = 'X', "spoilt"
	r = e.record(id)
	eq(e, "Output after the reader changed what it had got", string(r.Output), `{"a":1}`)
	eq(e, "history after the reader changed what it had got", r.History[0].Reason, "done")
}

func insertDelay(e *env) {
	for _, d := range []time.Duration{-time.Hour, 0, 1500 * time.Microsecond, time.Second, time.Hour, 5 * 365 * 24 * time.Hour} {
		before := e.now()
		id := e.insertOne(withDelay(d))
		after := e.now()
		e.between(fmt.Sprintf("RunAt with a Delay of %s, less the delay", d), e.record(id).RunAt.Add(-max(d, 0)), before, after)
	}
}

func insertRunAt(e *env) {
	now := e.now()
	zone := time.FixedZone("far", -11*3600-1800)
	for _, at := range []time.Time{
		now.Add(time.Hour), now.Add(-time.Hour), now.Add(time.Hour).In(zone), now.Add(time.Hour + 123457*time.Nanosecond),
		now.Add(time.Hour).Truncate(time.Second), now.Add(time.Hour).Truncate(time.Second).Add(999_999 * time.Microsecond),
		time.Date(1975, 2, 3, 4, 5, 6, 789_123_000, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(2199, 12, 31, 23, 59, 59, 999_999_000, zone), time.Date(2032, 2, 29, 2, 30, 0, 1000, zone),
	} {
		what := "RunAt given as " + at.Format(time.RFC3339Nano)
		id := e.insertOne(withRunAt(at), withDelay(3*time.Hour))
		r := e.record(id)
		e.given(what, r.RunAt, at)
		want := driver.Enqueued
		if at.After(now) {
			want = driver.Scheduled
		}
		eq(e, what+": State", r.State, want)
		if again := e.record(id); again.RunAt != r.RunAt || again.CreatedAt != r.CreatedAt {
			e.Errorf("%s: two readings of one job have other instants (compared with ==): %#v and %#v", what, r.RunAt, again.RunAt)
		}
	}
}

func insertTitleCut(e *env) {
	cases := []struct{ given, want string }{
		{"", ""},
		{"short", "short"},
		{strings.Repeat("x", 200), strings.Repeat("x", 200)},
		{strings.Repeat("x", 201), strings.Repeat("x", 200)},
		{strings.Repeat("x", 199) + "é", strings.Repeat("x", 199)},
		{strings.Repeat("x", 198) + "é", strings.Repeat("x", 198) + "é"},
		{strings.Repeat("x", 197) + "😀", strings.Repeat("x", 197)},
		{strings.Repeat("é", 5000), strings.Repeat("é", 100)},
	}
	for _, c := range cases {
		p := job()
		p.Title = c.given
		what := fmt.Sprintf("title of %d bytes", len(c.given))
		id := e.insert(p)[0]
		eq(e, what+" in the record", e.record(id).Title, c.want)
		eq(e, what+" in the claim", e.claimOne().Title, c.want)
	}
}

func insertTitleKept(e *env) {
	p := job()
	p.Title = "Bill für Zoë"
	check := func(state driver.State, id int64) {
		e.Helper()
		eq(e, fmt.Sprintf("title in the record of a job that is %s", state), e.inState(id, state).Title, p.Title)
		list := e.page(driver.JobQuery{State: state}).Records
		if i := slices.IndexFunc(list, func(r driver.Record) bool { return r.ID == id }); i < 0 || list[i].Title != p.Title {
			e.Errorf("the list of %s jobs does not show job %d with its title: %+v", state, id, list)
		}
	}
	id := e.insert(p)[0]
	check(driver.Enqueued, id)
	j := e.claimOne()
	eq(e, "title in the claim", j.Title, p.Title)
	check(driver.Processing, id)
	e.apply(driver.Outcome{Ref: j.Ref, State: driver.Succeeded})
	check(driver.Succeeded, id)
	eq(e, "jobs requeued", e.requeue(driver.Filter{IDs: []int64{id}}), 1)
	check(driver.Enqueued, id)
	eq(e, "jobs deleted", e.delete(driver.Filter{IDs: []int64{id}}), 1)
	check(driver.Deleted, id)
}

func insertCleaned(e *env) {
	p := job()
	p.Title = "a\x00b\xffc"
	p.Tags = []string{"ok", "nul\x00", "bad\xfe", "ok"}
	id := e.insert(p)[0]
	want := p
	want.Title = "a\ufffdb\ufffdc"
	want.Tags = []string{"ok", "nul\ufffd", "bad\ufffd", "ok"}
	e.sameParams("record", e.record(id).Job, want)
	if !bytes.Equal([]byte(p.Tags[1]), []byte("nul\x00")) {
		e.Errorf("the store cleaned the caller's own slice of tags")
	}
	e.order("list by the cleaned tag", recordIDs(e.page(driver.JobQuery{State: driver.Enqueued, Tag: "nul\ufffd"}).Records), []int64{id})
}
