package sqlitestore

import (
	"context"
	"database/sql"
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
		if err := w.endLate(limit); err != nil {
			return err
		}
		if err := w.promote(limit, &p); err != nil {
			return err
		}
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
	var queue string
	var members []byte
	err := w.each("promote_read", []any{w.nowAt, int64(limit)}, func(rows *sql.Rows) error {
		if err := rows.Scan(&lastID, &lastAt, &queue, &flags); err != nil {
			return err
		}
		p.Count++
		if flags&flagBatch != 0 {
			members = appendID(members, lastID)
		}
		w.ready(queue)
		if !slices.Contains(p.Queues, queue) {
			p.Queues = append(p.Queues, queue)
		}
		return nil
	})
	if err != nil || p.Count == 0 {
		return err
	}
	slices.Sort(p.Queues)
	if len(members) > 0 {
		err := w.membersCounted("batch_members", []any{closeIDs(members)}, func(batch, n int64) {
			w.memberMoved(batch, driver.Scheduled, driver.Enqueued, n)
		})
		if err != nil {
			return err
		}
	}
	if err := w.exec("promote_ready", lastAt, lastID); err != nil {
		return err
	}
	return w.exec("promote_take", lastAt, lastID)
}

// untilNext is the time until Promote has work again, 0 when nothing is planned.
func (w *work) untilNext() (time.Duration, error) {
	var wait time.Duration
	for _, name := range []string{"promote_next", "deadlines_next"} {
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
