package sqlitestore

import (
	"database/sql"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

const (
	// watchEvery is how often the writer looks for writes of others while anybody listens. A look is one pragma, about six
	// microseconds.
	watchEvery = 10 * time.Millisecond
	// keptSignals is how many signals stay in their table, trimEvery after how many new ones the older are removed.
	keptSignals = 10_000
	trimEvery   = 1_000
)

// watcher is the writer's memory of what others wrote. It runs in the writer's goroutine and on its connection, where
// data_version changes with every commit of another connection, and only then.
type watcher struct {
	due     bool
	lookAt  time.Time
	known   bool
	version int64
	// seen is the number of the last signal that this store has told its subscribers of, or has written itself.
	seen   int64
	placed bool
}

// forget is for a new connection, whose data_version begins anew.
func (w *watcher) forget() { w.known = false }

// overdue reports whether a writer that is busy should look around in between.
func (w *watcher) overdue() bool {
	return w.placed && time.Since(w.lookAt) >= watchEvery
}

// wrote remembers the last signal of the store's own transaction.
func (w *watcher) wrote(signal int64) {
	if signal == w.seen+1 {
		w.seen = signal
	}
}

// look asks whether anybody else has written and tells the subscribers what of it concerns them.
func (w *writer) look() {
	v := &w.watch
	v.due = false
	v.lookAt = time.Now()
	if w.session == nil && w.reopen() != nil {
		return
	}
	r := &runner{w.ctx, w.session, w.s.texts}
	if !v.placed {
		// What was written before the first subscription is covered by its Resync.
		if _, err := r.one("signals_last", nil, &v.seen); err != nil {
			w.lost(err)
			return
		}
		v.placed = true
	}
	var version int64
	err := each(r.ctx, r.db, "data_version", "pragma data_version", nil, func(rows *sql.Rows) error { return rows.Scan(&version) })
	if err != nil {
		w.lost(err)
		return
	}
	if v.known && version == v.version {
		return
	}
	if v.known {
		w.otherAt = v.lookAt
	}
	events, err := v.read(r, w.s.origin)
	if err != nil {
		w.lost(err)
		return
	}
	v.known, v.version = true, version
	w.s.hub.tell(events)
}

// read collects the signals of others since the last look.
func (v *watcher) read(r *runner, origin int64) (events []driver.Event, err error) {
	seen := v.seen
	err = r.each("signals_since", []any{seen}, func(rows *sql.Rows) error {
		var seq, from, kind int64
		var e driver.Event
		if err := rows.Scan(&seq, &from, &kind, &e.Queue, &e.ID); err != nil {
			return err
		}
		if seq > seen+1 {
			events = append(events[:0], driver.Event{Kind: driver.Resync}) // some are gone already
		}
		seen = seq
		e.Kind = driver.EventKind(kind)
		if n := len(events); from != origin && (n == 0 || events[n-1] != e) {
			events = append(events, e)
		}
		return nil
	})
	if err == nil {
		v.seen = seen
	}
	return events, err
}

func (w *writer) reopen() error {
	session, err := openSession(w.ctx, w.s.db)
	if err == nil {
		w.session = session
		w.watch.forget()
	}
	return err
}

// lost exchanges a connection that cannot be used any more.
func (w *writer) lost(err error) {
	if isLost(err) {
		w.drop()
	}
}
