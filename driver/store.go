package driver

import (
	"context"
	"time"
)

// Store is the whole contract. See the package comment for what holds for every method.
type Store interface {
	Writer
	Worker
	Coordinator
	Admin
	Inspector
}

// Writer inserts. A [TxWriter] does the same inside of an application's transaction.
type Writer interface {
	// Insert stores jobs and returns one result per job, in order. It is all or nothing, except that a duplicate of a unique
	// key is answered instead of inserted; an error leaves nothing behind, replaced holders included. Only after ErrUnknown, and
	// after an error of a context that ended meanwhile, all of it may have happened.
	//
	// Ids are above 0, increase with the position in the call, also where an earlier job waits for a later one, and are never
	// used again. The first state is, in this order: deleted when a parent is already final in a way that dooms the job;
	// awaiting when a dependency is open; scheduled when the run time is in the future; throttled with a limit key;
	// enqueued. A job with a limit may be reported throttled though it was admitted at once.
	//
	// Errors: those of [CheckInsert]; ErrNotFound for a missing parent or batch; ErrClosed for a finished batch; ErrTooLarge
	// or ErrInvalid for what the store itself cannot keep.
	//
	// After the commit it publishes JobsReady once for each queue that got enqueued jobs. A failure to publish never fails
	// the call. No jobs: nil, nil.
	Insert(ctx context.Context, jobs []InsertParams) ([]Inserted, error)
	// OpenBatch opens a batch and returns its id, which is above 0. With a Parent it nests, also in a sealed parent while that
	// is unfinished. Errors: ErrNotFound for a missing parent, ErrClosed for a finished one. A refused open leaves nothing.
	OpenBatch(ctx context.Context, b NewBatch) (int64, error)
	// SealBatch says that the batch's creator adds no more. It finishes the batch when nothing in it is live, and releases
	// and admits the jobs that wait for it. Sealing again changes nothing. An unknown batch is ErrNotFound.
	SealBatch(ctx context.Context, id int64) error
}

// Worker is what running jobs needs.
type Worker interface {
	// Claim hands out up to q.Limit enqueued jobs, durably, and never the same job twice. Jobs come back in the order in which
	// they were taken: q.Queues in order, inside a queue by priority, highest first, then by id. Paused queues and kinds not
	// in q.Kinds are passed over. A claim raises Attempt and Claim by one (both are 1 at first), stamps AttemptedAt, sets the
	// server, and clears an old cancel flag.
	//
	// It returns fewer than asked only beside concurrent callers or when no more are ready: in a quiet store one call takes
	// everything up to Limit, jobs that came back a moment ago included. A Limit of 0 or less takes none. A row that cannot be decoded is
	// returned with what could be read, so that the caller can fail it.
	Claim(ctx context.Context, q ClaimQuery) ([]Job, error)
	// Finish writes how runs ended and returns one result per outcome, in order. Outcomes are independent of each other. An
	// outcome applies only while its job is processing under its claim, whoever calls; server only names the statistics row.
	// Everything else (unknown id, other claim, claim 0, not processing, already finished) is Stale. The same Ref twice in
	// one call: the first counts, the rest is Stale.
	//
	// Adjustments: any outcome but a success of a job whose deletion was asked for becomes deleted, with the reason
	// "canceled" unless it was a deletion already; scheduled with Delay <= 0 becomes enqueued; enqueued with a limit key
	// becomes throttled and is admitted like the others. Refund lowers Attempt, not below 0, and never Claim. Output is kept
	// for succeeded and deleted only, until a requeue. A state outside of the five, and a value that cannot be stored, such
	// as output that is not JSON, is Rejected: the job stays processing and the others apply. A row locked elsewhere is Busy.
	//
	// History, unique keys, limits, dependents, batches and statistics change in the same transaction. After the commit it
	// publishes JobsReady for every queue that gained a job. An error means that nothing is known; sending the same outcomes
	// again is safe, since applied ones then come back Stale.
	Finish(ctx context.Context, server string, outs []Outcome) ([]Result, error)
	// Heartbeat writes the server's row with all its fields and HeartbeatAt = now. StartedAt is kept as the first heartbeat
	// gave it, or stamped then. It returns the leases of this server's processing jobs, by id, and all paused queues.
	Heartbeat(ctx context.Context, s ServerInfo) (Directives, error)
	// Unregister removes the server's row and resigns every lease that it holds. Its processing jobs are orphans at once. An
	// unknown server is no error.
	Unregister(ctx context.Context, server string) error
	// SetMeta merges keys into the meta of a processing job. It is ErrLost unless the job is processing under ref.
	SetMeta(ctx context.Context, ref Ref, meta map[string]string) error
}

