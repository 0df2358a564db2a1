package dashboard

import "time"

// countsView is how many jobs stand in each state.
type countsView struct {
	Awaiting   int64 `json:"awaiting"`
	Scheduled  int64 `json:"scheduled"`
	Throttled  int64 `json:"throttled"`
	Enqueued   int64 `json:"enqueued"`
	Processing int64 `json:"processing"`
	Failed     int64 `json:"failed"`
	Retries    int64 `json:"retries"`
	Succeeded  int64 `json:"succeeded"`
	Deleted    int64 `json:"deleted"`
	Capped     bool  `json:"capped"`
}

// overviewView is what the overview's tiles say.
type overviewView struct {
	Counts       countsView `json:"counts"`
	Servers      int        `json:"servers"`
	Workers      int        `json:"workers"`
	Running      int        `json:"running"`
	Queues       int        `json:"queues"`
	PausedQueues int        `json:"paused_queues"`
	Recurring    int        `json:"recurring"`
}

// seriesView is the chart: evenly spaced points, zero-filled, the last one holding now.
type seriesView struct {
	// Step is in seconds.
	Step   int64       `json:"step"`
	Points []pointView `json:"points"`
}

type pointView struct {
	At        time.Time `json:"at"`
	Succeeded int64     `json:"succeeded"`
	Failed    int64     `json:"failed"`
	Deleted   int64     `json:"deleted"`
	Retried   int64     `json:"retried"`
}

// The kinds of problems, in the order in which the overview lists them.
const (
	problemUnserved        = "queue_unserved"   // a queue with ready jobs and no live server
	problemUnhandled       = "kind_unhandled"   // a kind with ready jobs that no live server handles
	problemFailures        = "failures"         // failed jobs of one kind
	problemRecurringLate   = "recurring_late"   // a recurring job that should have run
	problemRecurringFailed = "recurring_failed" // a recurring job whose last job failed
	problemWaits           = "queue_waits"      // a queue whose oldest job waits too long
	problemHeld            = "limit_held"       // a limit key that holds many jobs back
	problemSilent          = "server_silent"    // a server that sends no heartbeats
	problemPaused          = "queue_paused"     // a paused queue
)

// problemsView is what needs a person, the worst first.
type problemsView struct {
	At       time.Time     `json:"at"`
	Problems []problemView `json:"problems"`
	// Missing names the kinds of problems that the store cannot tell of.
	Missing []string `json:"missing"`
}

// problemView is one row of the list: a cause, its size, since when.
type problemView struct {
	Kind string `json:"kind"`
	// Name is the queue, job kind, limit key, recurring job or server that it is about.
	Name string `json:"name"`
	// Queue is the queue of an unhandled kind.
	Queue string `json:"queue,omitempty"`
	// Since is when it began. FirstSeen says that the store does not know, and that it is when this process first saw it.
	Since     time.Time `json:"since,omitzero"`
	FirstSeen bool      `json:"first_seen,omitempty"`
	// Count is how many jobs are concerned; Capped that there are more.
	Count  int64 `json:"count,omitempty"`
	Capped bool  `json:"capped,omitempty"`
	// Job is the newest failure, the job that waits longest, or the last job of a recurring one.
	Job int64 `json:"job,omitempty"`
	// Error is the error of the newest failure.
	Error string `json:"error,omitempty"`
	// Last is when the newest failure happened. LastHour and HourBefore are the trend of failures.
	Last       time.Time `json:"last,omitzero"`
	LastHour   int64     `json:"last_hour,omitempty"`
	HourBefore int64     `json:"hour_before,omitempty"`
	// Limit is the rule and the use of a limit key.
	Limit *limitView `json:"limit,omitempty"`
}
