package sqlitestore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Heartbeat implements driver.Worker.
func (s *Store) Heartbeat(ctx context.Context, info driver.ServerInfo) (driver.Directives, error) {
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
			int64(info.Workers), int64(info.Running), started, w.nowAt); err != nil {
			return err
		}
		if err := w.exec("servers_back", w.nowAt, w.future()); err != nil {
			return err
		}
		if err := forgetStats(w.ctx, w.db, s.tables); err != nil {
			return err
		}
		if d.Leases, err = w.leases(info.ID); err != nil {
			return err
		}
		d.Paused, err = w.paused()
		return err
	})
	if err != nil {
		return driver.Directives{}, err
	}
	return d, nil
}

func (w *work) leases(server string) (leases []driver.Lease, err error) {
	err = w.each("server_leases", []any{server}, func(rows *sql.Rows) error {
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

func (w *work) paused() (names []string, err error) {
	err = w.each("queues_paused", nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	slices.Sort(names)
	return names, err
}

// Unregister implements driver.Worker.
func (s *Store) Unregister(ctx context.Context, server string) error {
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
		orphans = nil
		silent := storekit.Micros(r.now.Add(-deadAfter))
		return r.each("orphans", []any{silent, int64(storekit.AtLeastOne(limit))}, func(rows *sql.Rows) error {
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
	err = r.each("servers_list", nil, func(rows *sql.Rows) error {
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
