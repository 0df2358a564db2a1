package dashboard

import (
	"context"

	"github.com/kilnjobs/kiln/driver"
)

// addStarts puts into a history when its attempts began, where the store knows.
func (h *handler) addStarts(ctx context.Context, id int64, history []entryView) {
	reader, ok := h.store.(driver.HistoryReader)
	if !ok || len(history) == 0 {
		return
	}
	runs, err := reader.Runs(ctx, id)
	if err != nil {
		without(ctx, "when the attempts of a job began", err)
		return
	}
	for _, run := range runs {
		for i := range history {
			if history[i].Attempt == run.Attempt && history[i].At.Equal(run.EndedAt) {
				history[i].StartedAt = run.StartedAt
			}
		}
	}
}

// addErrors puts into a list of jobs that have failed what the newest error of each was, where the store knows.
func (h *handler) addErrors(ctx context.Context, jobs []jobView) {
	reader, ok := h.store.(driver.HistoryReader)
	if !ok {
		return
	}
	var ids []int64
	for i := range jobs {
		if jobs[i].State == driver.Failed || jobs[i].State == driver.Scheduled && jobs[i].Attempt > 0 {
			ids = append(ids, jobs[i].ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	errs, err := reader.LastErrors(ctx, ids)
	if err != nil {
		without(ctx, "the errors of a list of jobs", err)
		return
	}
	for i := range jobs {
		jobs[i].Error = h.redactText(jobs[i].Kind, PartError, errs[jobs[i].ID])
	}
}
