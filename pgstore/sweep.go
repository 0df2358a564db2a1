package pgstore

import (
	"context"
	"math"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// slice is how many waiting jobs one Sweep looks at to find what must not be.
const slice = 1000

// sweepPlace is the last waiting job and the last limit key that Sweep has looked at. Sweeps of one process share it.
type sweepPlace struct {
	mu       sync.Mutex
	awaiting int64
	limits   string
}

// Sweep implements driver.Coordinator. It goes on with the dependents that were too many for the calls that ended what they
// waited for, and with the waiting jobs of rated keys that were too many for one call; and it looks at a slice of what waits for
// anything, and of limit keys, that somebody else than the store has left inconsistent.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	limit = storekit.AtLeastOne(limit)
	some, err := s.sweepLook(ctx)
	if err != nil || !some {
		return 0, err
	}
	s.swept.mu.Lock()
	defer s.swept.mu.Unlock()
	changed := 0
	err = s.do(ctx, func(w *work) error {
		var err error
		w.admitted = 0
		if _, err = w.takeIn(); err != nil {
			return err
		}
		if changed, err = w.sweep(&s.swept, limit); err != nil {
			return err
		}
		err = w.conclude()
		changed += w.admitted
		return err
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// sweepLook asks in one round trip whether there is anything that a sweep looks at.
func (s *Store) sweepLook(ctx context.Context) (some bool, err error) {
	if err := s.usable(ctx); err != nil {
		return false, err
	}
	err = s.retried(ctx, func() error {
		return s.batched(ctx, func(batch *pgx.Batch) {
			batch.Queue(s.texts.SQL("sweep_look")).QueryRow(func(row pgx.Row) error { return row.Scan(&some) })
		})
	})
	return some, named("sweep_look", err)
}

func (w *work) sweep(at *sweepPlace, limit int) (int, error) {
	changed, err := w.sweepEndings(limit)
	if err != nil || changed >= limit {
		return changed, err
	}
	repairs := []func(limit int) (int, error){w.sweepIdle, func(limit int) (int, error) { return w.sweepLimits(at, limit) }}
	if changed == 0 {
		// While endings are left, what waits for them is not stranded, and they count in their own order.
		repairs = append(repairs, func(limit int) (int, error) { return w.sweepAwaiting(at, limit) })
	}
	for _, repair := range repairs {
		n, err := repair(limit - changed)
		if err != nil {
			return 0, err
		}
		if changed += n; changed >= limit {
			break
		}
	}
	return changed, nil
}

// sweepEndings goes on with endings that were put off, oldest first.
func (w *work) sweepEndings(limit int) (int, error) {
	var list []ending
	seen := map[int64]bool{}
	again := false
	err := w.each("endings_next", []any{int64(limit)}, func(rows rows) error {
		var e ending
		var state string
		if err := rows.Scan(&e.seq, &e.job, &e.batch, &state, &e.settled, &e.until); err != nil {
			return err
		}
		e.state = driver.State(state)
		// A second end of one job waits for the first.
		if again = again || e.job != 0 && seen[e.job]; again {
			return nil
		}
		seen[e.job] = true
		list = append(list, e)
		return nil
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	w.flow.ended = list
	n, err := w.settle(limit)
	return max(n, 1), err
}

// sweepIdle finishes batches that nothing will finish any more.
func (w *work) sweepIdle(limit int) (int, error) {
	n := 0
	err := w.each("batch_idle", []any{int64(limit)}, func(rows rows) error {
		var id int64
		err := rows.Scan(&id)
		w.flow.tallies.Of(id).Look = true
		n++
		return err
	})
	if err != nil || n == 0 {
		return n, err
	}
	_, err = w.settle(settleAtMost)
	return n, err
}

// sweepAwaiting looks at the next slice of waiting jobs: at what they wait for, and then at how they count it.
func (w *work) sweepAwaiting(at *sweepPlace, limit int) (int, error) {
	from := at.awaiting
	var n int
	var to int64
	if _, err := w.one("flow_slice", []any{from, int64(min(limit, slice))}, &n, &to); err != nil {
		return 0, err
	}
	if n < min(limit, slice) {
		to = math.MaxInt64
		at.awaiting = 0
	} else {
		at.awaiting = to
	}
	if n == 0 {
		return 0, nil
	}
	if err := w.exec("flow_lock", from, to); err != nil {
		return 0, err
	}
	stranded, err := w.sweepStranded(from, to)
	if err != nil {
		return 0, err
	}
	miscounted, err := w.sweepMiscounted(from, to)
	return stranded + miscounted, err
}

// sweepStranded settles dependencies on jobs that have ended.
func (w *work) sweepStranded(from, to int64) (int, error) {
	err := w.each("flow_stranded", []any{from, to, int16(driver.OnFailed)}, func(rows rows) error {
		var e ending
		var state string
		err := rows.Scan(&e.job, &e.until, &state)
		e.state = driver.State(state)
		e.settled = e.until - 1
		w.flow.ended = append(w.flow.ended, e)
		return err
	})
	if err != nil || len(w.flow.ended) == 0 {
		return 0, err
	}
	return w.settle(settleAtMost)
}

// sweepMiscounted corrects jobs that wait for another number of things than they count, and releases those that wait for nothing.
func (w *work) sweepMiscounted(from, to int64) (int, error) {
	var found []*dependent
	err := w.each("flow_recount", []any{from, to}, func(rows rows) error {
		d := &dependent{}
		err := rows.Scan(&d.id, &d.pending, &d.resolved, &d.flags, &d.runAt, &d.queue, &d.rank, &d.batch)
		found = append(found, d)
		return err
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	if err := w.moveDependents(found); err != nil {
		return 0, err
	}
	return len(found), nil
}
