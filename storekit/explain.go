package storekit

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Bounds of what Explain reads.
const (
	// MaxOpenParents is how many open parents an Explanation names.
	MaxOpenParents = 20
	// ThrottledCap is where the count of a limit key's waiting jobs stops.
	ThrottledCap = 10_000
)

// Line is where a job stands among those that wait under its limit key.
type Line struct {
	// Granted says that the job waits with a reserved start that has come.
	Granted bool
	// Ahead counts those that come before it, GrantedAhead those of them that have a reserved start.
	Ahead, GrantedAhead int
}

// ExpectedStart is the earliest start that the rate of a limit leaves to a job that waits under its key. It is the zero time when the
// rate does not hold it back, or there is none: when it starts depends then on when others end.
func (r Rule) ExpectedStart(c Clocks, line Line, now time.Time) time.Time {
	if !r.Rated() {
		return time.Time{}
	}
	t := now.UnixNano()
	// Those ahead that have a start took it off the clock before; the others take theirs first. A job that has a start itself follows
	// those that have started.
	clock, before, early := c.TAT, line.Ahead-line.GrantedAhead, r.tolerance()
	if line.Granted {
		clock, before, early = c.AdmitTAT, line.Ahead, early+r.interval()/2
	}
	at := after(max(clock, t), r.intervals(before)) - early
	if at <= t {
		return time.Time{}
	}
	return instantUp(at)
}

// intervals is n times the interval, or the longest time that there is.
func (r Rule) intervals(n int) int64 {
	i := r.interval()
	if i > 0 && int64(n) > longest/i {
		return longest
	}
	return int64(n) * i
}

// Waits reports whether a job in this state waits for something other than an operator.
func Waits(state driver.State) bool {
	switch state {
	case driver.Awaiting, driver.Scheduled, driver.Throttled, driver.Enqueued:
		return true
	}
	return false
}

// ExplainServers fills in whether live servers work on the job's queue and handle its kind.
func ExplainServers(x *driver.Explanation, servers []driver.ServerInfo, queue, kind string) {
	served := ServedBy(servers, x.At)
	x.QueueServed, x.KindServed = served.Queue(queue), served.Kind(queue, kind)
}

// ExplainBatch fills in the batch that a job waits for, if that has not finished. active counts its enqueued and processing members,
// where its Counts do not have them.
func ExplainBatch(x *driver.Explanation, b *driver.Batch, active int64) {
	if !b.FinishedAt.IsZero() {
		return
	}
	live := active + b.Nested - b.NestedFinished
	for state, n := range b.Counts {
		if state.Live() {
			live += n
		}
	}
	x.AfterBatch, x.BatchLive, x.BatchSealed = b.ID, live, b.Sealed
}
