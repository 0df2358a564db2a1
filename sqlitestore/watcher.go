package sqlitestore

import (
	"database/sql"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
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
	lookAt  time.Time
	known   bool
	version int64
	// seen is the number of the last signal, and job the id of the newest job, that this store has told its subscribers of
	// or has written itself. They are known once placed.
	seen, job int64
	placed    bool
	// listened says that there was a subscriber at the last look.
	listened bool
}

// forget is for a new connection, whose data_version begins anew.
func (w *watcher) forget() { w.known = false }

// wrote remembers what the store's own transaction wrote.
func (w *watcher) wrote(work *work) {
	if work.signal == w.seen+1 {
		w.seen = work.signal
	}
	if work.firstID == w.job+1 && work.lastID > w.job {
		w.job = work.lastID
	}
}

// look asks, at most every watchEvery and only while anybody listens, whether anybody else has written, and tells the
// subscribers what of it concerns them. A new subscriber is told to look for itself once the watcher knows from where on it
// will tell: so nothing falls between the two. A busy writer may look a little later: what it has just written is often
// answered by the next call at once, which would wait for the look.
func (w *writer) look(busy bool) {
	arrived, listened := w.s.hub.arrivals()
	if !listened {
		w.watch.listened = false
		return
	}
	every := watchEvery
	if busy {
		every = 2 * watchEvery
	}
	if !arrived && time.Since(w.watch.lookAt) < every {
		return
	}
	w.watch.lookAt = time.Now()
	if !w.watch.listened {
		w.watch.placed, w.watch.listened = false, true
	}
	events, err := w.news()
	if err != nil {
		if w.session != nil && isLost(err) {
			w.drop()
		}
		return
	}
	w.s.hub.tell(events)
	w.s.hub.welcome()
}

// news reads what others have written since the last look.
func (w *writer) news() ([]driver.Event, error) {
	v := &w.watch
	if w.session == nil {
		if err := w.connect(w.ctx); err != nil {
			return nil, err
		}
	}
	r := &runner{w.ctx, w.session, w.s.texts}
	var version int64
	err := each(r.ctx, r.db, "data_version", "pragma data_version", nil, func(rows *sql.Rows) error { return rows.Scan(&version) })
	if err != nil {
		return nil, err
	}
	var events []driver.Event
	switch {
	case !v.placed:
		// What was written before the first subscription is covered by its Resync.
		_, err = r.one("watch_place", nil, &v.seen, &v.job)
	case !v.known || version != v.version:
		if v.known {
			w.otherAt = v.lookAt
		}
		events, err = v.read(r, w.s.origin)
	}
	if err == nil {
		v.placed, v.known, v.version = true, true, version
	}
	return events, err
}

// read collects what concerns subscribers among what others have written since the last look.
func (v *watcher) read(r *runner, origin int64) ([]driver.Event, error) {
	var events storekit.EventSet
	if err := v.readJobs(r, &events); err != nil {
		return nil, err
	}
	err := v.readSignals(r, origin, &events)
	return events.List, err
}

// mostNewJobs is how many new jobs are looked at one by one; when there are more, all queues with ready or scheduled jobs
// are told.
const mostNewJobs = 1000

func (v *watcher) readJobs(r *runner, events *storekit.EventSet) error {
	job, n := v.job, 0
	add := func(rows *sql.Rows) error {
		var id int64
		var e driver.Event
		var scheduled bool
		if err := rows.Scan(&id, &e.Queue, &scheduled); err != nil {
			return err
		}
		e.Kind = driver.JobsReady
		if scheduled {
			e.Kind = driver.JobsScheduled
		}
		events.Add(e)
		job = max(job, id)
		n++
		return nil
	}
	if err := r.each("watch_jobs", []any{job, int64(mostNewJobs)}, add); err != nil {
		return err
	}
	if n == mostNewJobs {
		if err := r.each("watch_queues", nil, add); err != nil {
			return err
		}
	}
	v.job = job
	return nil
}

func (v *watcher) readSignals(r *runner, origin int64, events *storekit.EventSet) error {
	seen := v.seen
	err := r.each("watch_signals", []any{seen}, func(rows *sql.Rows) error {
		var seq, from, kind int64
		var e driver.Event
		if err := rows.Scan(&seq, &from, &kind, &e.Queue, &e.ID); err != nil {
			return err
		}
		if seq > seen+1 {
			events.Add(driver.Event{Kind: driver.Resync}) // some are gone already
		}
		seen = seq
		e.Kind = driver.EventKind(kind)
		if from != origin {
			events.Add(e)
		}
		return nil
	})
	if err == nil {
		v.seen = seen
	}
	return err
}
