package sqlitestore

import (
	"context"
	"fmt"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// bulk is the most jobs that one transaction of an operator's action touches.
const bulk = 1000

// Delete implements driver.Admin.
func (s *Store) Delete(ctx context.Context, f driver.Filter) (int, error) {
	actor := driver.Actor(ctx)
	return s.act(ctx, f, func(w *work, l *located) (bool, error) {
		switch {
		case l.state.Archived():
			return false, nil
		case l.state == driver.Processing:
			n, err := w.affect("lease_cancel", l.id)
			if n > 0 {
				w.event(driver.Event{Kind: driver.CancelRequested, ID: l.id})
			}
			return n > 0, err
		}
		return true, w.end(l, driver.Entry{Reason: "deleted", Actor: actor})
	})
}

// end deletes a job that is not processing, for the reason in the entry.
func (w *work) end(l *located, why driver.Entry) error {
	if err := w.leave(l); err != nil {
		return err
	}
	if err := w.enter(l, driver.Deleted); err != nil {
		return err
	}
	w.count("", storekit.StatDeleted, 1)
	why.At, why.State, why.Attempt = w.now, driver.Deleted, int(l.attempt)
	return w.note(l.id, storekit.CleanEntry(why))
}

// Requeue implements driver.Admin.
func (s *Store) Requeue(ctx context.Context, f driver.Filter) (int, error) {
	actor := driver.Actor(ctx)
	return s.act(ctx, f, func(w *work, l *located) (bool, error) {
		if l.state != driver.Scheduled && !l.state.Final() {
			return false, nil
		}
		if ok, err := w.retake(l); !ok || err != nil {
			return false, err
		}
		return true, w.requeue(l, actor)
	})
}

func (w *work) requeue(l *located, actor string) error {
	to := storekit.Ready(w.now, w.now, l.flags&flagLimit != 0)
	entry := driver.Entry{At: w.now, State: to, Attempt: int(l.attempt), Reason: "requeued", Actor: actor}
	attempt := int64(0)
	if l.state == driver.Scheduled {
		attempt = l.attempt
		if err := w.exec("attempts_raise", l.id, attempt+1); err != nil {
			return err
		}
	}
	if err := w.leave(l); err != nil {
		return err
	}
	l.attempt = attempt
	l.runAt = w.nowAt
	l.flags &^= flagGranted
	if err := w.dropOutput(l); err != nil {
		return err
	}
	if err := w.enter(l, to); err != nil {
		return err
	}
	return w.note(l.id, storekit.CleanEntry(entry))
}

// act runs an operator's action on every job that matches, at most bulk of them per transaction.
func (s *Store) act(ctx context.Context, f driver.Filter, action func(w *work, l *located) (bool, error)) (int, error) {
	if err := driver.CheckFilter(f); err != nil {
		return 0, err
	}
	if len(f.IDs) > 0 {
		return s.actOnIDs(ctx, f, action)
	}
	return s.actOnState(ctx, f, action)
}

func (s *Store) actOnIDs(ctx context.Context, f driver.Filter, action func(w *work, l *located) (bool, error)) (int, error) {
	ids := slices.Clone(f.IDs)
	slices.Sort(ids)
	total := 0
	for chunk := range slices.Chunk(slices.Compact(ids), bulk) {
		n := 0
		err := s.do(ctx, func(w *work) error {
			n = 0
			return w.actAll(chunk, f, action, &n)
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// actOnState walks the jobs of a state once, in the order of its table. Each transaction reads the next candidates and acts
// on them, so that none of them can have moved in between.
func (s *Store) actOnState(ctx context.Context, f driver.Filter, action func(w *work, l *located) (bool, error)) (int, error) {
	at := newWalk(f)
	total := 0
	for !at.done {
		next, n := at, 0
		err := s.do(ctx, func(w *work) error {
			next, n = at, 0
			ids, err := next.step(w)
			if err != nil {
				return err
			}
			return w.actAll(ids, f, action, &n)
		})
		if err != nil {
			return total, err
		}
		at = next
		total += n
	}
	return total, nil
}

func (w *work) actAll(ids []int64, f driver.Filter, action func(w *work, l *located) (bool, error), n *int) error {
	for _, id := range ids {
		l, ok, err := w.locate(id)
		if err != nil {
			return err
		}
		if !ok || !matches(&l, f) {
			continue
		}
		done, err := action(w, &l)
		if err != nil {
			return err
		}
		if done {
			*n++
		}
	}
	return nil
}

// matches checks every field of a filter but the ids.
func matches(l *located, f driver.Filter) bool {
	return (f.State == "" || f.State == l.state) &&
		(f.Queue == "" || f.Queue == l.queue) &&
		(f.Kind == "" || f.Kind == l.kind) &&
		(f.BatchID == 0 || f.BatchID == l.batch) &&
		(f.RecurringID == "" || f.RecurringID == l.recurring) &&
		(f.Tag == "" || slices.Contains(storekit.DecodeTags([]byte(l.tags)), f.Tag))
}

// PauseQueue implements driver.Admin.
func (s *Store) PauseQueue(ctx context.Context, queue string, paused bool) error {
	if queue == "" {
		return fmt.Errorf("%w: queue name is empty", driver.ErrInvalid)
	}
	return s.do(ctx, func(w *work) error {
		var n int64
		var err error
		if paused {
			n, err = w.affect("queue_pause", queue, w.nowAt)
		} else {
			n, err = w.affect("queue_resume", queue)
		}
		if n > 0 {
			w.event(driver.Event{Kind: driver.QueueChanged, Queue: queue})
		}
		return err
	})
}
