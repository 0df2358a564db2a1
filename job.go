package kiln

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/engine"
)

// Job is a job as its handler sees it. It is a copy: changing fields changes nothing in the store.
//
// A Job can also be built by hand, with field names, to call a handler in a test. It then works without a server: SetParam
// changes only Meta, and output, lines and progress stay in memory.
type Job[T any] struct {
	// ID is the job's id in the store.
	ID int64
	// Kind names the handler, Queue the queue that the job came from.
	Kind, Queue string
	// Priority orders the jobs of a queue.
	Priority int16
	// Attempt counts from 1; MaxAttempts is when the job has failed.
	Attempt, MaxAttempts int
	// CreatedAt is when the job was enqueued, RunAt when it became due, both by the store's clock.
	CreatedAt, RunAt time.Time
	// BatchID is the batch that the job is a member of, 0 for none.
	BatchID int64
	// RecurringID is the recurring job that fired it, empty for none.
	RecurringID string
	// Parents are the jobs that it waited for.
	Parents []int64
	// Meta is the job's metadata, with what SetParam of earlier attempts added.
	Meta map[string]string
	// Tags label the job.
	Tags []string
	// Title is the name that people see.
	Title string
	// Args is the payload.
	Args T

	run *run
}

// RawJob is a job whose args are still JSON, as middleware sees it.
type RawJob = Job[json.RawMessage]

// run is what the typed and the raw form of one running job share.
type run struct {
	client *Client
	ref    driver.Ref
	// raw is the form that middleware sees, nil for a job built by hand.
	raw *RawJob

	// ctx is the context of the run, by which its console is found; nil for a job built by hand.
	ctx context.Context

	mu     sync.Mutex
	output json.RawMessage
	// parents are the outputs that a trial without a server gives.
	parents map[int64]json.RawMessage
	// kept is the console of a job without a server.
	kept *engine.Console
}

// state returns the part shared by the job's forms, made at the first call for a job built by hand. Such a job is for one
// goroutine until then.
func (j *Job[T]) state() *run {
	if j.run == nil {
		j.run = &run{}
	}
	return j.run
}

// SetOutput sets what the job leaves behind if this attempt succeeds: v as JSON, at most 1 MiB. The last call counts. Its error
// is the encoder's. Output that is too large makes the job fail.
func (j *Job[T]) SetOutput(v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r := j.state()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.output = encoded
	return nil
}

// Output returns what this attempt has set so far, nil if nothing.
func (j *Job[T]) Output() json.RawMessage {
	r := j.state()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.output
}

// Param decodes the meta key into v, which is a pointer. It is false without an error when there is no such key, and true with
// an error when the value does not decode.
func (j *Job[T]) Param(key string, v any) (bool, error) {
	r := j.state()
	r.mu.Lock()
	value, ok := j.Meta[key]
	r.mu.Unlock()
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal([]byte(value), v); err != nil {
		return true, fmt.Errorf("kiln: param %s: %w", quote(key), err)
	}
	return true, nil
}

