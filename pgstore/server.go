package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// hold is how far a clock may step back without anybody noticing: the instants of transactions that ran beside each other may be
// written in any order.
const hold = time.Second

// future is from when on a stamp that somebody made as now shows that the clock has been set back since.
func (w *work) future() int64 { return w.nowAt + hold.Microseconds() }

// Heartbeat implements driver.Worker.
func (s *Store) Heartbeat(ctx context.Context, info driver.ServerInfo) (driver.Directives, error) {
	if err := checkServerInfo(&info); err != nil {
		return driver.Directives{}, err
	}
	queues, err := storekit.EncodeTags(info.Queues)
	if err != nil {
		return driver.Directives{}, err
	}
	kinds, err := storekit.EncodeTags(info.Kinds)
	if err != nil {
		return driver.Directives{}, err
	}
	var d driver.Directives
	err = s.do(ctx, func(w *work) error {
		d = driver.Directives{}
		started := storekit.Micros(info.StartedAt)
		if started == 0 {
			started = w.nowAt
		}
		if err := w.exec("server_put", info.ID, info.Host, int64(info.PID), info.Version, queues, kinds,
			atMostInt32(info.Workers), atMostInt32(info.Running), started, w.nowAt); err != nil {
			return err
		}
		if err := w.exec("servers_back", w.nowAt, w.future()); err != nil {
			return err
		}
		if d.Leases, err = w.leases(info.ID); err != nil {
			return err
		}
		d.Paused, err = w.names("queues_paused")
		slices.Sort(d.Paused)
		return err
	})
	if err != nil {
		return driver.Directives{}, err
	}
	return d, nil
}

// checkServerInfo refuses text that PostgreSQL does not keep.
func checkServerInfo(info *driver.ServerInfo) error {
	for _, text := range []struct{ field, value string }{
		{"server ID", info.ID}, {"server Host", info.Host}, {"server Version", info.Version},
	} {
		if err := checkStorable(text.field, text.value); err != nil {
			return err
		}
	}
	return nil
}

// atMostInt32 is a number of an application as the store keeps it.
func atMostInt32(n int) int32 { return int32(max(min(n, 1<<31-1), -1<<31)) }

func (w *work) leases(server string) (leases []driver.Lease, err error) {
	err = w.each("server_leases", []any{server}, func(rows rows) error {
		var l driver.Lease
		var attempted int64
		if err := rows.Scan(&l.ID, &l.Claim, &l.Cancel, &attempted); err != nil {
			return err
		}
		l.Age = max(w.now.Sub(storekit.Instant(attempted)), 0)
		leases = append(leases, l)
		return nil
	})
	return leases, err
}

// Unregister implements driver.Worker.
func (s *Store) Unregister(ctx context.Context, server string) error {
	if !storable(server) {
		return s.usable(ctx) // no server has this name
	}
	return s.do(ctx, func(w *work) error {
		if err := w.exec("server_drop", server); err != nil {
			return err
		}
		return w.exec("leader_drop_all", server)
	})
}

// Orphans implements driver.Coordinator.
func (s *Store) Orphans(ctx context.Context, deadAfter time.Duration, limit int) ([]driver.Orphan, error) {
	var orphans []driver.Orphan
	err := s.read(ctx, func(r *reader) error {
		silent := storekit.Micros(r.now.Add(-deadAfter))
		return r.each("orphans", []any{silent, int64(storekit.AtLeastOne(limit))}, func(rows rows) error {
			var o driver.Orphan
			err := rows.Scan(&o.ID, &o.Claim, &o.Kind, &o.Queue, &o.Attempt, &o.MaxAttempts, &o.Server, &o.Cancel, &o.LastReason)
			orphans = append(orphans, o)
			return err
		})
	})
	return orphans, err
}

// Servers implements driver.Inspector.
func (s *Store) Servers(ctx context.Context) ([]driver.ServerInfo, error) {
	var servers []driver.ServerInfo
	err := s.read(ctx, func(r *reader) (err error) {
		servers, err = r.servers()
		return err
	})
	return servers, err
}

// servers reads all servers, by id.
func (r *reader) servers() (servers []driver.ServerInfo, err error) {
	err = r.each("servers_list", nil, func(rows rows) error {
		var info driver.ServerInfo
		var queues, kinds []byte
		var started, heartbeat int64
		err := rows.Scan(&info.ID, &info.Host, &info.PID, &info.Version, &queues, &kinds, &info.Workers, &info.Running, &started, &heartbeat)
		info.Queues, info.Kinds = storekit.DecodeTags(queues), storekit.DecodeTags(kinds)
		info.StartedAt, info.HeartbeatAt = storekit.Instant(started), storekit.Instant(heartbeat)
		servers = append(servers, info)
		return err
	})
	return servers, err
}
