package pgstore

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Problems implements driver.ProblemReader. It looks at the first thousand lanes of ready jobs, a lane being a queue and a priority, at
// the first 500 limit keys with waiting jobs, the first thousand kinds with failed jobs, and the first 5,000 recurring jobs.
func (s *Store) Problems(ctx context.Context, limit int) (driver.Problems, error) {
	limit = storekit.PageLimit(limit)
	var p driver.Problems
	err := s.snapshot(ctx, func(r *reader) error {
		p = driver.Problems{At: r.now}
		for _, read := range []func(p *driver.Problems, limit int) error{r.queueProblems, r.held, r.recurringProblems, r.failures} {
			if err := read(&p, limit); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return driver.Problems{}, err
	}
	return p, nil
}

// queueProblems reads what servers, pauses and ready jobs amount to.
func (r *reader) queueProblems(p *driver.Problems, limit int) error {
	servers, err := r.servers()
	if err != nil {
		return err
	}
	var paused []driver.PausedQueue
	err = r.each("problems_paused", nil, func(rows rows) error {
		var q driver.PausedQueue
		var at int64
		err := rows.Scan(&q.Queue, &at)
		q.Since = storekit.Instant(at)
		paused = append(paused, q)
		return err
	})
	if err != nil {
		return err
	}
	front, err := r.readyFront()
	if err != nil {
		return err
	}
	storekit.QueueProblems(p, servers, paused, front, limit)
	names := storekit.ReadyNames(p)
	most := storekit.CountStretch(len(names))
	ready, err := r.countsOf("problems_counts", names, most)
	storekit.SetReady(p, ready, int64(most))
	return err
}

// readyFront looks at the first jobs of each lane.
func (r *reader) readyFront() ([]storekit.ReadyFront, error) {
	var queues []string
	var ranks []int32
	err := r.each("problems_lanes", []any{int64(storekit.MaxLanes)}, func(rows rows) error {
		var queue string
		var rank int32
		err := rows.Scan(&queue, &rank)
		queues, ranks = append(queues, queue), append(ranks, rank)
		return err
	})
	if err != nil || len(queues) == 0 {
		return nil, err
	}
	stretch := int64(storekit.ReadyStretch(len(queues)))
	var front []storekit.ReadyFront
	var lanes []int64
	found := make([]int64, len(queues)) // jobs of all kinds, by lane
	err = r.each("problems_ready", []any{queues, ranks, stretch}, func(rows rows) error {
		var i, since int64
		var f storekit.ReadyFront
		if err := rows.Scan(&i, &f.Kind, &f.Ready, &since, &f.Job); err != nil {
			return err
		}
		f.Queue, f.Since = queues[i], storekit.Instant(since)
		front, lanes = append(front, f), append(lanes, i)
		found[i] += f.Ready
		return nil
	})
	for k := range front {
		front[k].Capped = found[lanes[k]] == stretch
	}
	return front, err
}

// countsOf runs a query that counts the rows of each of some names, up to a number.
func (r *reader) countsOf(name string, of []string, most int) (map[string]int64, error) {
	counts := map[string]int64{}
	if len(of) == 0 {
		return counts, nil
	}
	err := r.each(name, []any{of, int64(most)}, func(rows rows) error {
		var key string
		var n int64
		err := rows.Scan(&key, &n)
		counts[key] = n
		return err
	})
	return counts, err
}

// held reads which limit keys hold jobs back.
func (r *reader) held(p *driver.Problems, limit int) error {
	keys, err := r.names("problems_keys", int64(storekit.MaxHeldKeys))
	if err != nil {
		return err
	}
	stretch := storekit.HeldStretch(len(keys))
	counts, err := r.countsOf("problems_waiting", keys, stretch)
	if err != nil {
		return err
	}
	for _, key := range keys {
		n := int(counts[key])
		p.Held = append(p.Held, driver.HeldKey{LimitInfo: driver.LimitInfo{Key: key, Throttled: n}, Capped: n == stretch})
	}
	if p.Held = storekit.SortHeld(p.Held, limit); len(p.Held) == 0 {
		return nil
	}
	keys = keys[:0]
	for i := range p.Held {
		keys = append(keys, p.Held[i].Key)
	}
	return r.each("problems_held", []any{keys, int64(storekit.HeldFront)}, func(rows rows) error {
		var i, since int64
		var rule storekit.Rule
		var active, reserved int
		var clocks storekit.Clocks
		if err := rows.Scan(&i, &rule.Max, &rule.Rate, &rule.Per, &rule.Burst, &active, &reserved, &clocks.TAT, &since); err != nil {
			return err
		}
		k := &p.Held[i]
		k.LimitInfo = rule.Info(k.Key, clocks, r.now, active, k.Throttled, reserved)
		k.Since = storekit.Instant(since)
		return nil
	})
}

// recurringProblems reads which recurring jobs are late, and which had a last job that failed.
func (r *reader) recurringProblems(p *driver.Problems, limit int) error {
	add := func(rows rows) error {
		var d driver.RecurringProblem
		var paused bool
		var next, failed int64
		err := rows.Scan(&d.ID, &paused, &next, &d.LastJobID, &failed)
		d.NextRunAt, d.FailedAt = storekit.Instant(next), storekit.Instant(failed)
		d.Late = storekit.Late(paused, d.NextRunAt, r.now)
		p.Recurring = append(p.Recurring, d)
		return err
	}
	if err := r.each("problems_late", []any{storekit.Micros(storekit.LateBefore(r.now)), int64(limit)}, add); err != nil {
		return err
	}
	// As many as may be late too, and as many more.
	if err := r.each("problems_failed_runs", []any{int64(storekit.MaxRecurring), int64(2 * limit)}, add); err != nil {
		return err
	}
	p.Recurring = storekit.SortRecurring(p.Recurring, limit)
	return nil
}

// failures reads the failed jobs by kind.
func (r *reader) failures(p *driver.Problems, limit int) error {
	err := r.each("problems_kinds", []any{int64(storekit.MaxFailedKinds)}, func(rows rows) error {
		var f driver.KindFailures
		var last int64
		err := rows.Scan(&f.Kind, &last, &f.Newest)
		f.Last = storekit.Instant(last)
		p.Failures = append(p.Failures, f)
		return err
	})
	if p.Failures = storekit.SortFailures(p.Failures, limit); err != nil || len(p.Failures) == 0 {
		return err
	}
	kinds, newest := make([]string, len(p.Failures)), make([]int64, len(p.Failures))
	for i := range p.Failures {
		kinds[i], newest[i] = p.Failures[i].Kind, p.Failures[i].Newest
	}
	args := []any{kinds, newest, storekit.Micros(r.now.Add(-time.Hour)), storekit.Micros(r.now.Add(-2 * time.Hour)), int64(storekit.FailedCap + 1)}
	return r.each("problems_failures", args, func(rows rows) error {
		var i, failed, lastHour, hourBefore, first int64
		var text string
		err := rows.Scan(&i, &failed, &lastHour, &hourBefore, &first, &text)
		storekit.SetFailures(&p.Failures[i], failed, lastHour, hourBefore, storekit.Instant(first), text)
		return err
	})
}
