package kiln

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

var errPlain = errors.New("plain")

// angry panics when it is asked for its text.
type angry struct{}

func (angry) Error() string { panic("no text") }

func TestClassify(t *testing.T) {
	wait := Constant(time.Minute)
	job := func(attempt int) *driver.Job { return &driver.Job{Attempt: attempt, MaxAttempts: 3} }
	for _, c := range []struct {
		name    string
		attempt int
		cause   error
		err     error
		output  string
		want    driver.Outcome
	}{
		{name: "success", attempt: 1, output: `{"a":1}`, want: driver.Outcome{State: Succeeded, Output: []byte(`{"a":1}`)}},
		{name: "success after timeout", attempt: 1, cause: ErrTimeout, want: driver.Outcome{State: Succeeded}},
		{name: "success after cancel", attempt: 1, cause: ErrCanceled, want: driver.Outcome{State: Succeeded}},
		{name: "success after shutdown", attempt: 1, cause: ErrShutdown, want: driver.Outcome{State: Succeeded}},
		{name: "output is not JSON", attempt: 1, output: `{`, want: driver.Outcome{State: Failed, Reason: "output rejected", Error: `kiln: output "{" is not JSON`}},
		{name: "output is not UTF-8", attempt: 1, output: "\"\xff\"", want: driver.Outcome{State: Failed, Reason: "output rejected", Error: `kiln: output "\"\xff\"" is not JSON`}},
		{name: "timeout", attempt: 1, cause: ErrTimeout, err: errPlain, want: driver.Outcome{State: Scheduled, Reason: "retry", Delay: time.Minute, Error: "kiln: job timed out: plain"}},
		{name: "timeout on the last attempt", attempt: 3, cause: ErrTimeout, err: errPlain, want: driver.Outcome{State: Failed, Reason: "exhausted", Error: "kiln: job timed out: plain"}},
		{name: "permanent after timeout", attempt: 1, cause: ErrTimeout, err: Permanent(errPlain), want: driver.Outcome{State: Failed, Reason: "permanent", Error: "kiln: job timed out: plain"}},
		{name: "canceled context", attempt: 1, cause: ErrCanceled, err: errPlain, want: driver.Outcome{State: Deleted, Reason: "canceled", Error: "plain"}},
		{name: "canceled context before permanent", attempt: 1, cause: ErrCanceled, err: Permanent(errPlain), want: driver.Outcome{State: Deleted, Reason: "canceled", Error: "plain"}},
		{name: "cancel", attempt: 1, err: Cancel(errPlain), want: driver.Outcome{State: Deleted, Reason: "canceled", Error: "plain"}},
		{name: "cancel before shutdown", attempt: 1, cause: ErrShutdown, err: Cancel(nil), want: driver.Outcome{State: Deleted, Reason: "canceled", Error: "kiln: job canceled"}},
		{name: "shutdown", attempt: 3, cause: ErrShutdown, err: Permanent(errPlain), want: driver.Outcome{State: Enqueued, Reason: "shutdown", Refund: true, Error: "plain"}},
		{name: "permanent", attempt: 1, err: fmt.Errorf("while: %w", Permanent(errPlain)), want: driver.Outcome{State: Failed, Reason: "permanent", Error: "while: plain"}},
		{name: "permanent before snooze", attempt: 1, err: Permanent(Snooze(time.Second)), want: driver.Outcome{State: Failed, Reason: "permanent", Error: "kiln: job snoozed for 1s"}},
		{name: "snooze", attempt: 3, err: fmt.Errorf("busy: %w", Snooze(time.Hour)), want: driver.Outcome{State: Scheduled, Reason: "snoozed", Refund: true, Delay: time.Hour, Error: "busy: kiln: job snoozed for 1h0m0s"}},
		{name: "negative snooze", attempt: 1, err: Snooze(-time.Hour), want: driver.Outcome{State: Scheduled, Reason: "snoozed", Refund: true, Error: "kiln: job snoozed for 0s"}},
		{name: "bare ErrSnoozed", attempt: 1, err: ErrSnoozed, want: driver.Outcome{State: Scheduled, Reason: "retry", Delay: time.Minute, Error: "kiln: job snoozed"}},
		{name: "retry", attempt: 2, err: errPlain, want: driver.Outcome{State: Scheduled, Reason: "retry", Delay: time.Minute, Error: "plain"}},
		{name: "exhausted", attempt: 3, err: errPlain, want: driver.Outcome{State: Failed, Reason: "exhausted", Error: "plain"}},
		{name: "attempts beyond the limit", attempt: 9, err: errPlain, want: driver.Outcome{State: Failed, Reason: "exhausted", Error: "plain"}},
		{name: "panic", attempt: 1, err: &PanicError{Value: "boom", Stack: []byte("stack")}, want: driver.Outcome{State: Scheduled, Reason: "retry", Delay: time.Minute, Error: "kiln: panic: boom", Trace: "stack"}},
		{name: "panic with a permanent error", attempt: 1, err: &PanicError{Value: Permanent(errPlain)}, want: driver.Outcome{State: Scheduled, Reason: "retry", Delay: time.Minute, Error: "kiln: panic: plain"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if c.cause != nil {
				cancel(c.cause)
			}
			defer cancel(nil)
			got := classify(ctx, job(c.attempt), c.err, json.RawMessage(c.output), wait)
			if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", c.want); g != w {
				t.Errorf("got  %s\nwant %s", g, w)
			}
		})
	}
}

