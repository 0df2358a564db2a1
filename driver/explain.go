package driver

import (
	"context"
	"time"
)

// Explainer is implemented by stores that can tell why a job is where it is.
type Explainer interface {
	// Explain reads why a live job has not ended yet. For a job that is archived, and for a failed one, which waits for a person,
	// the State says it all; an unknown one is ErrNotFound. It reads indexes and bounded stretches of them only.
	Explain(ctx context.Context, id int64) (Explanation, error)
}

// AheadCap is how far an Explainer counts the jobs that stand before another.
const AheadCap = 1000

// Explanation is why a job is where it is. What does not concern a job in its state is zero.
type Explanation struct {
	// At is the store's clock when it was read.
	At    time.Time
	State State
	// Parents are the open parents of an awaiting job, by id, at most 20 of them; OpenParents counts all. A parent that failed is
	// open while it may be requeued, unless On has OnFailed.
	Parents     []OpenParent
	OpenParents int
	// AfterBatch is the unfinished batch that an awaiting job waits for, 0 for none; BatchLive counts what in that batch has not
	// ended: its live jobs and unfinished nested batches. A batch with none is one that is not sealed yet.
	AfterBatch  int64
	BatchLive   int64
	BatchSealed bool
	// Limit is the limit key of a job that waits or is processing, its rule and its use, nil for a job without one. Its Throttled is
	// exact up to 10,000.
	Limit *LimitInfo
	// Ahead counts the jobs that come before it: of the same limit key for a throttled job, of the same queue for an enqueued one.
	// It stops at AheadCap.
	Ahead int
	// ExpectedAt is when the job may start at the earliest, as far as that can be known: the run time of a scheduled job, the
	// start that the rate of its limit leaves to a throttled one behind those ahead of it. Zero when it depends on when others end
	// alone.
	ExpectedAt time.Time
	// Paused says that the queue of a job that waits is paused, and PausedAt since when.
	Paused   bool
	PausedAt time.Time
	// QueueServed says that a live server works on the job's queue, KindServed that one of those handles its kind. Both are set for
	// jobs that wait: awaiting, scheduled, throttled and enqueued ones. A server is live that is not silent, as SilentAfter says, and
	// one that names no kinds handles all.
	QueueServed, KindServed bool
	// HeartbeatAt is the last heartbeat of the server that runs a processing job, zero when that server has no row.
	HeartbeatAt time.Time
}

// OpenParent is a job that another waits for.
type OpenParent struct {
	ID    int64
	State State
	Kind  string
	Title string
	// On says which outcomes of it are waited for.
	On Mask
}
