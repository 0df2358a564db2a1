package kiln

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// errExited is the error of a handler that ended its goroutine, as testing's FailNow does, instead of returning.
var errExited = errors.New("kiln: handler called runtime.Goexit")

// recovered turns a handler's panic into its error, so that middleware sees it.
func recovered(fn HandlerFunc) HandlerFunc {
	return func(ctx context.Context, j *RawJob) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = &PanicError{Value: v, Stack: panicStack()}
			}
		}()
		return fn(ctx, j)
	}
}

// panicStack is the stack of a panic that was just recovered, from the place that panicked on: the frames above that belong to
// the recovery and to the runtime.
func panicStack() []byte {
	stack := debug.Stack()
	head, frames, _ := bytes.Cut(stack, []byte("\n"))
	_, frames, found := bytes.Cut(frames, []byte("\npanic("))
	if !found {
		return stack
	}
	for first := true; first || bytes.HasPrefix(frames, []byte("runtime.")); first = false {
		_, frames, _ = bytes.Cut(frames, []byte("\n"))
		_, frames, _ = bytes.Cut(frames, []byte("\n"))
	}
	if len(frames) == 0 {
		return stack
	}
	return slices.Concat(head, []byte("\n"), frames)
}

// classify says what a handler's result means for its job.
func classify(ctx context.Context, job *driver.Job, err error, output json.RawMessage, backoff Backoff) (out driver.Outcome) {
	defer func() {
		if v := recover(); v != nil {
			// An error's own methods or the application's backoff panicked. The job is not to blame.
			out = retry(job, fmt.Sprintf("kiln: panic while the result was judged: %v", v), string(debug.Stack()), defaultBackoff(job.Attempt, nil))
		}
	}()
	if err == nil {
		return success(output)
	}
	cause := context.Cause(ctx)
	err = withCause(ctx, err)
	text, trace := err.Error(), ""
	var p *PanicError
	if errors.As(err, &p) {
		trace = string(p.Stack)
	}
	out = driver.Outcome{Error: text, Trace: trace}
	var snooze *snoozeError
	switch {
	case cause == ErrCanceled || errors.Is(err, ErrCanceled):
		out.State, out.Reason = driver.Deleted, "canceled"
	case cause == ErrShutdown:
		out.State, out.Reason, out.Refund = driver.Enqueued, "shutdown", true
	case errors.Is(err, ErrPermanent):
		out.State, out.Reason = driver.Failed, "permanent"
	case errors.As(err, &snooze):
		out.State, out.Reason, out.Refund, out.Delay = driver.Scheduled, "snoozed", true, snooze.delay
	case job.Attempt < job.MaxAttempts:
		return retry(job, text, trace, max(backoff(job.Attempt, err), 0))
	default:
		return retry(job, text, trace, 0)
	}
	return out
}

// withCause says in an error that the time limit had passed when the handler returned it.
func withCause(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == ErrTimeout && !errors.Is(err, ErrTimeout) {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return err
}

// retry is the outcome of an attempt that failed, and may be tried again if attempts are left.
func retry(job *driver.Job, text, trace string, delay time.Duration) driver.Outcome {
	if job.Attempt >= job.MaxAttempts {
		return driver.Outcome{State: driver.Failed, Reason: "exhausted", Error: text, Trace: trace}
	}
	return driver.Outcome{State: driver.Scheduled, Reason: "retry", Error: text, Trace: trace, Delay: delay}
}

// success is the outcome of a handler that returned nil, unless its output cannot be kept.
func success(output json.RawMessage) driver.Outcome {
	problem := ""
	switch {
	case len(output) > maxOutput:
		problem = fmt.Sprintf("kiln: output has %d bytes of JSON, more than %d", len(output), maxOutput)
	case len(output) > 0 && !driver.ValidJSON(output):
		problem = fmt.Sprintf("kiln: output %s is not JSON", quote(string(output)))
	default:
		return driver.Outcome{State: driver.Succeeded, Output: output}
	}
	return driver.Outcome{State: driver.Failed, Reason: "output rejected", Error: problem}
}
