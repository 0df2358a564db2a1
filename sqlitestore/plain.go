package sqlitestore

import (
	"database/sql"
	"maps"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// plainGroups is how many groups of jobs under one claim number a call is divided into. Most jobs run under their first claim, some
// under their second.
const plainGroups = 4

// plain ends the jobs that succeeded and left nothing, which most do, without reading their leases row by row: for those under one
// claim number, one count says whether all of them are as their outcomes expect. It returns the indices of the outcomes that are
// left, in order.
func (f *finisher) plain() (rest []int, err error) {
	groups := map[int32][]int{}
	for i := range f.outs {
		out := &f.outs[i]
		group, ok := groups[out.Claim]
		if leavesNothing(out) && (ok || len(groups) < plainGroups) {
			groups[out.Claim] = append(group, i)
		} else {
			rest = append(rest, i)
		}
	}
	repeats := len(groups) > 0 && f.repeats()
	for _, claim := range slices.Sorted(maps.Keys(groups)) {
		ended := false
		if !repeats {
			if ended, err = f.plainGroup(claim, groups[claim]); err != nil {
				return nil, err
			}
		}
		if !ended {
			rest = append(rest, groups[claim]...)
		}
	}
	slices.Sort(rest)
	return rest, nil
}

// plainGroup ends the jobs of some outcomes if all of them are processing under a claim number.
func (f *finisher) plainGroup(claim int32, which []int) (ended bool, err error) {
	ids := make([]int64, len(which))
	for k, i := range which {
		ids[k] = f.outs[i].ID
	}
	slices.Sort(ids)
	list := encodeIDs(ids)
	var count, parents, members int
	var unique, limit bool
	args := []any{list, int64(claim), int64(flagChildren), int64(flagBatch), int64(flagUnique), int64(flagLimit)}
	if _, err := f.one("finish_count", args, &count, &parents, &members, &unique, &limit); err != nil || count != len(ids) {
		return false, err
	}
	f.ended[doneSucceeded] = append(f.ended[doneSucceeded], ids...)
	if unique {
		f.uniques = append(f.uniques, ids...)
	}
	if limit {
		f.limited = append(f.limited, ids...)
	}
	f.count(f.server, storekit.StatSucceeded, int64(count))
	for _, i := range which {
		f.results[i] = driver.Applied
	}
	return true, f.plainFlows(list, parents, members)
}

// plainFlows notes which of the jobs that succeeded others wait for, and counts the members of batches.
func (f *finisher) plainFlows(list string, parents, members int) error {
	if parents > 0 {
		err := f.each("flow_ended", []any{list, int64(flagChildren)}, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			f.jobEnded(id, driver.Succeeded)
			return err
		})
		if err != nil {
			return err
		}
	}
	if members == 0 {
		return nil
	}
	return f.membersCounted("batch_leased", []any{list, int64(flagBatch)}, func(batch, n int64) {
		f.memberMoved(batch, driver.Processing, driver.Succeeded, n)
	})
}

// leavesNothing reports whether an outcome is a success that means the same whatever is known of the job, with nothing to
// keep beside it.
func leavesNothing(out *driver.Outcome) bool {
	return out.State == driver.Succeeded && out.Reason == "" && len(out.Output) == 0 && !out.Refund
}

// repeats reports whether a job has several outcomes, of which only the first counts.
func (f *finisher) repeats() bool {
	ids := make([]int64, len(f.outs))
	for i := range f.outs {
		ids[i] = f.outs[i].ID
	}
	slices.Sort(ids)
	return len(slices.Compact(ids)) < len(f.outs)
}
