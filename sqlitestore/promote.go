package sqlitestore

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Promote implements driver.Coordinator. Deadlines come first, so that a job that must not start is never shown as ready.
func (s *Store) Promote(ctx context.Context, limit int) (driver.Promoted, error) {
	limit = storekit.AtLeastOne(limit)
	var p driver.Promoted
	err := s.do(ctx, func(w *work) error {
		p = driver.Promoted{}
		w.gained = map[string]bool{}
		defer func() { w.gained = nil }()
		for _, step := range []func() error{
			func() error { return w.endLate(limit) },
			func() error { return w.promote(limit, &p) },
			func() error { return w.touchMarked(limit) },
			w.conclude,
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

// endLate deletes waiting jobs whose deadline has come.
func (w *work) endLate(limit int) error {
	var ids []int64
	err := w.each("deadlines_passed", []any{w.nowAt, int64(limit)}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		l, ok, err := w.locate(id)
		if err != nil || !ok {
			return err
		}
		if err := w.end(&l, driver.Entry{Reason: "deadline"}); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) promote(limit int, p *driver.Promoted) error {
	var lastID, lastAt, flags int64
	var queue interned
	var members []byte
	limited := 0
	err := w.each("promote_read", []any{w.nowAt, int64(limit)}, func(rows *sql.Rows) error {
		if err := rows.Scan(&lastID, &lastAt, &queue, &flags); err != nil {
			return err
		}
		p.Count++
		if flags&flagBatch != 0 {
			members = appendID(members, lastID)
		}
		if flags&flagLimit != 0 {
			limited++
		} else {
			w.ready(string(queue))
		}
		return nil
	})
	if err != nil || p.Count == 0 {
		return err
	}
	if len(members) > 0 {
		if err := w.promoteMembers(closeIDs(members)); err != nil {
			return err
		}
	}
	if limited > 0 {
		if err := w.promoteLimited(lastAt, lastID); err != nil {
			return err
		}
	}
	if limited < p.Count {
		if err := w.exec("promote_ready", lastAt, lastID, int64(flagLimit)); err != nil {
			return err
		}
	}
	return w.exec("promote_take", lastAt, lastID)
}

// promoteMembers counts the due jobs that are members of batches.
func (w *work) promoteMembers(ids string) error {
	for _, to := range []struct {
		name  string
		state driver.State
	}{{"promote_members", driver.Enqueued}, {"promote_members_limited", driver.Throttled}} {
		err := w.membersCounted(to.name, []any{ids}, func(batch, n int64) {
			w.memberMoved(batch, driver.Scheduled, to.state, n)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// promoteLimited moves the due jobs with a limit key to throttled. Their keys are looked at when the call ends.
func (w *work) promoteLimited(lastAt, lastID int64) error {
	err := w.each("promote_keys", []any{lastAt, lastID, int64(flagLimit), int64(flagGranted)}, func(rows *sql.Rows) error {
		var key string
		var granted int64
		err := rows.Scan(&key, &granted)
		w.shiftKey(key, shift{reserved: -granted})
		return err
	})
	if err != nil {
		return err
	}
	return w.exec("promote_throttled", lastAt, lastID, int64(flagLimit))
}

// untilNext is the time until Promote has work again, 0 when nothing is planned.
func (w *work) untilNext() (time.Duration, error) {
	var wait time.Duration
	for _, name := range []string{"promote_next", "deadlines_next", "limits_next"} {
		var at int64
		if _, err := w.one(name, nil, &at); err != nil {
			return 0, err
		}
		if at == 0 {
			continue
		}
		left := storekit.Instant(at).Sub(w.now)
		if left <= 0 {
			left = 100 * time.Microsecond // due ones remain
		}
		if wait == 0 || left < wait {
			wait = left
		}
	}
	return wait, nil
}