func TestClassifySurvivesPanics(t *testing.T) {
	explode := func(int, error) time.Duration { panic("backoff") }
	for name, c := range map[string]struct {
		err     error
		backoff Backoff
	}{"backoff": {errPlain, explode}, "error text": {angry{}, Constant(time.Second)}} {
		out := classify(t.Context(), &driver.Job{Attempt: 1, MaxAttempts: 2}, c.err, nil, c.backoff)
		if out.State != Scheduled || out.Reason != "retry" || out.Delay < 15*time.Second || out.Trace == "" {
			t.Errorf("%s: %+v is not a retry after the default backoff", name, out)
		}
		out = classify(t.Context(), &driver.Job{Attempt: 2, MaxAttempts: 2}, c.err, nil, c.backoff)
		if name == "error text" && (out.State != Failed || out.Reason != "exhausted") {
			t.Errorf("%s at the last attempt: %+v", name, out)
		}
	}
}

func TestOutputBound(t *testing.T) {
	fits := json.RawMessage(`"` + strings.Repeat("x", 1<<20-2) + `"`)
	if out := success(fits); out.State != Succeeded {
		t.Errorf("1 MiB of output: %s %s", out.State, out.Error)
	}
	out := success(append(fits, ' '))
	if out.State != Failed || out.Reason != "output rejected" || !strings.Contains(out.Error, "1048577") || out.Output != nil {
		t.Errorf("more than 1 MiB of output: %+v", out)
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		"kiln: permanent failure":     Permanent(nil),
		"kiln: job canceled":          Cancel(nil),
		"kiln: job snoozed":           ErrSnoozed,
		"kiln: job timed out":         ErrTimeout,
		"kiln: server shutting down":  ErrShutdown,
		"kiln: job snoozed for 1m30s": Snooze(90 * time.Second),
		"kiln: panic: 7":              &PanicError{Value: 7},
		"plain":                       Permanent(errPlain),
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
	for _, pair := range [][2]error{
		{Permanent(errPlain), ErrPermanent}, {Permanent(errPlain), errPlain}, {Cancel(errPlain), ErrCanceled}, {Cancel(errPlain), errPlain},
		{Permanent(nil), ErrPermanent}, {Cancel(nil), ErrCanceled}, {Snooze(1), ErrSnoozed},
	} {
		if !errors.Is(pair[0], pair[1]) {
			t.Errorf("%#v does not match %v", pair[0], pair[1])
		}
	}
}
