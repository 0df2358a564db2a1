package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// listQuery is what a list of jobs shows.
type listQuery struct {
	State                    driver.State
	Queue, Kind, Tag, Cursor string
	Batch                    int64
	// Retries, with the state scheduled, leaves only jobs that have run.
	Retries bool
	Limit   int
}

// parseList reads the query of a list of jobs in a state.
func parseList(r *request, state driver.State) (listQuery, error) {
	q := listQuery{State: state, Queue: r.query("queue"), Kind: r.query("kind"), Tag: r.query("tag"), Cursor: r.query("cursor")}
	var err error
	if q.Batch, err = r.positive("batch"); err != nil {
		return listQuery{}, err
	}
	if q.Limit, err = r.limit(); err != nil {
		return listQuery{}, err
	}
	return q, nil
}

// A page is looked for in a store that looks through a bounded stretch per call. So many calls may come back without a job, and so
// long may they take, before the page is given up and says only where to go on.
const (
	pageCalls = 20
	pageTime  = time.Second
)

// readJobs reads one page of a list.
func (h *handler) readJobs(ctx context.Context, q listQuery) (jobsView, error) {
	page, err := h.findJobs(ctx, q)
	if err != nil {
		return jobsView{}, err
	}
	v := jobsView{State: q.State, Queue: q.Queue, Kind: q.Kind, Batch: q.Batch, Tag: q.Tag, Next: page.Next}
	v.Jobs = make([]jobView, len(page.Records))
	for i := range page.Records {
		v.Jobs[i] = h.viewJob(&page.Records[i])
	}
	h.addErrors(ctx, v.Jobs)
	return v, nil
}

// findJobs asks the store for a page until it is not empty.
func (h *handler) findJobs(ctx context.Context, q listQuery) (driver.Page, error) {
	query := driver.JobQuery{
		State: q.State, Queue: q.Queue, Kind: q.Kind, BatchID: q.Batch, Tag: q.Tag, Retries: q.Retries, Limit: q.Limit, Cursor: q.Cursor,
	}
	began := time.Now()
	var page driver.Page
	for range pageCalls {
		var err error
		if page, err = h.store.Jobs(ctx, query); err != nil {
			return driver.Page{}, fmt.Errorf("list jobs: %w", err)
		}
		if len(page.Records) > 0 || page.Next == "" || time.Since(began) > pageTime {
			break
		}
		query.Cursor = page.Next
	}
	return page, nil
}

// viewJob is what a list shows of a job.
func (h *handler) viewJob(r *driver.Record) jobView {
	v := jobView{
		ID: r.ID, State: r.State, Kind: r.Kind, Queue: r.Queue, Priority: r.Priority,
		Title:   h.redactText(r.Kind, PartTitle, r.Title),
		Attempt: r.Attempt, MaxAttempts: r.MaxAttempts,
		Args: h.redactJSON(r.Kind, PartArgs, r.Args), Meta: h.redactMeta(r.Kind, r.Meta), Tags: h.redactTags(r.Kind, r.Tags),
		Server: r.Server, RunAt: r.RunAt, CreatedAt: r.CreatedAt, AttemptedAt: r.AttemptedAt, FinalizedAt: r.FinalizedAt,
		BatchID: r.BatchID, AfterBatch: r.AfterBatch, RecurringID: r.RecurringID, LimitKey: r.LimitKey,
		Parents: r.Parents, PendingDeps: r.PendingDeps, CancelRequested: r.CancelRequested, Progress: r.Progress,
	}
	switch {
	case r.Timeout < 0:
		v.TimeoutMS = -1
	case r.Timeout > 0:
		v.TimeoutMS = max(r.Timeout.Milliseconds(), 1)
	}
	return v
}
