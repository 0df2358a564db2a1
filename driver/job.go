package driver

import "time"

// Ref names one claim of one job. Claim grows by one with each claim and never goes back, so a Ref fences every write of a
// run: once the job was claimed again, or ended, writes under the old Ref have no effect.
type Ref struct {
	ID    int64
	Claim int32
}

// Parent is a dependency on another job: on the job ID, or, when ID is 0, on the job at position Index of the same Insert
// call. On says which of the parent's outcomes satisfy it.
type Parent struct {
	ID    int64
	Index int
	On    Mask
}

// InsertParams describes a job to insert. A store receives it complete: defaults are filled in and sizes are checked by the
// client.
type InsertParams struct {
	// Kind names the handler. It is not empty.
	Kind string
	// Queue is not empty.
	Queue string
	// Args is valid JSON, kept byte for byte.
	Args []byte
	// Meta is kept as it is; nil and empty are the same.
	Meta map[string]string
	// Tags are kept in order; nil and empty are the same.
	Tags []string
	// Title is cut to 200 bytes on a rune boundary.
	Title string
	// Priority: higher is claimed first inside a queue.
	Priority int16
	// MaxAttempts is at least 1.
	MaxAttempts int
	// Timeout limits one attempt. Zero leaves it to kind and server, negative means none. Stored in milliseconds, rounded up.
	Timeout time.Duration
	// RunAt is the earliest start. Zero means now plus Delay, by the store's clock.
	RunAt time.Time
	// Delay is added to the store's now when RunAt is zero. Negative counts as 0.
	Delay time.Duration
	// UniqueKey is a hash that at most one job holds at a time; empty means none.
	UniqueKey []byte
	// UniqueFor holds the key for that long after the insert, whatever becomes of the job; 0 holds it while the job is live
	// and not failed.
	UniqueFor time.Duration
	// UniqueReplace lets a duplicate replace the values of a holder that has not started.
	UniqueReplace bool
	// UniqueDebounce, when positive, is the delay that each duplicate sets anew.
	UniqueDebounce time.Duration
	// LimitKey names the limit that the job counts against; empty means none.
	LimitKey string
	// LimitMax is how many jobs of the key may be enqueued or processing at once; 0 is no cap when LimitRate is set.
	LimitMax int
	// LimitRate is how many jobs of the key may start per LimitPer; 0 is no rate.
	LimitRate int
	// LimitPer is the period of LimitRate, positive when LimitRate is set.
	LimitPer time.Duration
	// LimitBurst is how many jobs may start back to back, at least 1 when LimitRate is set.
	LimitBurst int
	// BatchID is the batch that the job joins; 0 is none.
	BatchID int64
	// AfterBatch is the batch whose end the job waits for; 0 is none.
	AfterBatch int64
	// Parents are the jobs that it waits for.
	Parents []Parent
	// RecurringID names the recurring job that fired it; empty for all others.
	RecurringID string
	// Deadline is the instant after which the job must not start; zero is none. A store may ignore it: then the engine's own
	// check before each start holds alone.
	Deadline time.Time
}

// Inserted is what became of one job of an Insert call.
type Inserted struct {
	// ID is the new job's id, or the holder's for a duplicate.
	ID int64
	// State is the job's first state, or the holder's, empty when that is not known.
	State State
	// Duplicate says that a unique key was held and no job was inserted.
	Duplicate bool
	// Replaced says that the duplicate's values went into the holder.
	Replaced bool
}

// Job is what a claim hands out and a list shows.
type Job struct {
	Ref
	Kind, Queue string
	// Args is the JSON that was inserted, byte for byte.
	Args  []byte
	Meta  map[string]string
	Tags  []string
	Title string
	// Priority: higher is claimed first inside a queue.
	Priority int16
	// Attempt is 0 before the first claim and counts from 1.
	Attempt, MaxAttempts int
	// Timeout is 0 when the job does not set one and negative for none.
	Timeout time.Duration
	// RunAt is when the job is or was due; it follows the job through retries.
	RunAt, CreatedAt time.Time
	// AttemptedAt is when the latest claim began, by the store's clock; zero before the first.
	AttemptedAt time.Time
	// BatchID is the batch that the job is a member of; 0 is none.
	BatchID int64
	// RecurringID names the recurring job that fired it, if one did.
	RecurringID string
	// Parents are the ids of the jobs that it depends on.
	Parents []int64
	// LimitKey is the limit that it counts against, if any.
	LimitKey string
}

// Record is everything a store knows of a job. Records in lists may omit History, Output and Children.
type Record struct {
	Job
	State State
	// FinalizedAt is set while the job is succeeded, failed or deleted and zero otherwise.
	FinalizedAt time.Time
	// Server is the server that claimed it last, empty before the first claim.
	Server string
	// CancelRequested says that the deletion of the running job was asked for.
	CancelRequested bool
	// AfterBatch is the batch whose end it waits for, if any.
	AfterBatch int64
	// PendingDeps counts the parents, and the batch, that are not resolved yet.
	PendingDeps int
	// History holds the latest entries, oldest first.
	History []Entry
	// Output is what a succeeded or deleted job left, nil if nothing.
	Output []byte
	// Children are the ids of the jobs that depend on it.
	Children []int64
	// Progress is the last percentage that a handler reported, 0 to 100.
	Progress int
}

// Entry is one line of a job's history.
type Entry struct {
	At time.Time
	// State is the state that the job moved to.
	State State
	// Attempt is the attempt that ended with this entry.
	Attempt int
	// Reason is a short word such as "retry" or "exhausted".
	Reason string
	// Error and Trace are the attempt's error and stack, cut to size.
	Error, Trace string
	// Server ran the attempt; empty for operators and dooms.
	Server string
	// Actor is who asked, for entries of operators; see WithActor.
	Actor string
}

// LogLine is one line of a job's console.
type LogLine struct {
	// Seq grows with the lines of one job.
	Seq     int64
	Attempt int
	At      time.Time
	Text    string
}

// Outcome is how a run ended.
type Outcome struct {
	Ref
	// State is succeeded, failed, deleted, scheduled or enqueued.
	State State
	// Delay, for scheduled, is how long from now; 0 or less means straight back to the queue.
	Delay time.Duration
	// Refund gives the attempt back.
	Refund bool
	// Reason adds a history entry when it is not empty.
	Reason string
	// Error and Trace go into that entry.
	Error, Trace string
	// Output is JSON, kept only when the job ends succeeded or deleted.
	Output []byte
}
