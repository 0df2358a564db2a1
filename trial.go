package kiln

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/trial"
)

func init() {
	trial.Work = func(ctx context.Context, mux, args, options any, job trial.Job) trial.Result {
		given, _ := args.(Args)
		return work(ctx, mux.(*Mux), given, options.([]InsertOption), job)
	}
}

// work runs one attempt of a job as a server with the default configuration would, without a store. The mux is not frozen.
func work(ctx context.Context, m *Mux, args Args, opts []InsertOption, attempt trial.Job) trial.Result {
	p, err := params(args, opts)
	if err == nil {
		err = driver.CheckInsert([]driver.InsertParams{p})
	}
	if err != nil {
		return trial.Result{Err: err}
	}
	m.mu.Lock()
	handlers := m.chained()
	m.mu.Unlock()
	cfg, err := ServerConfig{}.filled()
	if err != nil {
		return trial.Result{Err: err}
	}
	r := &runner{handlers: handlers, timeout: time.Duration(cfg.Timeout), backoff: cfg.Backoff, unknownTTL: cfg.UnknownKindTTL}
	job := trialJob(&p, &attempt)
	if out, cannot := r.refuse(job); cannot {
		return trial.Result{State: out.State, Delay: out.Delay, Err: errors.New(out.Error)}
	}
	if limit := r.Timeout(job); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, ErrTimeout)
		defer cancel()
	}
	v := invoke(ctx, nil, job)
	v.run.parents = attempt.ParentOutputs
	err = errExited
	done := make(chan struct{})
	go func() { // a goroutine of its own, which the handler may end
		defer close(done)
		err = recovered(r.handlers[job.Kind].fn)(&v.ctx, &v.raw)
	}()
	<-done
	output := v.raw.Output()
	if err != nil {
		output = nil
	}
	out := classify(ctx, job, err, output, r.backoffOf(r.handlers[job.Kind]))
	result := trial.Result{State: out.State, Err: withCause(ctx, err), Delay: out.Delay, Output: out.Output}
	if err == nil && out.Error != "" {
		result.Err = errors.New(out.Error)
	}
	result.Lines, result.Progress = v.run.console().Kept()
	return result
}

// trialJob is the job as a claim would hand it out.
func trialJob(p *driver.InsertParams, attempt *trial.Job) *driver.Job {
	now := time.Now()
	job := &driver.Job{
		Ref: driver.Ref{ID: 1, Claim: int32(max(attempt.Attempt, 1))}, Kind: p.Kind, Queue: p.Queue, Args: p.Args, Meta: p.Meta, Tags: p.Tags, Title: p.Title,
		Priority: p.Priority, Attempt: max(attempt.Attempt, 1), MaxAttempts: p.MaxAttempts, Timeout: p.Timeout,
		RunAt: now, CreatedAt: now, AttemptedAt: now, BatchID: p.BatchID, LimitKey: p.LimitKey,
		Parents: slices.Collect(maps.Keys(attempt.ParentOutputs)),
	}
	for _, parent := range p.Parents {
		job.Parents = append(job.Parents, parent.ID)
	}
	slices.Sort(job.Parents)
	job.Parents = slices.Compact(job.Parents)
	if len(attempt.Meta) > 0 {
		meta := maps.Clone(p.Meta)
		if meta == nil {
			meta = make(map[string]string, len(attempt.Meta))
		}
		maps.Copy(meta, attempt.Meta)
		job.Meta = meta
	}
	return job
}
