package driver

import (
	"context"
	"time"
)

// ProblemReader is implemented by stores that can tell cheaply what needs a person.
type ProblemReader interface {
	// Problems reads what needs a person, each list at most limit long (0 or less means 20, more than 500 is cut to 500) and the
	// worst first. It reads indexes and bounded stretches of them only, however large the store is. A store looks at some
	// hundred queues, limit keys, kinds and recurring jobs at least, those that come first by name where there are more.
	Problems(ctx context.Context, limit int) (Problems, error)
}

// SilentAfter is how long after its last heartbeat a server counts as silent in what people are shown. Rescue has a bound of its
// own, which each server sets.
const SilentAfter = time.Minute

// Problems is what needs a person. A list is empty when there is nothing of its sort.
type Problems struct {
	// At is the store's clock when it was read.
	At time.Time
	// Unserved are queues with ready jobs that no live server works on, the longest waiting first.
	Unserved []ReadyQueue
	// Unhandled are kinds with ready jobs that no live server of their queue handles, the longest waiting first. They are found
	// among the first jobs of each queue and priority, up to a thousand of them: what no server takes stays in front. Queues without a
	// live server are left out.
	Unhandled []ReadyKind
	// Oldest are the queues that have ready jobs, the longest waiting first. Paused queues are left out.
	Oldest []ReadyQueue
	// Held are limit keys that hold jobs back, the most first.
	Held []HeldKey
	// Recurring are recurring jobs that are late or whose last job failed, late ones first.
	Recurring []RecurringProblem
	// Failures are the failed jobs by kind, the kind with the newest failure first.
	Failures []KindFailures
	// Silent are servers whose last heartbeat is older than SilentAfter, the longest silent first.
	Silent []ServerInfo
	// Paused are the paused queues, the longest paused first.
	Paused []PausedQueue
}

// ReadyQueue is a queue with ready jobs.
type ReadyQueue struct {
	Queue string
	// Since is when the job that waits longest became due, and Job its id, as far as the first jobs of each priority tell.
	Since time.Time
	Job   int64
	// Ready counts the enqueued jobs, exact up to 500 and the further the fewer queues are counted. Capped says that there may be
	// more.
	Ready  int64
	Capped bool
}

// ReadyKind is a kind with ready jobs in a queue.
type ReadyKind struct {
	Queue, Kind string
	// Since is when the job that waits longest became due, and Job its id.
	Since time.Time
	Job   int64
	// Ready counts those that were found among the first jobs, and Capped says that there may be more.
	Ready  int64
	Capped bool
}

// HeldKey is a limit key that holds jobs back.
type HeldKey struct {
	LimitInfo
	// Since is when the job that waits longest was due, as far as those tell that are admitted next, zero when the store does not
	// know.
	Since time.Time
	// Capped says that there may be more than Throttled.
	Capped bool
}

// RecurringProblem is a recurring job that is late or whose last job failed.
type RecurringProblem struct {
	ID string
	// Late says that it is not paused and its NextRunAt is more than SilentAfter ago.
	Late      bool
	NextRunAt time.Time
	// LastJobID is the job of its last run, and FailedAt when that failed for good, zero if it did not.
	LastJobID int64
	FailedAt  time.Time
}

// KindFailures are the failed jobs of one kind.
type KindFailures struct {
	Kind string
	// Failed counts the kind's failed jobs, exact up to 10,000, and Capped says that there are more.
	Failed int64
	Capped bool
	// LastHour and HourBefore count the failed jobs that failed in the last hour and in the one before it, up to 10,000 each.
	LastHour, HourBefore int64
	// First is when the oldest of the failed jobs failed, Last when the newest did, and Newest is that one's id.
	First, Last time.Time
	Newest      int64
	// Error is the error of the newest one's last attempt, which a store may cut to 500 bytes.
	Error string
}

// PausedQueue is a queue that gives out no jobs.
type PausedQueue struct {
	Queue string
	Since time.Time
	// Ready counts the enqueued jobs that wait in it, as in ReadyQueue.
	Ready  int64
	Capped bool
}
