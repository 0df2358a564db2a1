package memstore

import (
	"context"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Finish implements driver.Worker.
func (s *Store) Finish(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	f := finisher{change: s.change(now)}
	results := make([]driver.Result, len(outs))
	for i := range outs {
		results[i] = f.apply(&outs[i])
	}
	s.count(now, server, f.stats)
	f.change.finish()
	return results, nil
}

// finisher is the state of one Finish call.
type finisher struct {
	*change
	// stats are what the outcomes count for their server.
	stats counts
	// rejected holds the refs of this call that were rejected: a second outcome for one is stale all the same.
	rejected map[driver.Ref]bool
}

func (f *finisher) apply(out *driver.Outcome) driver.Result {
	r := f.running(out.Ref)
	if r == nil || f.rejected[out.Ref] {
		return driver.Stale
	}
	settled, ok := storekit.Settle(out, storekit.Running{
		Attempt: r.Attempt, StartedAt: r.AttemptedAt, Server: r.Server, Cancel: r.CancelRequested, Limited: r.LimitKey != "",
	}, f.now)
	if !ok {
		if f.rejected == nil {
			f.rejected = make(map[driver.Ref]bool)
		}
		f.rejected[out.Ref] = true
		return driver.Rejected
	}
	f.settle(r, settled)
	f.stats.add(settled.Stat)
	return driver.Applied
}

// settle moves a row to where its outcome sends it.
func (c *change) settle(r *row, to storekit.Settled) {
	c.move(r, to.State, func() {
		r.Attempt = to.Attempt
		r.FinalizedAt = to.FinalizedAt
		r.Output = cloneSlice(to.Output)
		r.CancelRequested = false
		if !to.RunAt.IsZero() {
			r.RunAt = to.RunAt
		}
		if to.HasEntry {
			r.History = storekit.AppendHistory(r.History, to.Entry)
			r.runs = append(slices.Clip(r.runs), driver.Run{Attempt: to.Entry.Attempt, StartedAt: to.StartedAt, EndedAt: to.Entry.At})
			r.runs = r.runs[max(len(r.runs)-storekit.MaxHistory, 0):]
		}
	})
}

// SetMeta implements driver.Worker.
func (s *Store) SetMeta(ctx context.Context, ref driver.Ref, meta map[string]string) error {
	if err := driver.CheckMeta(meta); err != nil {
		return err
	}
	if _, err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := s.running(ref)
	if r == nil {
		return storekit.Lost(ref)
	}
	if r.Meta == nil && len(meta) > 0 {
		r.Meta = make(map[string]string, len(meta))
	}
	for k, v := range meta {
		r.Meta[k] = v
	}
	return nil
}
