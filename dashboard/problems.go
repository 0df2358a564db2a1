package dashboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// When something that goes up and down by itself counts as a problem.
const (
	waitsAfter = time.Minute
	heldJobs   = 10
	heldAfter  = 5 * time.Minute
)

// problemLimit is how many problems of a kind are listed.
const problemLimit = 20

// problemOrder lists the kinds of problems, the worst first.
var problemOrder = []string{
	problemUnserved, problemUnhandled, problemFailures, problemRecurringLate, problemRecurringFailed,
	problemWaits, problemHeld, problemSilent, problemPaused,
}

// loadProblems lists what needs a person, each cause once.
func (h *handler) loadProblems(ctx context.Context, seen *firstSeen) (problemsView, error) {
	found, missing, err := h.findProblems(ctx)
	if err != nil {
		return problemsView{}, err
	}
	v := problemsView{At: found.At, Missing: notNil(missing), Problems: slices.Concat(
		unservedProblems(&found), unhandledProblems(&found), h.failureProblems(&found), h.recurringProblems(&found),
		waitProblems(&found), heldProblems(&found), silentProblems(&found), pausedProblems(&found),
	)}
	v.Problems = notNil(v.Problems)
	slices.SortStableFunc(v.Problems, func(a, b problemView) int {
		return slices.Index(problemOrder, a.Kind) - slices.Index(problemOrder, b.Kind)
	})
	seen.note(v.At, v.Problems)
	return v, nil
}

// findProblems asks the store, or puts together what its lists tell. Missing names what they do not.
func (h *handler) findProblems(ctx context.Context) (found driver.Problems, missing []string, err error) {
	if reader, ok := h.store.(driver.ProblemReader); ok {
		found, err = reader.Problems(ctx, problemLimit)
		if err == nil {
			return found, nil, nil
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return driver.Problems{}, nil, fmt.Errorf("read problems: %w", err)
		}
	}
	return h.listProblems(ctx)
}

func unservedProblems(found *driver.Problems) []problemView {
	var list []problemView
	for _, q := range found.Unserved {
		list = append(list, readyProblem(problemUnserved, &q))
	}
	return list
}

func readyProblem(kind string, q *driver.ReadyQueue) problemView {
	return problemView{Kind: kind, Name: q.Queue, Since: q.Since, Count: q.Ready, Capped: q.Capped, Job: q.Job}
}

func unhandledProblems(found *driver.Problems) []problemView {
	var list []problemView
	for _, k := range found.Unhandled {
		list = append(list, problemView{
			Kind: problemUnhandled, Name: k.Kind, Queue: k.Queue, Since: k.Since, Count: k.Ready, Capped: k.Capped, Job: k.Job,
		})
	}
	return list
}

// failureProblems leaves out a kind whose one failure is the last job of a recurring one, which has a row of its own.
func (h *handler) failureProblems(found *driver.Problems) []problemView {
	var list []problemView
	for i := range found.Failures {
		f := &found.Failures[i]
		if f.Failed == 1 && slices.ContainsFunc(found.Recurring, func(r driver.RecurringProblem) bool { return failedAs(&r, f) }) {
			continue
		}
		list = append(list, problemView{
			Kind: problemFailures, Name: f.Kind, Since: f.First, Count: f.Failed, Capped: f.Capped, Job: f.Newest,
			Error: h.redactText(f.Kind, PartError, f.Error), Last: f.Last, LastHour: f.LastHour, HourBefore: f.HourBefore,
		})
	}
	return list
}

// failedAs says that the last job of a recurring one is the newest failure of a kind.
func failedAs(r *driver.RecurringProblem, f *driver.KindFailures) bool {
	return !r.FailedAt.IsZero() && r.LastJobID == f.Newest
}

func (h *handler) recurringProblems(found *driver.Problems) []problemView {
	var list []problemView
	for i := range found.Recurring {
		r := &found.Recurring[i]
		if r.Late {
			list = append(list, problemView{Kind: problemRecurringLate, Name: r.ID, Since: r.NextRunAt, Job: r.LastJobID})
		}
		if r.FailedAt.IsZero() {
			continue
		}
		p := problemView{Kind: problemRecurringFailed, Name: r.ID, Since: r.FailedAt, Job: r.LastJobID}
		for k := range found.Failures {
			if f := &found.Failures[k]; failedAs(r, f) {
				p.Error = h.redactText(f.Kind, PartError, f.Error)
			}
		}
		list = append(list, p)
	}
	return list
}

// waitProblems leaves out queues of which another row says why they wait. Paused ones are not among the oldest.
func waitProblems(found *driver.Problems) []problemView {
	var list []problemView
	for i := range found.Oldest {
		q := &found.Oldest[i]
		explained := slices.ContainsFunc(found.Unserved, func(u driver.ReadyQueue) bool { return u.Queue == q.Queue }) ||
			slices.ContainsFunc(found.Unhandled, func(k driver.ReadyKind) bool { return k.Queue == q.Queue && k.Job == q.Job })
		if !explained && found.At.Sub(q.Since) > waitsAfter {
			list = append(list, readyProblem(problemWaits, q))
		}
	}
	return list
}

func heldProblems(found *driver.Problems) []problemView {
	var list []problemView
	for i := range found.Held {
		k := &found.Held[i]
		if k.Throttled < heldJobs && (k.Since.IsZero() || found.At.Sub(k.Since) <= heldAfter) {
			continue
		}
		limit := viewLimit(&k.LimitInfo)
		list = append(list, problemView{
			Kind: problemHeld, Name: k.Key, Since: k.Since, Count: int64(k.Throttled), Capped: k.Capped, Limit: &limit,
		})
	}
	return list
}

func silentProblems(found *driver.Problems) []problemView {
	var list []problemView
	for i := range found.Silent {
		s := &found.Silent[i]
		list = append(list, problemView{Kind: problemSilent, Name: s.ID, Since: s.HeartbeatAt, Count: int64(s.Running)})
	}
	return list
}

func pausedProblems(found *driver.Problems) []problemView {
	var list []problemView
	for _, q := range found.Paused {
		list = append(list, problemView{Kind: problemPaused, Name: q.Queue, Since: q.Since, Count: q.Ready, Capped: q.Capped})
	}
	return list
}
