package sim

import (
	"context"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// quirky is a server's view of the store, which takes as many calls at once as the seed says and does not take every result.
type quirky struct {
	*faultstore.Store
	world *world
}

// Tuning says how many calls may be under way.
func (q *quirky) Tuning() driver.Tuning {
	return driver.Tuning{ClaimLanes: q.world.cfg.Shape.Lanes, FinishLanes: q.world.cfg.Shape.Lanes}
}

// Finish answers some outcomes with Busy or Rejected instead of writing them.
func (q *quirky) Finish(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
	w := q.world
	if w.cfg.Faults.Refuse == 0 || w.calm {
		return q.Store.Finish(ctx, server, outs)
	}
	results := make([]driver.Result, len(outs))
	var taken []driver.Outcome
	for i, o := range outs {
		switch p := w.rng.Float64(); {
		case p < w.cfg.Faults.Refuse:
			results[i] = driver.Busy
		case p < 2*w.cfg.Faults.Refuse:
			results[i] = driver.Rejected
		default:
			taken = append(taken, o)
		}
	}
	written, err := q.Store.Finish(ctx, server, taken)
	if err != nil {
		return nil, err
	}
	for i := range results {
		if results[i] == 0 {
			results[i], written = written[0], written[1:]
		}
	}
	return results, nil
}
