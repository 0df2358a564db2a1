package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Job implements driver.Inspector.
func (s *Store) Job(ctx context.Context, id int64) (driver.Record, error) {
	if _, err := s.lock(ctx); err != nil {
		return driver.Record{}, err
	}
	defer s.mu.Unlock()
	r := s.rows[id]
	if r == nil {
		return driver.Record{}, fmt.Errorf("%w: job %d", driver.ErrNotFound, id)
	}
	rec := r.record()
	rec.Children = s.existing(r.Children)
	return rec, nil
}

// Outputs implements driver.OutputReader.
func (s *Store) Outputs(ctx context.Context, ids []int64) (map[int64][]byte, error) {
	if _, err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	outputs := make(map[int64][]byte)
	for _, id := range ids {
		if r := s.rows[id]; r != nil && r.State == driver.Succeeded && len(r.Output) > 0 {
			outputs[id] = slices.Clone(r.Output)
		}
	}
	return outputs, nil
}

// States implements driver.StateReader.
func (s *Store) States(ctx context.Context, ids []int64) (map[int64]driver.State, error) {
	if _, err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	states := make(map[int64]driver.State, len(ids))
	for _, id := range ids {
		if r := s.rows[id]; r != nil {
			states[id] = r.State
		}
	}
	return states, nil
}

// Jobs implements driver.Inspector.
func (s *Store) Jobs(ctx context.Context, q driver.JobQuery) (driver.Page, error) {
	if err := storekit.CheckQuery(q); err != nil {
		return driver.Page{}, err
	}
	cursor, resumed, err := storekit.ParseCursor(q.Cursor)
	if err != nil {
		return driver.Page{}, err
	}
	if _, err := s.lock(ctx); err != nil {
		return driver.Page{}, err
	}
	defer s.mu.Unlock()
	limit := storekit.PageLimit(q.Limit)
	var after *key
	if resumed {
		after = &key{cursor.Value, cursor.ID}
	}
	found := s.find(q, after, limit+1)
	var page driver.Page
	for _, e := range found[:min(limit, len(found))] {
		page.Records = append(page.Records, e.row.summary())
	}
	if len(found) > limit {
		last := found[limit-1]
		page.Next = storekit.Cursor{Value: last.value, ID: last.id}.String()
	}
	return page, nil
}

// find returns the first rows that match, in the order of the state, after the given key.
func (s *Store) find(q driver.JobQuery, after *key, limit int) []entry {
	f := driver.Filter{State: q.State, Queue: q.Queue, Kind: q.Kind, BatchID: q.BatchID, Tag: q.Tag}
	retries := q.Retries && q.State == driver.Scheduled
	forward := q.State == driver.Scheduled || q.State == driver.Enqueued || q.State == driver.Throttled
	var found []entry
	for _, l := range s.lists(q.State, q.Queue, q.Kind) {
		room := limit
		visit := func(e entry) bool {
			if matches(e.row, f) && (!retries || e.row.Attempt > 0) && (after == nil || e.key != *after) {
				found = append(found, e)
				room--
			}
			return room > 0
		}
		switch {
		case forward && after == nil:
			l.ascend(lowest, visit)
		case forward:
			l.ascend(*after, visit)
		case after == nil:
			l.descend(highest, visit)
		default:
			l.descend(*after, visit)
		}
	}
	if q.State == driver.Enqueued {
		slices.SortFunc(found, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.id, b.id))
		})
	}
	return found[:min(limit, len(found))]
}

// lists returns the lists that hold the rows of a state: one, or for enqueued those of the lanes that can match.
func (s *Store) lists(state driver.State, queue, kind string) []*list {
	if state != driver.Enqueued {
		return []*list{s.list(&row{Record: driver.Record{State: state}})}
	}
	var lists []*list
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		if queue != "" && queue != name {
			continue
		}
		q := s.queues[name]
		for _, k := range slices.Sorted(maps.Keys(q.lanes)) {
			if kind == "" || kind == k {
				lists = append(lists, &q.lanes[k].ready)
			}
		}
	}
	return lists
}

// Counts implements driver.Inspector.
func (s *Store) Counts(ctx context.Context) (driver.Counts, error) {
	if _, err := s.lock(ctx); err != nil {
		return driver.Counts{}, err
	}
	defer s.mu.Unlock()
	enqueued := 0
	for _, q := range s.queues {
		for _, l := range q.lanes {
			enqueued += l.ready.len
		}
	}
	c := driver.Counts{Succeeded: s.total.succeeded, Deleted: s.total.deleted}
	c.Awaiting = capped(s.awaiting.len, &c.Capped)
	c.Scheduled = capped(s.scheduled.len, &c.Capped)
	c.Throttled = capped(s.throttled.len, &c.Capped)
	c.Enqueued = capped(enqueued, &c.Capped)
	c.Processing = capped(s.processing.len, &c.Capped)
	c.Failed = capped(s.failed.len, &c.Capped)
	c.Retries = capped(s.retries, &c.Capped)
	return c, nil
}

func capped(n int, reached *bool) int64 {
	if n >= storekit.CountCap {
		*reached = true
		return storekit.CountCap
	}
	return int64(n)
}

// Queues implements driver.Inspector.
func (s *Store) Queues(ctx context.Context) ([]driver.QueueInfo, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	infos := make(map[string]driver.QueueInfo)
	for _, server := range s.servers {
		for _, name := range server.Queues {
			infos[name] = driver.QueueInfo{Name: name}
		}
	}
	for name, q := range s.queues {
		if info, live := q.info(now); live || !q.pausedAt.IsZero() {
			infos[name] = info
		}
	}
	var out []driver.QueueInfo
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		out = append(out, infos[name])
	}
	return out, nil
}

// info sums up a queue and reports whether it has live jobs.
func (q *queue) info(now time.Time) (info driver.QueueInfo, live bool) {
	var states [len(driver.States)]int
	info = driver.QueueInfo{Name: q.name, Paused: !q.pausedAt.IsZero(), PausedAt: q.pausedAt}
	for _, l := range q.lanes {
		for i, n := range l.states {
			states[i] += n
			live = live || n > 0 && driver.States[i].Live()
		}
		l.ready.ascend(lowest, func(e entry) bool {
			info.Latency = max(info.Latency, now.Sub(e.row.RunAt))
			return true
		})
	}
	info.Enqueued = capped(states[ordinal(driver.Enqueued)], &info.Capped)
	info.Processing = capped(states[ordinal(driver.Processing)], &info.Capped)
	info.Scheduled = capped(states[ordinal(driver.Scheduled)], &info.Capped)
	info.Throttled = capped(states[ordinal(driver.Throttled)], &info.Capped)
	return info, live
}
