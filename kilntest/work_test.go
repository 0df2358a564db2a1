package kilntest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/kilntest"
)

type email struct {
	To   string
	Fail string
}

func (email) Kind() string { return "email" }
func (e email) InsertOptions() []kiln.InsertOption {
	return []kiln.InsertOption{kiln.Queue("mail"), kiln.MaxAttempts(3), kiln.Meta{"own": `"1"`}}
}

var errSMTP = errors.New("no connection")

func send(ctx context.Context, j *kiln.Job[email]) error {
	j.Logf("to %s", j.Args.To)
	j.SetProgress(40)
	if err := j.SetOutput(map[string]string{"sent": j.Args.To}); err != nil {
		return err
	}
	switch j.Args.Fail {
	case "retry":
		return errSMTP
	case "permanent":
		return kiln.Permanent(errSMTP)
	case "cancel":
		return kiln.Cancel(errSMTP)
	case "snooze":
		return kiln.Snooze(time.Hour)
	case "panic":
		panic("oh")
	case "exit":
		runtime.Goexit()
	case "output":
		return j.SetOutput(strings.Repeat("x", 2<<20))
	case "hang":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func mux() *kiln.Mux {
	m := kiln.NewMux()
	kiln.Handle(m, send)
	return m
}

func TestWorkOutcomes(t *testing.T) {
	for _, c := range []struct {
		fail  string
		state kiln.State
		is    error
		text  string
	}{
		{"", kiln.Succeeded, nil, ""},
		{"retry", kiln.Scheduled, errSMTP, "no connection"},
		{"permanent", kiln.Failed, kiln.ErrPermanent, "no connection"},
		{"cancel", kiln.Deleted, kiln.ErrCanceled, "no connection"},
		{"snooze", kiln.Scheduled, kiln.ErrSnoozed, "1h0m0s"},
		{"panic", kiln.Scheduled, nil, "kiln: panic: oh"},
		{"exit", kiln.Scheduled, nil, "Goexit"},
		{"output", kiln.Failed, nil, "more than 1048576"},
	} {
		r := kilntest.Work(t.Context(), mux(), email{To: "ann", Fail: c.fail})
		if r.State != c.state || (r.Err == nil) != (c.text == "") || c.is != nil && !errors.Is(r.Err, c.is) || r.Err != nil && !strings.Contains(r.Err.Error(), c.text) {
			t.Errorf("%q: %+v", c.fail, r)
		}
		if len(r.Logs) != 1 || r.Logs[0] != "to ann" || r.Progress != 40 {
			t.Errorf("%q: lines %q, progress %d", c.fail, r.Logs, r.Progress)
		}
		want := ""
		if c.fail == "" {
			want = `{"sent":"ann"}`
		}
		if string(r.Output) != want {
			t.Errorf("%q: output %s", c.fail, r.Output)
		}
		switch {
		case c.fail == "snooze":
			if r.Delay != time.Hour {
				t.Errorf("a snooze of %s", r.Delay)
			}
		case c.state == kiln.Scheduled:
			if r.Delay < 15*time.Second || r.Delay > 2*time.Minute {
				t.Errorf("%q: a retry in %s, which is not the default backoff", c.fail, r.Delay)
			}
		case r.Delay != 0:
			t.Errorf("%q: delay %s", c.fail, r.Delay)
		}
		var p *kiln.PanicError
		if errors.As(r.Err, &p) != (c.fail == "panic") {
			t.Errorf("%q: %T", c.fail, r.Err)
		}
	}
}

func TestWorkTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for limit, opts := range map[time.Duration][]kiln.InsertOption{30 * time.Minute: nil, time.Second: {kiln.Timeout(time.Second)}} {
			begin := time.Now()
			r := kilntest.Work(t.Context(), mux(), email{Fail: "hang"}, opts...)
			if took := time.Since(begin); took != limit || !errors.Is(r.Err, kiln.ErrTimeout) || !errors.Is(r.Err, context.DeadlineExceeded) || r.State != kiln.Scheduled {
				t.Errorf("after %s: %+v", took, r)
			}
		}
	})
}

func TestWorkInvalid(t *testing.T) {
	for _, r := range []kilntest.Result{
		kilntest.Work(t.Context(), mux(), email{}, kiln.Queue("NO")),
		kilntest.Work(t.Context(), mux(), email{}, kiln.MaxAttempts(0)),
	} {
		if r.State != "" || !errors.Is(r.Err, kiln.ErrInvalid) {
			t.Errorf("%+v", r)
		}
	}
	r := kilntest.WorkJob(t.Context(), mux(), kilntest.Case[email]{ParentOutputs: map[int64]any{7: make(chan int)}})
	if r.State != "" || r.Err == nil || !strings.Contains(r.Err.Error(), "parent 7") {
		t.Errorf("%+v", r)
	}
	if r := kilntest.Work(t.Context(), kiln.NewMux(), email{}); r.State != kiln.Scheduled || r.Delay != time.Minute || !strings.Contains(r.Err.Error(), `no handler for kind "email"`) {
		t.Errorf("without a handler: %+v", r)
	}
	if r := kilntest.Work(t.Context(), mux(), email{}, kiln.Deadline(time.Now().Add(-time.Hour))); r.State != kiln.Deleted || !strings.Contains(r.Err.Error(), "deadline") {
		t.Errorf("after its deadline: %+v", r)
	}
}

