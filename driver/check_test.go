package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// valid is a job that breaks no rule.
func valid() driver.InsertParams {
	return driver.InsertParams{Kind: "send_email", Queue: "default", Args: []byte(`{}`), MaxAttempts: 1}
}

// with is a valid job with one change.
func with(change func(*driver.InsertParams)) driver.InsertParams {
	j := valid()
	change(&j)
	return j
}

// refusals has, for each rule of CheckInsert, a job that breaks it, and what the error must say: field, value and bound.
var refusals = []struct {
	name  string
	job   driver.InsertParams
	texts []string
}{
	{"no kind", with(func(j *driver.InsertParams) { j.Kind = "" }), []string{"Kind is empty"}},
	{"kind not UTF-8", with(func(j *driver.InsertParams) { j.Kind = "a\xff" }), []string{"Kind", `"a\xff"`, "UTF-8"}},
	{"kind with NUL", with(func(j *driver.InsertParams) { j.Kind = "a\x00" }), []string{"Kind", `"a\x00"`, "NUL"}},
	{"no queue", with(func(j *driver.InsertParams) { j.Queue = "" }), []string{"Queue is empty"}},
	{"queue not UTF-8", with(func(j *driver.InsertParams) { j.Queue = "\xc3" }), []string{"Queue", `"\xc3"`, "UTF-8"}},
	{"queue with NUL", with(func(j *driver.InsertParams) { j.Queue = "\x00" }), []string{"Queue", `"\x00"`, "NUL"}},
	{"recurring id with NUL", with(func(j *driver.InsertParams) { j.RecurringID = "r\x00" }), []string{"RecurringID", `"r\x00"`, "NUL"}},
	{"recurring id not UTF-8", with(func(j *driver.InsertParams) { j.RecurringID = "r\xff" }), []string{"RecurringID", `"r\xff"`, "UTF-8"}},
	{"no attempts", with(func(j *driver.InsertParams) { j.MaxAttempts = 0 }), []string{"MaxAttempts 0", "below 1"}},
	{"negative attempts", with(func(j *driver.InsertParams) { j.MaxAttempts = -1 }), []string{"MaxAttempts -1", "below 1"}},
	{"nil args", with(func(j *driver.InsertParams) { j.Args = nil }), []string{`Args ""`, "not valid JSON"}},
	{"empty args", with(func(j *driver.InsertParams) { j.Args = []byte{} }), []string{`Args ""`, "not valid JSON"}},
	{"blank args", with(func(j *driver.InsertParams) { j.Args = []byte(" ") }), []string{`Args " "`, "not valid JSON"}},
	{"broken args", with(func(j *driver.InsertParams) { j.Args = []byte(`{"a":`) }), []string{`Args "{\"a\":"`, "not valid JSON"}},
	{"two documents", with(func(j *driver.InsertParams) { j.Args = []byte(`{}{}`) }), []string{`Args "{}{}"`, "not valid JSON"}},
	{"args that are not UTF-8", with(func(j *driver.InsertParams) { j.Args = []byte("\"\xff\"") }), []string{`Args "\"\xff\""`, "not valid JSON"}},
	{"empty meta key", with(func(j *driver.InsertParams) { j.Meta = map[string]string{"": "v"} }), []string{"Meta has an empty key"}},
	{"meta key with NUL", with(func(j *driver.InsertParams) { j.Meta = map[string]string{"k\x00": "v"} }), []string{"Meta key", `"k\x00"`, "NUL"}},
	{"meta key not UTF-8", with(func(j *driver.InsertParams) { j.Meta = map[string]string{"k\xff": "v"} }), []string{"Meta key", `"k\xff"`, "UTF-8"}},
	{"meta value with NUL", with(func(j *driver.InsertParams) { j.Meta = map[string]string{"k": "v\x00"} }), []string{`Meta value of "k"`, `"v\x00"`, "NUL"}},
	{"meta value not UTF-8", with(func(j *driver.InsertParams) { j.Meta = map[string]string{"k": "v\xff"} }), []string{`Meta value of "k"`, `"v\xff"`, "UTF-8"}},
	{"replace and debounce", with(func(j *driver.InsertParams) { j.UniqueReplace, j.UniqueDebounce = true, time.Second }), []string{"UniqueReplace", "UniqueDebounce 1s"}},
	{"limit key with NUL", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitMax = "k\x00", 1 }), []string{"LimitKey", `"k\x00"`, "NUL"}},
	{"limit key not UTF-8", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitMax = "k\xff", 1 }), []string{"LimitKey", `"k\xff"`, "UTF-8"}},
	{"limit key without a rule", with(func(j *driver.InsertParams) { j.LimitKey = "api" }), []string{`LimitKey "api"`, "neither LimitMax nor LimitRate"}},
	{"limit key with burst and period only", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitBurst, j.LimitPer = "api", 3, time.Second }), []string{"neither LimitMax nor LimitRate"}},
	{"rate without a period", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitRate, j.LimitBurst = "api", 5, 5 }), []string{"LimitRate 5", "LimitPer above 0"}},
	{"rate without a burst", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitRate, j.LimitPer = "api", 5, time.Second }), []string{"LimitRate 5", "LimitBurst of at least 1"}},
	{"negative max", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitMax = "api", -1 }), []string{"LimitMax -1", "below 0"}},
	{"negative rate", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitMax, j.LimitRate = "api", 1, -2 }), []string{"LimitRate -2", "below 0"}},
	{"negative period", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitMax, j.LimitPer = "api", 1, -time.Second }), []string{"LimitPer -1s", "below 0"}},
	{"negative burst", with(func(j *driver.InsertParams) { j.LimitKey, j.LimitMax, j.LimitBurst = "api", 1, -4 }), []string{"LimitBurst -4", "below 0"}},
	{"negative max without a key", with(func(j *driver.InsertParams) { j.LimitMax = -1 }), []string{"LimitMax -1", "below 0"}},
	{"negative rate without a key", with(func(j *driver.InsertParams) { j.LimitRate = -1 }), []string{"LimitRate -1", "below 0"}},
	{"negative period without a key", with(func(j *driver.InsertParams) { j.LimitPer = -1 }), []string{"LimitPer -1ns", "below 0"}},
	{"negative burst without a key", with(func(j *driver.InsertParams) { j.LimitBurst = -1 }), []string{"LimitBurst -1", "below 0"}},
	{"negative batch", with(func(j *driver.InsertParams) { j.BatchID = -1 }), []string{"BatchID -1", "below 0"}},
	{"negative batch to wait for", with(func(j *driver.InsertParams) { j.AfterBatch = -7 }), []string{"AfterBatch -7", "below 0"}},
	{"after its own batch", with(func(j *driver.InsertParams) { j.BatchID, j.AfterBatch = 9, 9 }), []string{"AfterBatch 9", "own batch"}},
	{"parent without a mask", parent(driver.Parent{ID: 5}), []string{"parent id 5", "On is 0"}},
	{"parent with an unknown mask", parent(driver.Parent{ID: 5, On: 8}), []string{"parent id 5", "On is 8"}},
	{"index parent without a mask", parent(driver.Parent{Index: 2}), []string{"parent index 2", "On is 0"}},
	{"negative parent id", parent(driver.Parent{ID: -5, On: driver.OnFailed}), []string{"parent id -5", "below 0"}},
	{"negative parent index", parent(driver.Parent{Index: -1, On: driver.OnFailed}), []string{"parent index -1", "0..2"}},
	{"parent index behind the call", parent(driver.Parent{Index: 3, On: driver.OnFailed}), []string{"parent index 3", "0..2"}},
	{"its own parent", parent(driver.Parent{Index: 1, On: driver.OnFailed}), []string{"parent index 1", "the job itself"}},
	{"bad parent behind good ones", parent(driver.Parent{ID: 1, On: 1}, driver.Parent{Index: 0, On: 2}, driver.Parent{ID: 3}), []string{"parent id 3"}},
}

