package dashboard

import (
	"context"
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// readJob reads everything about one job.
func (h *handler) readJob(ctx context.Context, id int64) (jobView, error) {
	r, err := h.store.Job(ctx, id)
	if err != nil {
		return jobView{}, fmt.Errorf("read job %d: %w", id, err)
	}
	v := h.viewJob(&r)
	v.Children = r.Children
	v.Output = h.redactJSON(r.Kind, PartOutput, r.Output)
	for i := range r.History {
		v.History = append(v.History, h.viewEntry(r.Kind, &r.History[i]))
	}
	h.addStarts(ctx, id, v.History)
	v.Why = h.readWhy(ctx, &r)
	return v, nil
}

func (h *handler) viewEntry(kind string, e *driver.Entry) entryView {
	return entryView{
		At: e.At, State: e.State, Attempt: e.Attempt, Reason: e.Reason, Server: e.Server, Actor: e.Actor,
		Error: h.redactText(kind, PartError, e.Error), Trace: h.redactText(kind, PartError, e.Trace),
	}
}

// readWhy asks why a live job is where it is. The job is shown without it when the store cannot tell.
func (h *handler) readWhy(ctx context.Context, r *driver.Record) *whyView {
	explainer, ok := h.store.(driver.Explainer)
	if !ok || !r.State.Live() {
		return nil
	}
	x, err := explainer.Explain(ctx, r.ID)
	if err != nil {
		if !errors.Is(err, driver.ErrNotFound) {
			without(ctx, fmt.Sprintf("why job %d is where it is", r.ID), err)
		}
		return nil
	}
	if x.State != r.State {
		return nil // the job has moved on, and the reason is that of another state than the one shown
	}
	return h.viewWhy(&x)
}

func (h *handler) viewWhy(x *driver.Explanation) *whyView {
	v := &whyView{
		At: x.At, OpenParents: x.OpenParents, AfterBatch: x.AfterBatch, BatchLive: x.BatchLive, BatchSealed: x.BatchSealed,
		Ahead: x.Ahead, AheadCapped: x.Ahead >= driver.AheadCap, ExpectedAt: x.ExpectedAt, Paused: x.Paused, PausedAt: x.PausedAt,
		QueueServed: x.QueueServed, KindServed: x.KindServed, HeartbeatAt: x.HeartbeatAt,
	}
	for _, p := range x.Parents {
		v.Parents = append(v.Parents, parentView{
			ID: p.ID, State: p.State, Kind: p.Kind, Title: h.redactText(p.Kind, PartTitle, p.Title), On: outcomes(p.On),
		})
	}
	if x.Limit != nil {
		limit := viewLimit(x.Limit)
		v.Limit = &limit
	}
	return v
}

// outcomes lists what a mask waits for.
func outcomes(m driver.Mask) []driver.State {
	states := []driver.State{}
	for _, state := range []driver.State{driver.Succeeded, driver.Failed, driver.Deleted} {
		if m.Has(state) {
			states = append(states, state)
		}
	}
	return states
}

// readLogs reads lines of a job's console. The job is read first: when it has ended by then, all of its lines are there.
func (h *handler) readLogs(ctx context.Context, id, after int64, limit int) (logsView, error) {
	console, ok := h.store.(driver.Console)
	if !ok {
		return logsView{}, errNoConsole
	}
	r, err := h.store.Job(ctx, id)
	if err != nil {
		return logsView{}, fmt.Errorf("read job %d: %w", id, err)
	}
	lines, err := console.Logs(ctx, id, after, limit)
	if err != nil {
		return logsView{}, fmt.Errorf("read the console of job %d: %w", id, err)
	}
	v := logsView{State: r.State, Progress: r.Progress, Lines: make([]lineView, len(lines))}
	for i, l := range lines {
		v.Lines[i] = lineView{Seq: l.Seq, Attempt: l.Attempt, At: l.At, Text: h.redactText(r.Kind, PartConsole, l.Text)}
	}
	return v, nil
}
