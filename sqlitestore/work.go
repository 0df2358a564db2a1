package sqlitestore

import (
	"context"
	sqldriver "database/sql/driver"
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

	lastID   int64
	idsRead  bool
	idsTaken bool
	stats    map[string]*counters
	events   []driver.Event
	seen     map[driver.Event]bool
	// signal is the number of the last signal written, 0 for none.
	signal int64
}

// counters are what one transaction adds to the statistics of a server.
type counters struct{ succeeded, failed, deleted, retried int64 }

func newWork(ctx context.Context, t *texts, db querier, now time.Time, origin int64) *work {
	return &work{runner: runner{ctx, db, t}, now: now, nowAt: storekit.Micros(now), origin: origin}
}

// takeIDs returns the id before the first of n new ones.
func (w *work) takeIDs(n int) (int64, error) {
	if !w.idsRead {
		if _, err := w.one("ids_last", nil, &w.lastID); err != nil {
			return 0, err
		}
		w.idsRead = true
	}
	first := w.lastID
	w.lastID += int64(n)
	w.idsTaken = true
	return first, nil
}

// event remembers to tell of something after the commit, once.
func (w *work) event(e driver.Event) {
	if n := len(w.events); n > 0 && w.events[n-1] == e {
		return
	}
	if w.seen == nil {
		w.seen = map[driver.Event]bool{}
	}
	if !w.seen[e] {
		w.seen[e] = true
		w.events = append(w.events, e)
	}
}

func (w *work) ready(queue string) { w.event(driver.Event{Kind: driver.JobsReady, Queue: queue}) }
func (w *work) scheduled(queue string) {
	w.event(driver.Event{Kind: driver.JobsScheduled, Queue: queue})
}

// count adds to the statistics of a server; operators' deletions have none.
func (w *work) count(server string, stat storekit.Stat, n int64) {
	if stat == storekit.NoStat || n == 0 {
		return
	}
	if w.stats == nil {
		w.stats = map[string]*counters{}
	}
	c := w.stats[server]
	if c == nil {
		c = &counters{}
		w.stats[server] = c
	}
	switch stat {
	case storekit.StatSucceeded:
		c.succeeded += n
	case storekit.StatFailed:
		c.failed += n
	case storekit.StatDeleted:
		c.deleted += n
	case storekit.StatRetried:
		c.retried += n
	}
}

// finish writes what the transaction writes once: the ids given out, the statistics, and the signals for other processes.
func (w *work) finish() error {
	if w.idsTaken {
		if err := w.exec("ids_take", w.lastID); err != nil {
			return err
		}
		w.idsTaken = false
	}
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
	var sum counters
	for server, c := range w.stats {
		if err := w.exec("stats_add", minute, server, c.succeeded, c.failed, c.deleted, c.retried); err != nil {
			return err
		}
		sum.succeeded += c.succeeded
		sum.failed += c.failed
		sum.deleted += c.deleted
		sum.retried += c.retried
	}
	w.stats = nil
	return w.exec("totals_add", sum.succeeded, sum.failed, sum.deleted, sum.retried)
}

// mostSignals is how many events of one transaction are written for other processes one by one; more become one Resync.
const mostSignals = 50

func (w *work) writeSignals() error {
	events := w.events
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