// SetParam keeps v, as JSON, under a meta key of the job, at once and beyond the end of this attempt: a checkpoint or an
// idempotency key for the next one. It is ErrLost when the job was given to another server meanwhile.
func (j *Job[T]) SetParam(ctx context.Context, key string, v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("kiln: param %s: %w", quote(key), err)
	}
	r := j.state()
	if r.client != nil {
		if err := r.client.store.SetMeta(ctx, r.ref, map[string]string{key: string(encoded)}); err != nil {
			return fmt.Errorf("set param %s of job %d: %w", quote(key), j.ID, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if j.Meta == nil {
		j.Meta = map[string]string{}
		if r.raw != nil && r.raw.Meta == nil {
			// Both forms share the map, so that middleware sees what the handler keeps.
			r.raw.Meta = j.Meta
		}
	}
	j.Meta[key] = string(encoded)
	return nil
}

// ParentOutputs returns what the jobs that this one waited for have left behind, by their ids: the outputs of those that
// succeeded and set one. It is empty for a job built by hand.
func (j *Job[T]) ParentOutputs(ctx context.Context) (map[int64]json.RawMessage, error) {
	outputs := map[int64]json.RawMessage{}
	r := j.state()
	client := r.client
	if client == nil {
		maps.Copy(outputs, r.parents)
	}
	if client == nil || len(j.Parents) == 0 {
		return outputs, nil
	}
	all, err := client.outputs(ctx, j.Parents)
	if err != nil {
		return nil, fmt.Errorf("outputs of the parents of job %d: %w", j.ID, err)
	}
	for id, output := range all {
		outputs[id] = output
	}
	return outputs, nil
}

// outputs reads the outputs of succeeded jobs, in one query where the store can.
func (c *Client) outputs(ctx context.Context, ids []int64) (map[int64][]byte, error) {
	if reader, ok := c.store.(driver.OutputReader); ok {
		outputs, err := reader.Outputs(ctx, ids)
		if !errors.Is(err, errors.ErrUnsupported) {
			return outputs, err
		}
	}
	outputs := map[int64][]byte{}
	for _, id := range ids {
		r, err := c.store.Job(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return nil, err
		case r.State == Succeeded && len(r.Output) > 0:
			outputs[id] = r.Output
		}
	}
	return outputs, nil
}

// Logf writes a line to the job's console, where people see it while the job runs and after. It never fails and never waits: a server
// writes what its jobs have said a few times a second, and the rest when the handler returns. Of each attempt the first 1000 lines
// are kept, of each line the first 4 KiB; a line break at the end is dropped. On a store without consoles it does nothing.
func (j *Job[T]) Logf(format string, args ...any) {
	if c := j.state().console(); c != nil {
		c.Add(fmt.Sprintf(format, args...))
	}
}

// SetProgress tells how far the job has come, in percent, clamped to 0 to 100. The last value counts, and stays with the job across
// attempts until another one is told. Like Logf it never fails and never waits.
func (j *Job[T]) SetProgress(percent int) {
	if c := j.state().console(); c != nil {
		c.SetProgress(percent)
	}
}

// console is where the job's lines go, nil where none are kept.
func (r *run) console() *engine.Console {
	if r.client != nil {
		return engine.ConsoleOf(r.ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = engine.NewConsole()
	}
	return r.kept
}

// invocation is everything that one run of a handler needs from the root package, in one piece.
type invocation struct {
	raw RawJob
	run run
	ctx jobContext
}

// invoke makes the handler's view of a claimed job and its context.
func invoke(ctx context.Context, c *Client, job *driver.Job) *invocation {
	v := &invocation{
		raw: RawJob{
			ID: job.ID, Kind: job.Kind, Queue: job.Queue, Priority: job.Priority,
			Attempt: job.Attempt, MaxAttempts: job.MaxAttempts, CreatedAt: job.CreatedAt, RunAt: job.RunAt,
			BatchID: job.BatchID, RecurringID: job.RecurringID, Parents: job.Parents,
			Meta: job.Meta, Tags: job.Tags, Title: job.Title, Args: json.RawMessage(job.Args),
		},
		run: run{client: c, ref: job.Ref, ctx: ctx},
	}
	v.raw.run, v.run.raw = &v.run, &v.raw
	v.ctx = jobContext{Context: ctx, client: c, job: &v.raw}
	return v
}

// typed decodes a raw job's args. Both forms share meta, output and everything else that a run changes.
func typed[T any](raw *RawJob) (*Job[T], error) {
	j := &Job[T]{
		ID: raw.ID, Kind: raw.Kind, Queue: raw.Queue, Priority: raw.Priority,
		Attempt: raw.Attempt, MaxAttempts: raw.MaxAttempts, CreatedAt: raw.CreatedAt, RunAt: raw.RunAt,
		BatchID: raw.BatchID, RecurringID: raw.RecurringID, Parents: raw.Parents,
		Meta: raw.Meta, Tags: raw.Tags, Title: raw.Title,
		run: raw.state(),
	}
	if err := json.Unmarshal(raw.Args, &j.Args); err != nil {
		return nil, Permanent(fmt.Errorf("kiln: args of kind %s do not decode into %T: %w", raw.Kind, j.Args, err))
	}
	return j, nil
}

type clientKey struct{}
type jobKey struct{}

// ClientFrom returns the client of the server that runs the job whose handler has this context.
func ClientFrom(ctx context.Context) (*Client, bool) {
	c, ok := ctx.Value(clientKey{}).(*Client)
	return c, ok
}

// JobFrom returns the job whose handler has this context.
func JobFrom(ctx context.Context) (*RawJob, bool) {
	j, ok := ctx.Value(jobKey{}).(*RawJob)
	return j, ok
}

// jobContext carries the job and the client in one value, since every run makes one.
type jobContext struct {
	context.Context
	client *Client
	job    *RawJob
}

// Value answers for the job and the client.
func (c *jobContext) Value(key any) any {
	switch key.(type) {
	case clientKey:
		if c.client != nil {
			return c.client
		}
	case jobKey:
		return c.job
	}
	return c.Context.Value(key)
}
