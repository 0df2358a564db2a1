package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// listProblems finds what the lists tell that every store has. Failures by kind, kinds that nobody handles and limit keys would
// have to be searched for, and a search has no bound.
func (h *handler) listProblems(ctx context.Context) (driver.Problems, []string, error) {
	missing := []string{problemUnhandled, problemFailures, problemHeld}
	servers, now, err := h.listServers(ctx)
	if err != nil {
		return driver.Problems{}, nil, err
	}
	queues, err := h.store.Queues(ctx)
	if err != nil {
		return driver.Problems{}, nil, fmt.Errorf("list queues: %w", err)
	}
	recurring, err := h.store.Recurrings(ctx)
	if err != nil {
		return driver.Problems{}, nil, fmt.Errorf("list recurring jobs: %w", err)
	}
	last, all, err := h.lastRuns(ctx, recurring)
	if err != nil {
		return driver.Problems{}, nil, err
	}
	if !all {
		missing = append(missing, problemRecurringFailed)
	}
	found := driver.Problems{At: now, Silent: silentServers(servers, now), Recurring: recurringTroubles(recurring, last, now)}
	addQueues(&found, queues, servers)
	return found, missing, nil
}

func addQueues(found *driver.Problems, queues []driver.QueueInfo, servers []driver.ServerInfo) {
	for i := range queues {
		q := &queues[i]
		ready := driver.ReadyQueue{Queue: q.Name, Since: found.At.Add(-max(q.Latency, 0)), Ready: q.Enqueued}
		if q.Paused {
			found.Paused = append(found.Paused, driver.PausedQueue{Queue: q.Name, Since: q.PausedAt, Ready: q.Enqueued})
		}
		if q.Enqueued == 0 {
			continue
		}
		if serving(servers, found.At, q.Name) == 0 {
			found.Unserved = append(found.Unserved, ready)
		}
		if !q.Paused {
			found.Oldest = append(found.Oldest, ready)
		}
	}
	bySince := func(a, b driver.ReadyQueue) int { return a.Since.Compare(b.Since) }
	found.Unserved = worst(found.Unserved, bySince)
	found.Oldest = worst(found.Oldest, bySince)
	found.Paused = worst(found.Paused, func(a, b driver.PausedQueue) int { return a.Since.Compare(b.Since) })
}

// worst sorts a list and keeps its beginning.
func worst[T any](list []T, order func(a, b T) int) []T {
	slices.SortStableFunc(list, order)
	return list[:min(len(list), problemLimit)]
}

func silentServers(servers []driver.ServerInfo, now time.Time) []driver.ServerInfo {
	var list []driver.ServerInfo
	for i := range servers {
		if silent(&servers[i], now) {
			list = append(list, servers[i])
		}
	}
	return worst(list, func(a, b driver.ServerInfo) int { return a.HeartbeatAt.Compare(b.HeartbeatAt) })
}

func recurringTroubles(recurring []driver.Recurring, last map[int64]driver.Record, now time.Time) []driver.RecurringProblem {
	var list []driver.RecurringProblem
	for i := range recurring {
		r := &recurring[i]
		p := driver.RecurringProblem{ID: r.ID, NextRunAt: r.NextRunAt, LastJobID: r.LastJobID}
		p.Late = late(r, now)
		if job := last[r.LastJobID]; job.State == driver.Failed {
			p.FailedAt = job.FinalizedAt
		}
		if p.Late || !p.FailedAt.IsZero() {
			list = append(list, p)
		}
	}
	return worst(list, func(a, b driver.RecurringProblem) int {
		return cmp.Or(-compareBool(a.Late, b.Late), a.NextRunAt.Compare(b.NextRunAt))
	})
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
