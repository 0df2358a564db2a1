package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// settled is how long a leader has led when every server that lives has been heard of since its clock last jumped.
const settled = time.Minute

// Prune implements driver.Coordinator. Jobs of all ended states share the limit, in the order succeeded, deleted, failed.
func (s *Store) Prune(ctx context.Context, p driver.PruneParams) (int, error) {
	limit := int64(storekit.OrDefault(p.Limit, 1000))
	total := 0
	err := s.do(ctx, func(w *work) error {
		n, err := w.pruneJobs(p.Retention, limit)
		if err != nil {
			return err
		}
		batches, err := w.pruneBatches(storekit.BatchRetention(p.Retention), limit)
		if err != nil {
			return err
		}
		silent := storekit.Micros(w.now.Add(-cmp.Or(p.Servers, time.Hour)))
		servers, err := w.affect("prune_servers", silent, limit, w.nowAt, storekit.Micros(w.now.Add(-settled)))
		if err != nil {
			return err
		}
		minutes, err := w.affect("prune_stats", storekit.MinuteFrom(w.now.Add(-cmp.Or(p.Stats, 14*24*time.Hour))), limit)
		if err != nil {
			return err
		}
		keys, err := w.pruneKeys(limit)
		total = int(n + batches + servers + minutes + keys)
		return err
	})
	if err != nil {
		return 0, err
	}
	return total, nil
}

// pruneJobs removes up to limit ended jobs, those that ended first before the others.
func (w *work) pruneJobs(keep driver.Retention, limit int64) (int64, error) {
	total := int64(0)
	for _, old := range []struct {
		state      driver.State
		keep       time.Duration
		read, rows string
		args       []any
	}{
		{driver.Succeeded, keep.Succeeded, "prune_done", "prune_done_rows", []any{int64(doneSucceeded)}},
		{driver.Deleted, keep.Deleted, "prune_done", "prune_done_rows", []any{int64(doneDeleted)}},
		{driver.Failed, keep.Failed, "prune_failed", "prune_failed_rows", nil},
	} {
		if old.keep < 0 || total == limit {
			continue
		}
		args := append(old.args, storekit.Micros(w.now.Add(-old.keep)), limit-total)
		var list []byte
		var flows prunedFlows
		err := w.each(old.read, args, func(rows *sql.Rows) error {
			var id, flags int64
			err := rows.Scan(&id, &flags)
			list = appendID(list, id)
			flows.note(id, flags)
			total++
			return err
		})
		if err != nil {
			return 0, err
		}
		if len(list) == 0 {
			continue
		}
		if err := w.dropFlows(&flows, old.state); err != nil {
			return 0, err
		}
		if err := w.drop(old.rows, closeIDs(list)); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// pruneKeys removes unique keys whose window has ended, and limit keys that nothing names and whose clocks have passed.
func (w *work) pruneKeys(limit int64) (int64, error) {
	uniques, err := w.affect("prune_uniques", w.nowAt, limit)
	if err != nil {
		return 0, err
	}
	limits, err := w.affect("prune_limits", w.now.UnixNano(), limit)
	return uniques + limits, err
}

// drop removes jobs with all that they own.
func (w *work) drop(rows, ids string) error {
	if err := w.exec("ids_keep"); err != nil {
		return err
	}
	keys, err := w.keysOf(ids)
	if err != nil {
		return err
	}
	for _, name := range []string{
		rows, "prune_jobs", "prune_metas", "prune_outputs", "prune_history", "prune_console", "prune_progress",
	} {
		if err := w.exec(name, ids); err != nil {
			return err
		}
	}
	if len(keys) == 0 {
		return nil
	}
	list, err := jsonText(keys)
	if err != nil {
		return err
	}
	return w.exec("limits_unuse", list)
}

// prunedFlows are those of the pruned jobs that others wait for, that waited for others, and that are members of batches.
type prunedFlows struct {
	parents           []int64
	children, members []byte
}

func (p *prunedFlows) note(id, flags int64) {
	if flags&flagChildren != 0 {
		p.parents = append(p.parents, id)
	}
	if flags&flagParents != 0 {
		p.children = appendID(p.children, id)
	}
	if flags&flagBatch != 0 {
		p.members = appendID(p.members, id)
	}
}

// dropFlows takes jobs that are about to be removed out of their batches and out of what they waited for, and settles those that
// wait for them.
func (w *work) dropFlows(p *prunedFlows, state driver.State) error {
	if len(p.members) > 0 {
		err := w.membersCounted("batch_members", []any{closeIDs(p.members)}, func(batch, n int64) {
			w.memberCounted(batch, state, -n)
		})
		if err != nil {
			return err
		}
	}
	if len(p.children) > 0 {
		if err := w.exec("flow_drop_children", closeIDs(p.children)); err != nil {
			return err
		}
	}
	for _, id := range p.parents {
		w.jobEnded(id, storekit.Pruned)
	}
	return nil
}

// pruneBatches removes up to limit batches without members that finished long enough ago, once what has been pruned is counted.
func (w *work) pruneBatches(keep time.Duration, limit int64) (int64, error) {
	if err := w.settleEnded(); err != nil {
		return 0, err
	}
	if keep < 0 {
		return 0, nil
	}
	return w.affect("prune_batches", storekit.Micros(w.now.Add(-keep)), limit)
}