// Coordinator is what servers do for each other.
type Coordinator interface {
	// Now reads the store's clock.
	Now(ctx context.Context) (time.Time, error)
	// Lead acquires or renews the named lease for holder, so that it expires ttl from now, also when that is sooner than
	// before. held is how long holder has owned it without a break: 0 on acquisition, on takeover, and when it had expired
	// before this renewal. While another holder's lease lives, ok is false. Names are independent of each other.
	Lead(ctx context.Context, name, holder string, ttl time.Duration) (held time.Duration, ok bool, err error)
	// Resign releases the lease if holder owns it, and does nothing otherwise. An unknown name is no error.
	Resign(ctx context.Context, name, holder string) error
	// Promote moves up to limit due jobs, earliest first, from scheduled to enqueued, or to throttled and through admission.
	// It also deletes up to limit waiting jobs whose Deadline has passed, with the reason "deadline"; they are not in Count.
	// Locked rows are skipped. It publishes JobsReady for the queues that got jobs.
	Promote(ctx context.Context, limit int) (Promoted, error)
	// Orphans lists up to limit processing jobs, by id, whose server has no row or has not sent a heartbeat for deadAfter. It
	// changes nothing.
	Orphans(ctx context.Context, deadAfter time.Duration, limit int) ([]Orphan, error)
	// Sweep repairs what a lost process left half done: stranded dependencies, ready awaiting jobs, doomed jobs, idle sealed
	// batches, limit counters. It touches at most limit rows and returns how many it changed, 0 on a consistent store.
	Sweep(ctx context.Context, limit int) (int, error)
	// Prune removes what retention allows, up to the limit per table, and returns the rows removed as users see them: a job
	// counts once, whatever it owns. All-time totals never change.
	Prune(ctx context.Context, p PruneParams) (int, error)
	// Due lists up to limit recurring jobs that are not paused and whose NextRunAt has come, and the store's time.
	Due(ctx context.Context, limit int) ([]Recurring, time.Time, error)
	// Fire inserts the jobs of one step and moves the schedule on, in one transaction, if the recurring job still has
	// f.Version: otherwise ErrConflict, or ErrNotFound. LastJobID becomes the id of the last result and is kept when there is none.
	Fire(ctx context.Context, f Fire) ([]Inserted, error)
}

// Admin is what operators do.
type Admin interface {
	// Delete deletes the live jobs that match and returns how many. A processing job is only flagged: its server hears by
	// CancelRequested or with its next heartbeat, and counts once. Archived jobs are left alone. See [CheckFilter].
	Delete(ctx context.Context, f Filter) (int, error)
	// Requeue sends failed, succeeded and deleted jobs back to their queues with Attempt 0, and scheduled ones with the
	// Attempt they have, MaxAttempts raised to Attempt+1 if lower. RunAt becomes now; cancel flag and output go; progress,
	// title, console and claim counter stay. Other states are skipped. It returns how many jobs it moved.
	Requeue(ctx context.Context, f Filter) (int, error)
	// PauseQueue stores or removes the pause of a queue. Claims respect it at once. An empty name is ErrInvalid.
	PauseQueue(ctx context.Context, queue string, paused bool) error
	// Recurring returns one recurring job, or ErrNotFound.
	Recurring(ctx context.Context, id string) (Recurring, error)
	// PutRecurring creates the recurring job when r.Version is 0 and otherwise replaces the one that has this version:
	// ErrConflict when there is none.
	PutRecurring(ctx context.Context, r Recurring) error
	// RemoveRecurring removes it, or returns ErrNotFound. Jobs that it inserted stay.
	RemoveRecurring(ctx context.Context, id string) error
}

// Inspector reads.
type Inspector interface {
	// Job returns everything about one job, or ErrNotFound.
	Job(ctx context.Context, id int64) (Record, error)
	// Jobs returns a page of jobs in one state: scheduled by run time and id; enqueued and throttled by priority, highest
	// first, and id; succeeded, failed and deleted by FinalizedAt and id, latest first; awaiting and processing by id, latest
	// first. A state that is not one of the eight and a broken cursor are ErrInvalid.
	Jobs(ctx context.Context, q JobQuery) (Page, error)
	// Counts reads all states in one snapshot, so that a job that moves meanwhile is never counted in two.
	Counts(ctx context.Context) (Counts, error)
	// Series returns statistics in buckets of step, which is a positive multiple of a minute, else ErrInvalid. Buckets are
	// aligned to the epoch, ascend, begin with the one that holds from and hold the minutes that start before to. Empty ones
	// are left out.
	Series(ctx context.Context, from, to time.Time, step time.Duration) ([]Point, error)
	// Servers lists servers by id, silent ones included until Prune removes them.
	Servers(ctx context.Context) ([]ServerInfo, error)
	// Queues lists the queues that have live jobs, a pause, or a server, each once, by name.
	Queues(ctx context.Context) ([]QueueInfo, error)
	// Recurrings lists recurring jobs by id.
	Recurrings(ctx context.Context) ([]Recurring, error)
	// Batch returns one batch, or ErrNotFound.
	Batch(ctx context.Context, id int64) (Batch, error)
	// Batches returns a page of batches, newest first. A broken cursor is ErrInvalid.
	Batches(ctx context.Context, q BatchQuery) (BatchPage, error)
}
