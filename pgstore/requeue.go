package pgstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// bulk is the most jobs that one transaction of an operator's action touches.
const bulk = 1000

// action is what an operator does to jobs that were read where they stand, in the order of their ids. It returns how many it was done
// to.
type action func(w *work, list []located) (int, error)

// Delete implements driver.Admin.
func (s *Store) Delete(ctx context.Context, f driver.Filter) (int, error) {
	why := driver.Entry{Reason: "deleted", Actor: driver.Actor(ctx)}
	return s.act(ctx, f, func(w *work, list []located) (int, error) {
		var waiting []located
		var running []int64
		for i := range list {
			switch l := &list[i]; {
			case l.state.Archived():
			case l.state != driver.Processing:
				waiting = append(waiting, *l)
			case !l.cancel:
				running = append(running, l.id)
			}
		}
		if err := w.cancelAll(running); err != nil {
			return 0, err
		}
		return len(running) + len(waiting), w.endAll(waiting, why)
	})
}

// cancelAll asks for the end of processing jobs.
func (w *work) cancelAll(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		w.event(driver.Event{Kind: driver.CancelRequested, ID: id})
	}
	return w.must(len(ids), "leases_cancel", ids)
}

// Requeue implements driver.Admin.
func (s *Store) Requeue(ctx context.Context, f driver.Filter) (int, error) {
	actor := driver.Actor(ctx)
	return s.act(ctx, f, func(w *work, list []located) (int, error) {
		var back []located
		n := 0
		for i := range list {
			l := &list[i]
			switch {
			case l.state != driver.Scheduled && !l.state.Final():
			case l.flags&flagUnique == 0 || !l.state.Final():
				back = append(back, *l)
			default:
				// One by one: of several jobs of one key the first that comes back holds it.
				ok, err := w.retake(l)
				if err == nil && ok {
					n++
					err = w.requeueAll(list[i:i+1], actor)
				}
				if err != nil {
					return 0, err
				}
			}
		}
		return n + len(back), w.requeueAll(back, actor)
	})
}

// act runs an operator's action on every job that matches, at most bulk of them per transaction.
func (s *Store) act(ctx context.Context, f driver.Filter, do action) (int, error) {
	if err := driver.CheckFilter(f); err != nil {
		return 0, err
	}
	for _, name := range []string{f.Queue, f.Kind, f.RecurringID, f.Tag} {
		if !storable(name) {
			return 0, s.usable(ctx) // no job has it
		}
	}
	if len(f.IDs) > 0 {
		return s.actOnIDs(ctx, f, do)
	}
	return s.actOnState(ctx, f, do)
}

func (s *Store) actOnIDs(ctx context.Context, f driver.Filter, do action) (int, error) {
	ids := slices.Clone(f.IDs)
	slices.Sort(ids)
	total := 0
	for chunk := range slices.Chunk(slices.Compact(ids), bulk) {
		n := 0
		err := s.do(ctx, func(w *work) (err error) {
			n, err = w.actAll(chunk, f, do)
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// actOnState walks the jobs of a state once, in the order of its table. Each transaction reads the next candidates and acts on those
// that still stand where they were read.
func (s *Store) actOnState(ctx context.Context, f driver.Filter, do action) (int, error) {
	at := newWalk(f)
	total := 0
	for !at.done {
		next, n := at, 0
		err := s.do(ctx, func(w *work) error {
			next = at
			ids, err := next.step(w)
			if err != nil {
				return err
			}
			n, err = w.actAll(ids, f, do)
			return err
		})
		if err != nil {
			return total, err
		}
		at = next
		total += n
	}
	return total, nil
}

func (w *work) actAll(ids []int64, f driver.Filter, do action) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	list, err := w.locateAll(ids)
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(l located) bool { return !matches(&l, f) })
	if len(list) == 0 {
		return 0, nil
	}
	return do(w, list)
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
	if err := checkStorable("queue name", queue); err != nil {
		return err
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
