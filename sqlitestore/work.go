package sqlitestore

import (
	"context"
	sqldriver "database/sql/driver"
	"sync/atomic"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

var errBadConn = sqldriver.ErrBadConn

// work is one transaction while it is written: where its statements run, the one instant that it stamps, and what is
// written once for all of it at its end.
type work struct {
	runner
	origin int64

	now   time.Time
	nowAt int64

	// firstID and lastID bound the ids that were given out, the first at firstAt; idsRead says that they are known.
	// given is the newest id that the store has ever given out, in transactions that were rolled back, too.
	firstID, lastID int64
	firstAt         int64
	given           *atomic.Int64
	idsRead         bool
	// admitting lets an insert make limited jobs ready for which there is room.
	admitting bool
	stats     storekit.ServerCounts
	flow      flow
	// events are told to this process after the commit. Those that a look at new jobs does not show are also written as
	// signals for other processes; signal is the number of the last one.
	events, signals storekit.EventSet
	signal          int64
	// limits are the limit keys that the running call touched, and how it changes their counters. admitted is how many jobs left
	// throttled; gained, unless nil, collects the queues that get ready jobs.
	limits   map[string]shift
	known    map[string]waitingKey
	admitted int
	gained   map[string]bool
}

func (s *Store) newWork(ctx context.Context, db querier, origin int64) *work {
	now := s.clock.now()
	return &work{runner: runner{ctx, db, s.texts}, now: now, nowAt: storekit.Micros(now), origin: origin, given: &s.given}
}

// takeIDs returns the id before the first of n new ones. Ids go on from the newest job, or from the newest that was pruned:
// so an insert writes no counter, which would be one more page of its transaction.
func (w *work) takeIDs(n int) (int64, error) {
	if !w.idsRead {
		if _, err := w.one("ids_last", nil, &w.lastID); err != nil {
			return 0, err
		}
		w.idsRead = true
		w.lastID = max(w.lastID, w.given.Load())
		w.firstID, w.firstAt = w.lastID+1, w.nowAt
	}
	before := w.lastID
	w.lastID += int64(n)
	for given := w.given.Load(); given < w.lastID && !w.given.CompareAndSwap(given, w.lastID); {
		given = w.given.Load()
	}
	return before, nil
}

// event remembers to tell of something after the commit, in this process and in others.
func (w *work) event(e driver.Event) {
	w.events.Add(e)
	w.signals.Add(e)
}

func (w *work) ready(queue string) {
	if w.gained != nil {
		w.gained[queue] = true
	}
	w.event(driver.Event{Kind: driver.JobsReady, Queue: queue})
}
func (w *work) scheduled(queue string) {
	w.event(driver.Event{Kind: driver.JobsScheduled, Queue: queue})
}

// count adds to the statistics of a server; operators' deletions have none.
func (w *work) count(server string, stat storekit.Stat, n int64) { w.stats.Add(server, stat, n) }

// finish writes what the transaction writes once: the statistics, and the signals for other processes.
func (w *work) finish() error {
	if err := w.writeStats(); err != nil {
		return err
	}
	return w.writeSignals()
}

func (w *work) writeStats() error {
	if len(w.stats) == 0 {
		return nil
	}
	minute := storekit.Minute(w.now)
	var sum storekit.Counts
	for server, c := range w.stats {
		if err := w.exec("stats_add", minute, server, c.Succeeded, c.Failed, c.Deleted, c.Retried); err != nil {
			return err
		}
		sum.Succeeded += c.Succeeded
		sum.Failed += c.Failed
		sum.Deleted += c.Deleted
		sum.Retried += c.Retried
	}
	w.stats = nil
	return w.exec("totals_add", sum.Succeeded, sum.Failed, sum.Deleted, sum.Retried)
}

// mostSignals is how many events of one transaction are written for other processes one by one; more become one Resync.
const mostSignals = 50

func (w *work) writeSignals() error {
	events := w.signals.List
	if len(events) > mostSignals {
		events = []driver.Event{{Kind: driver.Resync}}
	}
	for _, e := range events {
		res, err := w.db.ExecContext(w.ctx, w.texts.SQL("signals_add"), w.origin, int64(e.Kind), e.Queue, e.ID)
		if err != nil {
			return named("signals_add", err)
		}
		if w.signal, err = res.LastInsertId(); err != nil {
			return named("signals_add", err)
		}
		if w.signal%trimEvery == 0 {
			if err := w.exec("signals_trim", w.signal-keptSignals); err != nil {
				return err
			}
		}
	}
	return nil
}
