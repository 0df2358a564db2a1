package pgstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// foldAtMost is how many rows of statistics one promotion folds.
const foldAtMost = 10_000

// Promote implements driver.Coordinator. Deadlines come first, so that a job that must not start is never shown as ready.
func (s *Store) Promote(ctx context.Context, limit int) (driver.Promoted, error) {
	limit = storekit.AtLeastOne(limit)
	p, idle, err := s.promoteLook(ctx)
	if err != nil || idle {
		return p, err
	}
	err = s.do(ctx, func(w *work) error {
		p = driver.Promoted{}
		w.gained = map[string]bool{}
		defer func() { w.gained = nil }()
		for _, step := range []func() error{
			func() error { _, err := w.takeIn(); return err },
			func() error { return w.endLate(limit) },
			func() error { return w.promote(limit, &p) },
			func() error { return w.touchMarked(limit) },
			w.conclude,
			// Last, as in Prune: whoever folds holds the totals until it commits.
			func() error { return w.exec("counts_fold", foldAtMost) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		p.Queues = slices.Sorted(maps.Keys(w.gained))
		var err error
		p.Next, err = w.untilNext()
		return err
	})
	if err != nil {
		return driver.Promoted{}, err
	}
	return p, nil
}

// promoteLook asks in one round trip whether there is anything to do, which there mostly is not, and what is planned next.
func (s *Store) promoteLook(ctx context.Context) (p driver.Promoted, idle bool, err error) {
	if err := s.usable(ctx); err != nil {
		return p, false, err
	}
	var due bool
	var next, now *int64
	err = s.retried(ctx, func() error {
		return s.batched(ctx, func(batch *pgx.Batch) {
			batch.Queue(s.texts.SQL("promote_look"), s.clockMicros()).QueryRow(func(row pgx.Row) error { return row.Scan(&due, &next, &now) })
		})
	})
	if err != nil || due {
		return p, false, named("promote_look", err)
	}
	if next != nil {
		p.Next = storekit.Instant(*next).Sub(storekit.Instant(*now))
	}
	return p, true, nil
}

// endLate deletes waiting jobs whose deadline has come.
func (w *work) endLate(limit int) error {
	passed := map[int64]int64{}
	err := w.each("deadlines_passed", []any{w.nowAt, int64(limit)}, func(rows rows) error {
		var id, at int64
		err := rows.Scan(&id, &at)
		passed[id] = at
		return err
	})
	if err != nil || len(passed) == 0 {
		return err
	}
	late, err := w.locateAll(slices.Sorted(maps.Keys(passed)))
	if err != nil {
		return err
	}
	late = slices.DeleteFunc(late, func(l located) bool {
		stays := !waits(l.state) || l.deadline != passed[l.id]
		if !stays {
			delete(passed, l.id)
		}
		return stays
	})
	// What is left of passed was claimed, deleted or replaced this moment, and its deadline with it. A row that stays for any other reason
	// must not be met again and again.
	for _, id := range slices.Sorted(maps.Keys(passed)) {
		if err := w.exec("deadline_stray", passed[id], id); err != nil {
			return err
		}
	}
	return w.endAll(late, driver.Entry{Reason: "deadline"})
}

// promote moves due jobs, by one statement. The keys of limited ones are looked at when the call ends.
func (w *work) promote(limit int, p *driver.Promoted) error {
	return w.each("promote", []any{w.nowAt, int64(limit)}, func(rows rows) error {
		var id, batch int64
		var rank, flags int32
		var queue, key string
		if err := rows.Scan(&id, &rank, &flags, &queue, &batch, &key); err != nil {
			return err
		}
		p.Count++
		to := driver.Enqueued
		if flags&flagLimit != 0 {
			to = driver.Throttled
			by := shift{}
			if flags&flagGranted != 0 {
				by.reserved = -1
			}
			w.shiftKey(key, by)
		} else {
			w.ready(queue, rank, id)
		}
		w.memberMoved(batch, driver.Scheduled, to, 1)
		return nil
	})
}

// untilNext is the time until Promote has work again, 0 when nothing is planned.
func (w *work) untilNext() (time.Duration, error) {
	var at *int64
	found, err := w.one("promote_next", nil, &at)
	if err != nil || !found || at == nil {
		return 0, err
	}
	if left := storekit.Instant(*at).Sub(w.now); left > 0 {
		return left, nil
	}
	return 100 * time.Microsecond, nil // due ones remain
}