func TestWorkSeesTheJob(t *testing.T) {
	m := kiln.NewMux()
	before := time.Now()
	var seen kiln.Job[email]
	kiln.Handle(m, func(ctx context.Context, j *kiln.Job[email]) error {
		seen = *j
		if raw, ok := kiln.JobFrom(ctx); !ok || raw.Kind != "email" {
			t.Error("JobFrom does not work")
		}
		if _, ok := kiln.ClientFrom(ctx); ok {
			t.Error("there is a client")
		}
		if err := j.SetParam(ctx, "step", 2); err != nil {
			t.Error(err)
		}
		if outputs, err := j.ParentOutputs(ctx); err != nil || len(outputs) != 2 || string(outputs[4]) != "1" || string(outputs[9]) != `"x"` {
			t.Errorf("outputs of the parents: %v, %v", outputs, err)
		}
		var step, earlier int
		if ok, err := j.Param("step", &step); !ok || err != nil || step != 2 {
			t.Errorf("step %d, %v, %v", step, ok, err)
		}
		if ok, err := j.Param("earlier", &earlier); !ok || err != nil || earlier != 5 {
			t.Errorf("earlier %d, %v, %v", earlier, ok, err)
		}
		return errSMTP
	})
	meta := map[string]string{"earlier": "5"}
	r := kilntest.WorkJob(t.Context(), m, kilntest.Case[email]{
		Args: email{To: "ann"}, Attempt: 3, Meta: meta, ParentOutputs: map[int64]any{9: "x", 4: 1},
		Options: []kiln.InsertOption{kiln.Priority(7), kiln.Tags{"t"}, kiln.Title("Mail"), kiln.Meta{"k": "v"}, kiln.Delay(time.Hour)},
	})
	if r.State != kiln.Failed || !errors.Is(r.Err, errSMTP) {
		t.Errorf("the third of three attempts: %+v", r)
	}
	if seen.Attempt != 3 || seen.MaxAttempts != 3 || seen.Queue != "mail" || seen.Priority != 7 || seen.Tags[0] != "t" || seen.Title != "Mail" ||
		seen.Meta["k"] != "v" || seen.Meta["own"] != `"1"` || fmt.Sprint(seen.Parents) != "[4 9]" || seen.Args.To != "ann" {
		t.Errorf("the handler saw %+v", seen)
	}
	if seen.RunAt.Before(before) || seen.CreatedAt.Before(before) || seen.RunAt.After(time.Now()) {
		t.Errorf("times %s and %s are not now", seen.CreatedAt, seen.RunAt)
	}
	if len(meta) != 1 {
		t.Errorf("the caller's meta changed: %v", meta)
	}
}

// TestWorkLeavesTheMuxOpen pins that handlers and middleware added later count.
func TestWorkLeavesTheMuxOpen(t *testing.T) {
	m := mux()
	kilntest.Work(t.Context(), m, email{})
	var order []string
	m.Use(func(next kiln.HandlerFunc) kiln.HandlerFunc {
		return func(ctx context.Context, j *kiln.RawJob) error {
			order = append(order, "before")
			err := next(ctx, j)
			order = append(order, fmt.Sprint(err))
			return nil // middleware decides
		}
	})
	m.HandleFunc("other", func(context.Context, *kiln.RawJob) error { return nil })
	if r := kilntest.Work(t.Context(), m, email{Fail: "retry"}); r.State != kiln.Succeeded || fmt.Sprint(order) != "[before no connection]" {
		t.Errorf("%+v after %v", r, order)
	}
}

func TestWorkCutsLines(t *testing.T) {
	m := kiln.NewMux()
	kiln.Handle(m, func(_ context.Context, j *kiln.Job[email]) error {
		j.Logf("%s\n", strings.Repeat("x", 5000))
		for i := range 2000 {
			j.Logf("%d", i)
		}
		return nil
	})
	r := kilntest.Work(t.Context(), m, email{})
	if len(r.Logs) != 1001 || len(r.Logs[0]) != 4096 || r.Logs[999] != "998" || r.Logs[1000] != "kiln: console truncated" {
		t.Errorf("%d lines, the first of %d bytes, the last %q", len(r.Logs), len(r.Logs[0]), r.Logs[len(r.Logs)-1])
	}
}
