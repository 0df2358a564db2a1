package pgstore

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
)

// plainGroups is how many groups of jobs under one claim number a call is divided into. Most jobs run under their first claim, some
// under their second.
const plainGroups = 4

// finishPlain ends jobs that succeeded and left nothing, a statement for those under one claim number, all in one transaction. It
// returns the places of the outcomes that are left, in order.
func (s *Store) finishPlain(ctx context.Context, server string, outs []driver.Outcome, results []driver.Result) (rest []int, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	groups := map[int32][]int{}
	seen := make(map[int64]struct{}, len(outs))
	for i := range outs {
		out := &outs[i]
		group, ok := groups[out.Claim]
		// Of several outcomes of one job the first counts.
		if _, again := seen[out.ID]; !again && leavesNothing(out) && (ok || len(groups) < plainGroups) {
			groups[out.Claim] = append(group, i)
		} else {
			rest = append(rest, i)
		}
		seen[out.ID] = struct{}{}
	}
	if len(groups) == 0 {
		return rest, nil
	}
	ended := make(map[int32][]int64, len(groups))
	all := map[int32]bool{}
	locked := false
	err = s.retried(ctx, func() error {
		clear(all)
		err := s.batched(ctx, func(batch *pgx.Batch) {
			for claim, group := range groups {
				ids := make([]int64, len(group))
				for k, i := range group {
					ids[k] = outs[i].ID
				}
				slices.Sort(ids)
				batch.Queue(s.texts.SQL("finish_plain"), s.clockMicros(), ids, claim, int32(flagsShared), server, len(ids)).QueryRow(func(row pgx.Row) error {
					var done []int64
					err := row.Scan(&done)
					ended[claim], all[claim] = done, done == nil
					return err
				})
			}
		})
		if locked = isLocked(err); locked {
			return nil
		}
		return err
	})
	if locked {
		return everyPlace(len(outs)), nil // it will show which of the rows somebody else holds
	}
	if err != nil {
		return nil, named("finish_plain", err)
	}
	for claim, group := range groups {
		if !all[claim] {
			slices.Sort(ended[claim])
		}
		for _, i := range group {
			if all[claim] || contains(ended[claim], outs[i].ID) {
				results[i] = driver.Applied
			} else {
				rest = append(rest, i)
			}
		}
	}
	slices.Sort(rest)
	return rest, nil
}

func contains(sorted []int64, id int64) bool {
	_, found := slices.BinarySearch(sorted, id)
	return found
}

func everyPlace(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// leavesNothing reports whether an outcome is a success that means the same whatever is known of the job, with nothing to
// keep beside it.
func leavesNothing(out *driver.Outcome) bool {
	return out.State == driver.Succeeded && out.Reason == "" && len(out.Output) == 0 && !out.Refund
}