func parent(parents ...driver.Parent) driver.InsertParams {
	return with(func(j *driver.InsertParams) { j.Parents = parents })
}

func TestCheckInsertRefuses(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			err := driver.CheckInsert([]driver.InsertParams{valid(), c.job, valid()})
			if !errors.Is(err, driver.ErrInvalid) || errors.Is(err, driver.ErrTooLarge) {
				t.Fatalf("error %v, want one that wraps ErrInvalid only", err)
			}
			for _, text := range append(c.texts, "job 1 of 3") {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not contain %q", err, text)
				}
			}
		})
	}
}

func TestCheckInsertAccepts(t *testing.T) {
	for name, job := range map[string]driver.InsertParams{
		"plain": valid(),
		// Alphabets and sizes are the client's to check.
		"any alphabet":      with(func(j *driver.InsertParams) { j.Kind, j.Queue = "1 Ä", strings.Repeat("Q", 1000) }),
		"JSON null":         with(func(j *driver.InsertParams) { j.Args = []byte("null") }),
		"JSON number":       with(func(j *driver.InsertParams) { j.Args = []byte(" 1.5e3\n") }),
		"escaped NUL":       with(func(j *driver.InsertParams) { j.Args = []byte(`"\u0000"`) }),
		"dirty title":       with(func(j *driver.InsertParams) { j.Title = "a\x00\xff" }),
		"dirty tags":        with(func(j *driver.InsertParams) { j.Tags = []string{"a\x00\xff", ""} }),
		"empty meta value":  with(func(j *driver.InsertParams) { j.Meta = map[string]string{"k": ""} }),
		"binary unique key": with(func(j *driver.InsertParams) { j.UniqueKey = []byte{0, 0xff} }),
		"replace":           with(func(j *driver.InsertParams) { j.UniqueReplace = true }),
		"debounce":          with(func(j *driver.InsertParams) { j.UniqueDebounce = time.Second }),
		"times below 0":     with(func(j *driver.InsertParams) { j.Delay, j.Timeout, j.UniqueFor = -1, -1, -1 }),
		"cap":               with(func(j *driver.InsertParams) { j.LimitKey, j.LimitMax = "k", 1 }),
		"rate": with(func(j *driver.InsertParams) {
			j.LimitKey, j.LimitRate, j.LimitPer, j.LimitBurst = "k", 1, 1, 1
		}),
		"rule without a key": with(func(j *driver.InsertParams) { j.LimitMax, j.LimitRate = 1, 1 }),
		"two batches":        with(func(j *driver.InsertParams) { j.BatchID, j.AfterBatch = 1, 2 }),
		"parents":            parent(driver.Parent{ID: 9, On: driver.OnSucceeded}, driver.Parent{Index: 0, On: driver.OnFinished}),
		// An id makes the index meaningless.
		"parent by id":   parent(driver.Parent{ID: 9, Index: 1, On: driver.OnDeleted}, driver.Parent{ID: 9, Index: -4, On: 1}),
		"more mask bits": parent(driver.Parent{ID: 9, On: 255}),
		"parents twice":  parent(driver.Parent{Index: 2, On: 1}, driver.Parent{Index: 2, On: 2}),
	} {
		if err := driver.CheckInsert([]driver.InsertParams{valid(), job, valid()}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := driver.CheckInsert(nil); err != nil {
		t.Errorf("no jobs: %v", err)
	}
}

// An error shows enough of a value to find it and never all of it.
func TestCheckErrorsAreBounded(t *testing.T) {
	const most = 700
	huge := strings.Repeat("é", 1<<19) + "\x00\xff"
	check := func(field string, err error) {
		t.Helper()
		if !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: error %v does not wrap ErrInvalid", field, err)
		} else if n := len(err.Error()); n > most {
			t.Errorf("%s: the error has %d bytes, more than %d", field, n, most)
		}
	}
	for field, job := range map[string]driver.InsertParams{
		"Kind":        with(func(j *driver.InsertParams) { j.Kind = huge }),
		"Queue":       with(func(j *driver.InsertParams) { j.Queue = huge }),
		"Args":        with(func(j *driver.InsertParams) { j.Args = []byte(huge) }),
		"RecurringID": with(func(j *driver.InsertParams) { j.RecurringID = huge }),
		"LimitKey":    with(func(j *driver.InsertParams) { j.LimitKey = huge }),
		"Meta key":    with(func(j *driver.InsertParams) { j.Meta = map[string]string{huge: "v"} }),
		"Meta value":  with(func(j *driver.InsertParams) { j.Meta = map[string]string{strings.Repeat("k", 1<<20): huge} }),
	} {
		check(field, driver.CheckInsert([]driver.InsertParams{job}))
	}
	check("batch Description", driver.CheckBatch(driver.NewBatch{Description: huge}))
	check("batch Meta", driver.CheckBatch(driver.NewBatch{Meta: map[string]string{huge: huge}}))
	check("filter State", driver.CheckFilter(driver.Filter{State: driver.State(huge)}))
	check("CheckMeta", driver.CheckMeta(map[string]string{huge: huge}))
}

func TestCheckFilter(t *testing.T) {
	for i, f := range []driver.Filter{
		{}, {IDs: []int64{}}, {Queue: "q", Kind: "k", BatchID: 1, RecurringID: "r", Tag: "t"},
	} {
		if err := driver.CheckFilter(f); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "IDs or a State") {
			t.Errorf("filter %d without ids and state: %v", i, err)
		}
	}
	for _, f := range []driver.Filter{{State: "gone"}, {State: "Failed", IDs: []int64{1}}, {State: " failed"}} {
		if err := driver.CheckFilter(f); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("State %q", f.State)) {
			t.Errorf("filter with state %q: %v", f.State, err)
		}
	}
	for _, s := range driver.States {
		if err := driver.CheckFilter(driver.Filter{State: s}); err != nil {
			t.Errorf("filter with state %s: %v", s, err)
		}
	}
	for _, f := range []driver.Filter{{IDs: []int64{1}}, {IDs: []int64{-1, 0}, Tag: "t"}, {IDs: []int64{1}, State: driver.Failed}} {
		if err := driver.CheckFilter(f); err != nil {
			t.Errorf("filter %+v: %v", f, err)
		}
	}
}

