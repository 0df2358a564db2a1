package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Heartbeat implements driver.Worker.
func (s *Store) Heartbeat(ctx context.Context, info driver.ServerInfo) (driver.Directives, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return driver.Directives{}, err
	}
	defer s.mu.Unlock()
	started := storekit.Stamp(info.StartedAt)
	if known, ok := s.servers[info.ID]; ok {
		started = known.StartedAt
	} else if started.IsZero() {
		started = now
	}
	info = copyServer(info)
	info.StartedAt, info.HeartbeatAt = started, now
	s.servers[info.ID] = info

	d := driver.Directives{Paused: s.paused()}
	s.processing.ascend(lowest, func(e entry) bool {
		if r := e.row; r.Server == info.ID {
			age := max(now.Sub(r.AttemptedAt), 0)
			d.Leases = append(d.Leases, driver.Lease{Ref: r.Ref, Cancel: r.CancelRequested, Age: age})
		}
		return true
	})
	return d, nil
}

// Unregister implements driver.Worker.
func (s *Store) Unregister(ctx context.Context, server string) error {
	if _, err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.servers, server)
	for name, l := range s.leases {
		if l.holder == server {
			delete(s.leases, name)
		}
	}
	return nil
}

// Orphans implements driver.Coordinator.
func (s *Store) Orphans(ctx context.Context, deadAfter time.Duration, limit int) ([]driver.Orphan, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	limit = storekit.AtLeastOne(limit)
	var orphans []driver.Orphan
	s.processing.ascend(lowest, func(e entry) bool {
		r := e.row
		if info, ok := s.servers[r.Server]; ok && now.Sub(info.HeartbeatAt) < deadAfter {
			return true
		}
		orphans = append(orphans, driver.Orphan{
			Ref: r.Ref, Kind: r.Kind, Queue: r.Queue, Attempt: r.Attempt, MaxAttempts: r.MaxAttempts,
			Server: r.Server, Cancel: r.CancelRequested, LastReason: storekit.LastReason(r.History),
		})
		return len(orphans) < limit
	})
	return orphans, nil
}

// Servers implements driver.Inspector.
func (s *Store) Servers(ctx context.Context) ([]driver.ServerInfo, error) {
	if _, err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.serverList(), nil
}

// serverList copies the servers, by id.
func (s *Store) serverList() []driver.ServerInfo {
	var servers []driver.ServerInfo
	for _, info := range s.servers {
		servers = append(servers, copyServer(info))
	}
	slices.SortFunc(servers, func(a, b driver.ServerInfo) int { return strings.Compare(a.ID, b.ID) })
	return servers
}

func copyServer(info driver.ServerInfo) driver.ServerInfo {
	info.Queues = cloneSlice(info.Queues)
	info.Kinds = cloneSlice(info.Kinds)
	return info
}
