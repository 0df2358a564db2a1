// Package kilntest helps to test handlers, and code that enqueues jobs, without a server.
package kilntest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/internal/trial"
)

// Result is how one attempt of a job ended.
type Result struct {
	// State is what becomes of the job: succeeded, failed, deleted, or scheduled for a retry or a snooze. It is empty when args or
	// options are invalid, so that there would be no job; Err then says why.
	State kiln.State
	// Err is the handler's error, a *kiln.PanicError after a panic. It also matches kiln.ErrTimeout when the time limit had passed.
	Err error
	// Delay is how long a scheduled job waits.
	Delay time.Duration
	// Output is what the job leaves behind if it succeeded.
	Output json.RawMessage
	// Logs are the lines that the job wrote, cut as a server cuts them.
	Logs []string
	// Progress is the last percentage that it told, 0 when it told none.
	Progress int
}

// Case is the attempt that WorkJob runs.
type Case[T kiln.Args] struct {
	Args T
	// Attempt counts from 1; 0 is the first.
	Attempt int
	// ParentOutputs are what the jobs that it waited for produced, by their ids. They are encoded as JSON, and their ids are the
	// job's parents.
	ParentOutputs map[int64]any
	// Meta is added to what the options say, as SetParam of earlier attempts would have done. Its values are JSON then.
	Meta map[string]string
	// Options are those of the enqueue.
	Options []kiln.InsertOption
}

// Work runs the first attempt of a job with these args, through the mux's middleware and the same judgement of the result as on a
// server with the default configuration: a time limit of 30 minutes, and the default backoff. Nothing is stored.
//
// The mux stays open: what is registered later counts in the next Work. The job's times are now. kiln.JobFrom works in the handler's
// context, kiln.ClientFrom does not; SetParam only changes Meta, and ParentOutputs is empty.
func Work[T kiln.Args](ctx context.Context, m *kiln.Mux, args T, opts ...kiln.InsertOption) Result {
	return WorkJob(ctx, m, Case[T]{Args: args, Options: opts})
}

// WorkJob is Work for any attempt, and with what the job's parents produced.
func WorkJob[T kiln.Args](ctx context.Context, m *kiln.Mux, c Case[T]) Result {
	job := trial.Job{Attempt: c.Attempt, Meta: c.Meta}
	if len(c.ParentOutputs) > 0 {
		job.ParentOutputs = make(map[int64]json.RawMessage, len(c.ParentOutputs))
	}
	for _, id := range slices.Sorted(maps.Keys(c.ParentOutputs)) {
		output, err := json.Marshal(c.ParentOutputs[id])
		if err != nil {
			return Result{Err: fmt.Errorf("kilntest: output of parent %d: %w", id, err)}
		}
		job.ParentOutputs[id] = output
	}
	r := trial.Work(ctx, m, c.Args, c.Options, job)
	return Result{State: r.State, Err: r.Err, Delay: r.Delay, Output: r.Output, Logs: r.Lines, Progress: r.Progress}
}
