package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Explain implements driver.Explainer.
func (s *Store) Explain(ctx context.Context, id int64) (driver.Explanation, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return driver.Explanation{}, err
	}
	defer s.mu.Unlock()
	r := s.rows[id]
	if r == nil {
		return driver.Explanation{}, fmt.Errorf("%w: job %d", driver.ErrNotFound, id)
	}
	x := driver.Explanation{At: now, State: r.State}
	switch r.State {
	case driver.Awaiting:
		s.explainDeps(&x, r)
	case driver.Scheduled:
		x.ExpectedAt = r.RunAt
	case driver.Throttled:
		s.explainTurn(&x, r)
	case driver.Enqueued:
		x.Ahead = r.lane.queue.ahead(r)
	case driver.Processing:
		x.HeartbeatAt = s.servers[r.Server].HeartbeatAt
	}
	waits := storekit.Waits(r.State)
	if waits {
		storekit.ExplainServers(&x, s.serverList(), r.Queue, r.Kind)
		x.PausedAt = r.lane.queue.pausedAt
		x.Paused = !x.PausedAt.IsZero()
	}
	if r.limit != nil && (waits || r.State == driver.Processing) {
		info := r.limit.info(now)
		x.Limit = &info
	}
	return x, nil
}

// explainDeps says what an awaiting row waits for.
func (s *Store) explainDeps(x *driver.Explanation, r *row) {
	for _, dep := range r.deps.List {
		parent := s.rows[dep.Parent]
		if !dep.Open || parent == nil {
			continue
		}
		x.Parents = append(x.Parents, driver.OpenParent{ID: parent.ID, State: parent.State, Kind: parent.Kind, Title: parent.Title, On: dep.On})
	}
	x.OpenParents = len(x.Parents)
	slices.SortFunc(x.Parents, func(a, b driver.OpenParent) int { return cmp.Compare(a.ID, b.ID) })
	x.Parents = storekit.First(x.Parents, storekit.MaxOpenParents)
	if r.batchOpen {
		b := s.batches[r.AfterBatch].view()
		storekit.ExplainBatch(x, &b, 0)
	}
}

// explainTurn says where a throttled row stands in the line of its key.
func (s *Store) explainTurn(x *driver.Explanation, r *row) {
	line := storekit.Line{Granted: r.granted}
	r.limit.waiting.ascend(lowest, func(e entry) bool {
		if e.row == r || line.Ahead == driver.AheadCap {
			return false
		}
		line.Ahead++
		if e.row.granted {
			line.GrantedAhead++
		}
		return true
	})
	x.Ahead = line.Ahead
	x.ExpectedAt = r.limit.ExpectedStart(r.limit.Clocks, line, x.At)
}

// ahead counts the rows of the queue that are claimed before r.
func (q *queue) ahead(r *row) (n int) {
	for _, l := range q.lanes {
		l.ready.ascend(lowest, func(e entry) bool {
			if n == driver.AheadCap || !e.less(r.key()) {
				return false
			}
			n++
			return true
		})
	}
	return n
}
