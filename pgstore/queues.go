package pgstore

import (
	"context"
	"slices"
	"strings"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Queues implements driver.Inspector. Latency is read from the first jobs of each priority of a queue, some ten thousand in all.
func (s *Store) Queues(ctx context.Context) ([]driver.QueueInfo, error) {
	var infos []driver.QueueInfo
	err := s.snapshot(ctx, func(r *reader) error {
		names, err := r.queueNames()
		if err != nil || len(names) == 0 {
			return err
		}
		infos, err = r.queueCounts(names)
		if err != nil {
			return err
		}
		if err := r.processing(infos); err != nil {
			return err
		}
		return r.latency(infos)
	})
	return infos, err
}

// queueNames lists the queues that have live jobs, a pause or a server, by name.
func (r *reader) queueNames() ([]string, error) {
	names, err := r.names("queue_names")
	if err != nil {
		return nil, err
	}
	lists, err := r.names("server_queues")
	for _, list := range lists {
		for _, name := range storekit.DecodeTags([]byte(list)) {
			if storable(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

func (r *reader) queueCounts(names []string) (infos []driver.QueueInfo, err error) {
	err = r.each("queue_counts", []any{names, int64(storekit.CountCap)}, func(rows rows) error {
		var info driver.QueueInfo
		var pausedAt int64
		err := rows.Scan(&info.Name, &pausedAt, &info.Enqueued, &info.Scheduled, &info.Throttled)
		info.PausedAt = storekit.Instant(pausedAt)
		info.Paused = pausedAt != 0
		info.Capped = max(info.Enqueued, info.Scheduled, info.Throttled) >= storekit.CountCap
		infos = append(infos, info)
		return err
	})
	slices.SortFunc(infos, func(a, b driver.QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos, err
}

func (r *reader) processing(infos []driver.QueueInfo) error {
	return r.each("queue_processing", nil, func(rows rows) error {
		var queue string
		var n int64
		err := rows.Scan(&queue, &n)
		if info := find(infos, queue); info != nil {
			info.Processing = min(n, storekit.CountCap)
			info.Capped = info.Capped || n >= storekit.CountCap
		}
		return err
	})
}

func (r *reader) latency(infos []driver.QueueInfo) error {
	return r.each("queue_oldest", nil, func(rows rows) error {
		var queue string
		var oldest int64
		err := rows.Scan(&queue, &oldest)
		if info := find(infos, queue); info != nil {
			info.Latency = max(r.now.Sub(storekit.Instant(oldest)), 0)
		}
		return err
	})
}

func find(infos []driver.QueueInfo, name string) *driver.QueueInfo {
	i, ok := slices.BinarySearchFunc(infos, name, func(info driver.QueueInfo, name string) int {
		return strings.Compare(info.Name, name)
	})
	if !ok {
		return nil
	}
	return &infos[i]
}
