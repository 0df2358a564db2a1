package sqlitestore

import (
	"database/sql"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// plain ends the jobs that succeeded and left nothing, which most do, without reading their leases row by row: one count says
// whether all of them are as their outcomes expect. It returns the indices of the outcomes that are left, all of them when the
// count says no.
func (f *finisher) plain() (rest []int, err error) {
	ids := make([]int64, 0, len(f.outs))
	var claim int32
	for i := range f.outs {
		out := &f.outs[i]
		if len(ids) == 0 {
			claim = out.Claim
		}
		if leavesNothing(out) && out.Claim == claim {
			ids = append(ids, out.ID)
		} else {
			rest = append(rest, i)
		}
	}
	if len(ids) > 0 && !f.repeats() {
		slices.Sort(ids)
		var count, parents, members int
		var unique, limit bool
		list := encodeIDs(ids)
		args := []any{list, int64(claim), int64(flagChildren), int64(flagBatch), int64(flagUnique), int64(flagLimit)}
		if _, err := f.one("finish_count", args, &count, &parents, &members, &unique, &limit); err != nil {
			return nil, err
		}
		if count == len(ids) {
			f.ended[doneSucceeded] = ids
			if unique {
				f.uniques = append(f.uniques, ids...)
			}
			if limit {
				f.limited = append(f.limited, ids...)
			}
			if err := f.plainFlows(list, parents, members); err != nil {
				return nil, err
			}
			f.count(f.server, storekit.StatSucceeded, int64(count))
			f.applyAllBut(rest)
			return rest, nil
		}
	}
	rest = rest[:0]
	for i := range f.outs {
		rest = append(rest, i)
	}
	return rest, nil
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

func (f *finisher) applyAllBut(rest []int) {
	for i := range f.results {
		if len(rest) > 0 && rest[0] == i {
			rest = rest[1:]
			continue
		}
		f.results[i] = driver.Applied
	}
}
