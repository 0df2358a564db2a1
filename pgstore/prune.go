package pgstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// settled is how long a leader has led when every server that lives has been heard of since its clock last jumped.
const settled = time.Minute

// Prune implements driver.Coordinator. Jobs of all ended states share the limit, in the order succeeded, deleted, failed.
func (s *Store) Prune(ctx context.Context, p driver.PruneParams) (int, error) {
	limit := int64(storekit.OrDefault(p.Limit, 1000))
	total := int64(0)
	err := s.do(ctx, func(w *work) (err error) {
		total, err = w.prune(p, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(total), nil
}

func (w *work) prune(p driver.PruneParams, limit int64) (total int64, err error) {
	for _, part := range []func() (int64, error){
		func() (int64, error) { return w.pruneJobs(p.Retention, limit) },
		func() (int64, error) { return w.pruneBatches(storekit.BatchRetention(p.Retention), limit) },
		func() (int64, error) { return w.pruneKeys(limit) },
		func() (int64, error) {
			silent := storekit.Micros(w.now.Add(-cmp.Or(p.Servers, time.Hour)))
			return w.affect("prune_servers", silent, limit, w.nowAt, storekit.Micros(w.now.Add(-settled)))
		},
		func() (int64, error) { return w.pruneStats(cmp.Or(p.Stats, 14*24*time.Hour), limit) },
	} {
		n, err := part()
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// pruneStats folds what has been counted since and removes minutes that are old enough.
func (w *work) pruneStats(keep time.Duration, limit int64) (int64, error) {
	if err := w.exec("counts_fold", int64(foldAtMost)); err != nil {
		return 0, err
	}
	return w.affect("prune_stats", storekit.MinuteFrom(w.now.Add(-keep)), limit)
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
		{driver.Succeeded, keep.Succeeded, "prune_done", "prune_done_rows", []any{int16(doneSucceeded)}},
		{driver.Deleted, keep.Deleted, "prune_done", "prune_done_rows", []any{int16(doneDeleted)}},
		{driver.Failed, keep.Failed, "prune_failed", "prune_failed_rows", nil},
	} {
		if old.keep < 0 || total == limit {
			continue
		}
		var gone pruned
		err := w.each(old.read, append(old.args, storekit.Micros(w.now.Add(-old.keep)), limit-total), func(rows rows) error {
			var id int64
			var flags int32
			err := rows.Scan(&id, &flags)
			gone.note(id, flags)
			return err
		})
		if err != nil {
			return 0, err
		}
		if len(gone.ids) == 0 {
			continue
		}
		total += int64(len(gone.ids))
		if err := w.dropFlows(&gone, old.state); err != nil {
			return 0, err
		}
		if err := w.drop(&gone, old.rows); err != nil {
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

// pruned are jobs that are about to be removed. Of them, parents are those that others wait for, children those that waited for
// others, members those of batches; limited have a limit key, and metas and outputs are those with rows in these tables.
type pruned struct {
	ids                                                 []int64
	parents, children, members, limited, metas, outputs []int64
}

func (p *pruned) note(id int64, flags int32) {
	p.ids = append(p.ids, id)
	for _, of := range []struct {
		flag int32
		list *[]int64
	}{
		{flagChildren, &p.parents}, {flagParents, &p.children}, {flagBatch, &p.members},
		{flagLimit, &p.limited}, {flagMeta, &p.metas}, {flagOutput, &p.outputs},
	} {
		if flags&of.flag != 0 {
			*of.list = append(*of.list, id)
		}
	}
}

// drop removes jobs with all that they own.
func (w *work) drop(p *pruned, rows string) error {
	var keys []string
	if len(p.limited) > 0 {
		var err error
		if keys, err = w.keysOf(p.limited); err != nil {
			return err
		}
	}
	slices.Sort(p.ids)
	if err := w.must(len(p.ids), rows, p.ids); err != nil {
		return err
	}
	for _, owned := range []struct {
		statement string
		ids       []int64
	}{
		{"prune_jobs", p.ids}, {"prune_metas", p.metas}, {"prune_outputs", p.outputs},
		{"prune_history", p.ids}, {"prune_console", p.ids}, {"prune_progress", p.ids},
	} {
		if len(owned.ids) == 0 {
			continue
		}
		if err := w.exec(owned.statement, owned.ids); err != nil {
			return err
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return w.exec("limits_unuse", keys)
}

// dropFlows takes jobs that are about to be removed out of their batches and out of what they waited for, and settles those that
// wait for them.
func (w *work) dropFlows(p *pruned, state driver.State) error {
	if len(p.members) > 0 {
		err := w.membersCounted("batch_members", []any{p.members}, func(batch, n int64) {
			w.memberCounted(batch, state, -n)
		})
		if err != nil {
			return err
		}
	}
	if len(p.children) > 0 {
		if err := w.exec("flow_drop_children", p.children); err != nil {
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
