package sqlitestore

import (
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// flagsSettled are the flags of jobs whose end touches side tables.
// Unique and limit keys are given back for all ends of a call together.
const flagsSettled = flagChildren | flagBatch

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
		var count int
		var unique, limit bool
		args := []any{encodeIDs(ids), int64(claim), int64(flagsSettled), int64(flagUnique), int64(flagLimit)}
		if _, err := f.one("finish_count", args, &count, &unique, &limit); err != nil {
			return nil, err
		}
		if count == len(ids) {
			if unique {
				f.uniques = append(f.uniques, ids...)
			}
			if limit {
				f.limited = append(f.limited, ids...)
			}
			f.ended[doneSucceeded] = ids
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
