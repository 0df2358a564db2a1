package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// span is a stretch of time that the chart can show.
type span struct {
	step   time.Duration
	points int
}

var spans = map[string]span{
	"1h":  {time.Minute, 60},
	"24h": {30 * time.Minute, 48},
}

func (h *handler) readOverview(ctx context.Context) (overviewView, error) {
	return h.cache.overview.get(ctx)
}

// readSeries reads the chart of a range: 1h, which is also what an empty one means, or 24h.
func (h *handler) readSeries(ctx context.Context, rng string) (seriesView, error) {
	if rng == "" {
		rng = "1h"
	}
	s := h.cache.series[rng]
	if s == nil {
		return seriesView{}, fmt.Errorf("%w: range %.60q is neither 1h nor 24h", driver.ErrInvalid, rng)
	}
	return s.get(ctx)
}

func (h *handler) readProblems(ctx context.Context) (problemsView, error) {
	return h.cache.problems.get(ctx)
}

func (h *handler) loadCounts(ctx context.Context) (countsView, error) {
	counts, err := h.store.Counts(ctx)
	if err != nil {
		return countsView{}, fmt.Errorf("count jobs: %w", err)
	}
	return countsView(counts), nil
}

func (h *handler) loadOverview(ctx context.Context) (overviewView, error) {
	var counts countsView
	var servers []driver.ServerInfo
	var queues []driver.QueueInfo
	var recurring []driver.Recurring
	err := together(
		func() (err error) {
			counts, err = h.cache.counts.get(ctx)
			return err
		},
		func() (err error) {
			queues, err = h.cache.queues.get(ctx) // which queues there are changes slowly
			return named(err, "list queues")
		},
		func() (err error) {
			servers, err = h.store.Servers(ctx)
			return named(err, "list servers")
		},
		func() (err error) {
			recurring, err = h.listRecurring(ctx)
			return err
		},
	)
	if err != nil {
		return overviewView{}, err
	}
	v := overviewView{Counts: counts, Servers: len(servers), Queues: len(queues), Recurring: len(recurring)}
	for i := range servers {
		v.Workers += servers[i].Workers
		v.Running += servers[i].Running
	}
	for i := range queues {
		if queues[i].Paused {
			v.PausedQueues++
		}
	}
	return v, nil
}

// loadSeries fills in the buckets that nothing happened in. The last one holds now.
func (h *handler) loadSeries(ctx context.Context, s span) (seriesView, error) {
	now, err := h.store.Now(ctx)
	if err != nil {
		return seriesView{}, fmt.Errorf("read the store's clock: %w", err)
	}
	last := bucket(now, s.step)
	first := last.Add(-time.Duration(s.points-1) * s.step)
	points, err := h.store.Series(ctx, first, last.Add(s.step), s.step)
	if err != nil {
		return seriesView{}, fmt.Errorf("read statistics: %w", err)
	}
	v := seriesView{Step: int64(s.step / time.Second), Points: make([]pointView, s.points)}
	for i := range v.Points {
		v.Points[i].At = first.Add(time.Duration(i) * s.step)
	}
	for _, p := range points {
		i := int(p.At.Sub(first) / s.step)
		if p.At.Before(first) || i >= len(v.Points) {
			continue
		}
		at := v.Points[i].At
		v.Points[i] = pointView{At: at, Succeeded: p.Succeeded, Failed: p.Failed, Deleted: p.Deleted, Retried: p.Retried}
	}
	return v, nil
}

// bucket is the start of the bucket that holds t. Stores align buckets to the epoch.
func bucket(t time.Time, step time.Duration) time.Time {
	seconds := int64(step / time.Second)
	unix := t.Unix()
	return time.Unix(unix-(unix%seconds+seconds)%seconds, 0).UTC()
}