func TestCheckBatch(t *testing.T) {
	for want, b := range map[string]driver.NewBatch{
		"batch Parent -1 is below 0":                            {Parent: -1},
		`batch Description "a\x00" contains a NUL byte`:         {Description: "a\x00"},
		`batch Description "a\xff" is not valid UTF-8`:          {Description: "a\xff"},
		"Meta has an empty key":                                 {Meta: map[string]string{"": "v"}},
		`Meta key "k\x00" contains a NUL byte`:                  {Meta: map[string]string{"k\x00": "v"}},
		`Meta value of "k" "v\xff" is not valid UTF-8`:          {Meta: map[string]string{"k": "v\xff"}},
		`Meta value of "k" "v\x00" contains a NUL byte`:         {Meta: map[string]string{"k": "v\x00"}},
		`Meta key "\xed\xa0\x80" is not valid UTF-8`:            {Meta: map[string]string{"\xed\xa0\x80": "v"}},
		`batch Description "\xf4\x90\x80\x80" is not valid UTF`: {Description: "\xf4\x90\x80\x80"},
	} {
		if err := driver.CheckBatch(b); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want ErrInvalid with %q", err, want)
		}
	}
	for _, b := range []driver.NewBatch{{}, {Description: "nightly import", Meta: map[string]string{"k": ""}, Parent: 3}} {
		if err := driver.CheckBatch(b); err != nil {
			t.Errorf("batch %+v: %v", b, err)
		}
	}
}

func TestCheckMeta(t *testing.T) {
	if err := driver.CheckMeta(map[string]string{"": ""}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("an empty key: %v", err)
	}
	for _, meta := range []map[string]string{nil, {}, {"k": "", "kiln.deadline": "x", "ä": "😀\n"}} {
		if err := driver.CheckMeta(meta); err != nil {
			t.Errorf("meta %q: %v", meta, err)
		}
	}
}
