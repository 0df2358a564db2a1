package pgstore

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// work is one transaction while it is written: where its statements run, the one instant that it stamps, and what is
// written once for all of it at its end.
type work struct {
	runner
	store *Store

	now   time.Time
	nowAt int64

	// foreign says that the transaction is an application's, or runs an application's function: it may stay open for long, so it
	// takes no locks that servers or other applications need, and leaves what follows from it to be taken in after its commit.
	foreign bool
	// opened are the batches that such a transaction has opened.
	opened map[int64]bool
	// arrivals is what it has brought, and left says that something was written down of it.
	arrivals arrivals
	left     bool
	// unfinished says that a batch was not finished, since somebody was joining it.
	unfinished bool
	// admitting lets an insert make limited jobs ready for which there is room.
	admitting bool

	stats storekit.ServerCounts
	flow  flow
	// events are told after the commit; lowest are the lowest new ready ids by lane.
	events storekit.EventSet
	lowest lowestIDs
	// limits are the limit keys that the running call touched, and how it changes their counters. admitted is how many jobs left
	// throttled; gained, unless nil, collects the queues that get ready jobs.
	limits   map[string]shift
	admitted int
	gained   map[string]bool
}

// event remembers to tell of something after the commit.
func (w *work) event(e driver.Event) { w.events.Add(e) }

// ready remembers that a job has become ready. The lowest id of a lane tells claims where to look.
func (w *work) ready(queue string, rank int32, id int64) {
	if w.gained != nil {
		w.gained[queue] = true
	}
	w.lowest.note(laneKey{queue, rank}, id)
	w.event(driver.Event{Kind: driver.JobsReady, Queue: queue})
}

func (w *work) scheduled(queue string) {
	w.event(driver.Event{Kind: driver.JobsScheduled, Queue: queue})
}

// count adds to the statistics of a server; operators' deletions have none.
func (w *work) count(server string, stat storekit.Stat, n int64) { w.stats.Add(server, stat, n) }

// finish writes what the transaction writes once.
func (w *work) finish() error {
	minute := storekit.Minute(w.now)
	for server, c := range w.stats {
		if err := w.exec("counts_add", minute, server, c.Succeeded, c.Failed, c.Deleted, c.Retried); err != nil {
			return err
		}
	}
	w.stats = nil
	return nil
}
