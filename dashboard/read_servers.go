package dashboard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func (h *handler) readQueues(ctx context.Context) (queuesView, error) {
	queues, err := h.store.Queues(ctx)
	if err != nil {
		return queuesView{}, fmt.Errorf("list queues: %w", err)
	}
	servers, now, err := h.listServers(ctx)
	if err != nil {
		return queuesView{}, err
	}
	v := queuesView{Queues: make([]queueView, len(queues))}
	for i := range queues {
		q := &queues[i]
		v.Queues[i] = queueView{
			Name: q.Name, Paused: q.Paused, PausedAt: q.PausedAt, Enqueued: q.Enqueued, Processing: q.Processing,
			Scheduled: q.Scheduled, Throttled: q.Throttled, Capped: q.Capped, LatencyMS: max(q.Latency, 0).Milliseconds(),
			Servers: serving(servers, now, q.Name),
		}
	}
	return v, nil
}

// serving counts the live servers that work on a queue.
func serving(servers []driver.ServerInfo, now time.Time, queue string) int {
	n := 0
	for i := range servers {
		if !silent(&servers[i], now) && slices.Contains(servers[i].Queues, queue) {
			n++
		}
	}
	return n
}

func silent(s *driver.ServerInfo, now time.Time) bool {
	return now.Sub(s.HeartbeatAt) > driver.SilentAfter
}

// listServers lists the servers with the time by the clock that stamps their heartbeats.
func (h *handler) listServers(ctx context.Context) ([]driver.ServerInfo, time.Time, error) {
	servers, err := h.store.Servers(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("list servers: %w", err)
	}
	now, err := h.store.Now(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the store's clock: %w", err)
	}
	return servers, now, nil
}

func (h *handler) readServers(ctx context.Context) (serversView, error) {
	servers, now, err := h.listServers(ctx)
	if err != nil {
		return serversView{}, err
	}
	v := serversView{Servers: make([]serverView, len(servers))}
	for i := range servers {
		s := &servers[i]
		v.Servers[i] = serverView{
			ID: s.ID, Host: s.Host, PID: s.PID, Version: s.Version, Queues: notNil(s.Queues), Kinds: s.Kinds,
			Workers: s.Workers, Running: s.Running, StartedAt: s.StartedAt, HeartbeatAt: s.HeartbeatAt,
			HeartbeatAgeMS: max(now.Sub(s.HeartbeatAt), 0).Milliseconds(), Silent: silent(s, now),
		}
	}
	return v, nil
}

// notNil makes a list that JSON writes as [] rather than null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
