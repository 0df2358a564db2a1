package storekit

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Running is what Settle must know of the processing job that an outcome ends.
type Running struct {
	// Attempt is the attempt that ran, and StartedAt when it was claimed.
	Attempt   int
	StartedAt time.Time
	// Server is the server that ran it.
	Server string
	// Cancel says that the job's deletion was asked for.
	Cancel bool
	// Limited says that the job has a limit key.
	Limited bool
}

// Settled is what an outcome does to its job.
type Settled struct {
	// State is the state to move to: succeeded, failed, deleted, scheduled, enqueued or throttled.
	State driver.State
	// RunAt is the new run time, zero when the job keeps the one it has.
	RunAt time.Time
	// FinalizedAt is now for succeeded, failed and deleted, and zero otherwise.
	FinalizedAt time.Time
	// Attempt is the attempt counter after the outcome.
	Attempt int
	// Output is what to keep, nil for nothing.
	Output []byte
	// Entry is the history entry to add, when HasEntry.
	Entry    driver.Entry
	HasEntry bool
	// StartedAt is when the attempt began that the entry ends.
	StartedAt time.Time
	// Stat is the statistic to count.
	Stat Stat
}

// Stat names a column of the statistics.
type Stat uint8

// The columns of the statistics.
const (
	NoStat Stat = iota
	StatSucceeded
	StatFailed
	StatDeleted
	StatRetried
)

// Settle decides what an outcome means for a job that is processing under the outcome's claim. It is false when the outcome
// cannot be stored and must be answered with Rejected.
func Settle(out *driver.Outcome, job Running, now time.Time) (Settled, bool) {
	state, reason := out.State, out.Reason
	switch state {
	case driver.Succeeded, driver.Failed, driver.Deleted, driver.Scheduled, driver.Enqueued:
	default:
		return Settled{}, false
	}
	if len(out.Output) > 0 && !driver.ValidJSON(out.Output) {
		return Settled{}, false
	}
	s := Settled{Attempt: job.Attempt}
	if out.Refund && s.Attempt > 0 {
		s.Attempt--
	}
	if job.Cancel && state != driver.Succeeded && state != driver.Deleted {
		state, reason = driver.Deleted, "canceled"
	}
	s.Stat = stat(state, out.Refund)
	switch {
	case state == driver.Scheduled && out.Delay > 0:
		s.RunAt = Stamp(Later(now, out.Delay))
	case state == driver.Scheduled, state == driver.Enqueued:
		s.RunAt = now
		state = driver.Enqueued
		if job.Limited {
			state = driver.Throttled
		}
	default:
		s.FinalizedAt = now
	}
	s.State = state
	if state.Archived() && len(out.Output) > 0 {
		s.Output = out.Output
	}
	if reason != "" {
		s.HasEntry, s.StartedAt = true, job.StartedAt
		s.Entry = CleanEntry(driver.Entry{
			At: now, State: state, Attempt: job.Attempt, Reason: reason,
			Error: out.Error, Trace: out.Trace, Server: job.Server,
		})
	}
	return s, true
}

func stat(state driver.State, refund bool) Stat {
	switch state {
	case driver.Succeeded:
		return StatSucceeded
	case driver.Failed:
		return StatFailed
	case driver.Deleted:
		return StatDeleted
	case driver.Scheduled:
		if !refund {
			return StatRetried
		}
	}
	return NoStat
}
