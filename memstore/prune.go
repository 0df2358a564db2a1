package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Prune implements driver.Coordinator.
func (s *Store) Prune(ctx context.Context, p driver.PruneParams) (int, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	limit := storekit.OrDefault(p.Limit, 1000)
	c := s.change(now)
	n := c.pruneRows(p.Retention, limit) + c.pruneBatches(storekit.BatchRetention(p.Retention), limit)
	if s.settled(now) {
		n += s.pruneServers(now.Add(-cmp.Or(p.Servers, time.Hour)), limit)
	}
	n += s.pruneUniques(now, limit) + s.pruneLimits(now, limit)
	n += s.foldMinutes(now.Add(-cmp.Or(p.Stats, 14*24*time.Hour)), limit)
	c.finish()
	return n, nil
}

// pruneRows removes up to limit ended rows, those that ended first before the others.
func (c *change) pruneRows(keep driver.Retention, limit int) int {
	n := 0
	for _, old := range []struct {
		list *list
		keep time.Duration
	}{{&c.succeeded, keep.Succeeded}, {&c.deleted, keep.Deleted}, {&c.failed, keep.Failed}} {
		for old.keep >= 0 && n < limit {
			first, ok := old.list.first()
			if !ok || c.now.Sub(first.row.FinalizedAt) < old.keep {
				break
			}
			c.drop(first.row)
			c.noteEnd(first.row, storekit.Pruned)
			n++
		}
	}
	return n
}

// settling is how long a leader has led when every server that lives has been heard of since the clock last jumped.
const settling = time.Minute

// settled reports whether the silence of servers can be believed. After a jump of the clock all of them look silent until their next
// heartbeat, and the jobs of a server without a row are orphans at once; but the jump has ended the leaders' leases too.
func (s *Store) settled(now time.Time) bool {
	for _, l := range s.leases {
		if !l.expires.After(now) || l.since.After(now.Add(-settling)) {
			return false
		}
	}
	return true
}

// pruneServers removes up to limit servers whose last heartbeat is not after the given time.
func (s *Store) pruneServers(silent time.Time, limit int) int {
	n := 0
	for _, id := range slices.Sorted(maps.Keys(s.servers)) {
		if n < limit && !s.servers[id].HeartbeatAt.After(silent) {
			delete(s.servers, id)
			n++
		}
	}
	return n
}
