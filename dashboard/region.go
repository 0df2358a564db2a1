package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kilnjobs/kiln/driver"
)

// overviewSource is what every viewer listens to.
func (h *handler) overviewSource() source {
	return source{"overview", func(ctx context.Context) (reading, error) {
		v, err := h.readOverview(ctx)
		return reading{payload: v}, err
	}}
}

// regionKinds make the source of each route of the API, below /api, that can be watched.
var regionKinds = map[string]func(h *handler, r *request) (source, error){
	"/overview":     (*handler).chartSource,
	"/problems":     (*handler).problemsSource,
	"/jobs/{key}":   (*handler).jobsSource,
	"/retries":      (*handler).retriesSource,
	"/recurring":    simple("recurring", (*handler).readRecurring),
	"/queues":       simple("queues", (*handler).readQueues),
	"/servers":      (*handler).serversSource,
	"/batches":      (*handler).batchesSource,
	"/batches/{id}": (*handler).batchSource,
	"/limits":       (*handler).limitsSource,
}

// regionSource reads the name of a region: the path of an API route below /api, with its query.
func (h *handler) regionSource(r *request, watch string) (source, error) {
	path, query, _ := strings.Cut(strings.TrimPrefix(watch, "/"), "?")
	segments, ok := split("/" + path)
	if !ok {
		return source{}, fmt.Errorf("%w: watch %.60q is no clean path", driver.ErrInvalid, watch)
	}
	asked := &request{Request: &http.Request{URL: &url.URL{RawQuery: query}}}
	if err := asked.readQuery(); err != nil {
		return source{}, err
	}
	for pattern, kind := range regionKinds {
		if asked.params, ok = matchPath(pattern, segments); ok {
			s, err := kind(h, asked)
			if err == nil {
				s.read = gone(s.read)
			}
			return s, err
		}
	}
	return source{}, fmt.Errorf("%w: watch %.60q names nothing that can be watched", driver.ErrInvalid, watch)
}

// gone makes what the API would answer out of an error that is about the region itself, as when a job was pruned.
func gone(read func(context.Context) (reading, error)) func(context.Context) (reading, error) {
	return func(ctx context.Context) (reading, error) {
		got, err := read(ctx)
		if errors.Is(err, driver.ErrNotFound) || errors.Is(err, driver.ErrInvalid) {
			return reading{payload: errorView{err.Error()}}, nil
		}
		return got, err
	}
}

// simple is a region without parameters, whose every change counts.
func simple[T any](key string, read func(*handler, context.Context) (T, error)) func(*handler, *request) (source, error) {
	return func(h *handler, _ *request) (source, error) {
		return source{key, func(ctx context.Context) (reading, error) {
			v, err := read(h, ctx)
			return reading{payload: v}, err
		}}, nil
	}
}

// chartSource is what the overview shows besides its tiles.
func (h *handler) chartSource(r *request) (source, error) {
	rng := r.query("range")
	if rng == "" {
		rng = "1h"
	}
	if _, ok := spans[rng]; !ok {
		return source{}, fmt.Errorf("%w: range %.60q is neither 1h nor 24h", driver.ErrInvalid, rng)
	}
	type chart struct {
		Series   seriesView   `json:"series"`
		Problems problemsView `json:"problems"`
	}
	return source{"overview?range=" + rng, func(ctx context.Context) (reading, error) {
		series, err := h.readSeries(ctx, rng)
		if err != nil {
			return reading{}, err
		}
		problems, err := h.readProblems(ctx)
		return reading{chart{series, problems}, []any{series, problems.untimed()}}, err
	}}, nil
}

func (h *handler) problemsSource(*request) (source, error) {
	return source{"problems", func(ctx context.Context) (reading, error) {
		v, err := h.readProblems(ctx)
		return reading{v, v.untimed()}, err
	}}, nil
}

// untimed is what counts as a change: not the time at which the list was read.
func (v problemsView) untimed() []problemView { return v.Problems }

// serversSource leaves the ages of heartbeats out of what counts as a change: the heartbeats themselves say as much.
func (h *handler) serversSource(*request) (source, error) {
	return source{"servers", func(ctx context.Context) (reading, error) {
		v, err := h.readServers(ctx)
		mark := make([]serverView, len(v.Servers))
		copy(mark, v.Servers)
		for i := range mark {
			mark[i].HeartbeatAgeMS = 0
		}
		return reading{v, mark}, err
	}}, nil
}

func (h *handler) batchesSource(r *request) (source, error) {
	limit, err := r.limit()
	if err != nil {
		return source{}, err
	}
	parent, err := r.positive("parent")
	if err != nil {
		return source{}, err
	}
	cursor := r.query("cursor")
	return source{fmt.Sprintf("batches %d %d %q", limit, parent, cursor), func(ctx context.Context) (reading, error) {
		v, err := h.readBatches(ctx, limit, cursor, parent)
		return reading{payload: v}, err
	}}, nil
}

func (h *handler) batchSource(r *request) (source, error) {
	id, err := r.id()
	if err != nil {
		return source{}, err
	}
	return source{fmt.Sprintf("batch %d", id), func(ctx context.Context) (reading, error) {
		v, err := h.readBatch(ctx, id)
		return reading{payload: v}, err
	}}, nil
}

func (h *handler) limitsSource(r *request) (source, error) {
	if _, ok := h.store.(driver.LimitReader); !ok {
		return source{}, errNoLimits
	}
	limit, err := r.limit()
	if err != nil {
		return source{}, err
	}
	after := r.query("after")
	return source{fmt.Sprintf("limits %d %q", limit, after), func(ctx context.Context) (reading, error) {
		v, err := h.readLimits(ctx, after, limit)
		return reading{payload: v}, err
	}}, nil
}
