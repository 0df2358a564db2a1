package storekit

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// RunAt is the run time that a new job is stored with: an explicit one as given, otherwise now plus the delay. A debounce takes
// the place of both.
func RunAt(p *driver.InsertParams, now time.Time) time.Time {
	if len(p.UniqueKey) > 0 && p.UniqueDebounce > 0 {
		return Stamp(Later(now, p.UniqueDebounce))
	}
	if !p.RunAt.IsZero() {
		return Stamp(p.RunAt)
	}
	return Stamp(Later(now, p.Delay))
}

// Ready is the state of a job whose dependencies are resolved: scheduled while its run time is in the future, throttled with
// a limit key, otherwise enqueued.
func Ready(runAt, now time.Time, limited bool) driver.State {
	switch {
	case runAt.After(now):
		return driver.Scheduled
	case limited:
		return driver.Throttled
	}
	return driver.Enqueued
}

// FirstState is the state that a job is inserted in.
func FirstState(doomed bool, pending int, runAt, now time.Time, limited bool) driver.State {
	switch {
	case doomed:
		return driver.Deleted
	case pending > 0:
		return driver.Awaiting
	}
	return Ready(runAt, now, limited)
}
