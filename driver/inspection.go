package driver

import "time"

// Filter selects jobs for an operator's action. Every field that is set must match. IDs or State is required.
type Filter struct {
	IDs         []int64
	State       State
	Queue, Kind string
	BatchID     int64
	RecurringID string
	// Tag matches jobs that carry exactly this tag.
	Tag string
}

// JobQuery selects a page of jobs in one state.
type JobQuery struct {
	// State is required.
	State       State
	Queue, Kind string
	BatchID     int64
	// Tag matches jobs that carry exactly this tag.
	Tag string
	// Retries, with State scheduled, selects only jobs that wait for a retry.
	Retries bool
	// Limit is the page's size: 0 means 20, more than 500 is cut to 500.
	Limit int
	// Cursor is the Next of the page before, empty for the first.
	Cursor string
}

// Page is one page of jobs.
type Page struct {
	Records []Record
	// Next is the cursor of the following page, empty on the last.
	Next string
}

// Counts is how many jobs stand in each state. Succeeded and Deleted are all-time totals; the others count rows, exact up to
// 100,000 each.
type Counts struct {
	Awaiting, Scheduled, Throttled, Enqueued, Processing, Failed int64
	// Retries is the part of Scheduled that waits for a retry.
	Retries            int64
	Succeeded, Deleted int64
	// Capped says that a count stopped at 100,000.
	Capped bool
}

// Point is one bucket of the statistics.
type Point struct {
	// At is the bucket's start, in UTC.
	At time.Time
	// Failed counts final failures; Retried counts attempts that ended in a retry.
	Succeeded, Failed, Deleted, Retried int64
}

// QueueInfo is one queue's depth.
type QueueInfo struct {
	Name   string
	Paused bool
	// PausedAt is when the pause began, zero when not paused.
	PausedAt                                   time.Time
	Enqueued, Processing, Scheduled, Throttled int64
	// Capped says that a count stopped at 100,000.
	Capped bool
	// Latency is how long the oldest enqueued job has been due.
	Latency time.Duration
}

// LimitInfo is one limit key, its rule and its use.
type LimitInfo struct {
	Key              string
	Max, Rate, Burst int
	Per              time.Duration
	// Active counts enqueued and processing jobs, Reserved scheduled ones with a reserved start.
	Active, Throttled, Reserved int
	// NextStart is the next free start of a rated key, zero unless it is in the future.
	NextStart time.Time
}

// NewBatch describes a batch to open.
type NewBatch struct {
	Description string
	Meta        map[string]string
	// Parent is the batch to nest it in; 0 is none.
	Parent int64
}

// Batch is a batch and its progress.
type Batch struct {
	ID          int64
	Description string
	Meta        map[string]string
	// Total counts all jobs that ever joined.
	Total  int64
	Sealed bool
	// Counts has only states with members, archived ones included.
	Counts                map[State]int64
	CreatedAt, FinishedAt time.Time
	Parent                int64
	// Nested counts the batches nested directly in it, NestedFinished those of them that finished.
	Nested, NestedFinished int64
}

// BatchQuery selects a page of batches, newest first.
type BatchQuery struct {
	// Limit is the page's size: 0 means 20, more than 500 is cut to 500.
	Limit  int
	Cursor string
	// Parent, when positive, selects only batches nested directly in it.
	Parent int64
}

// BatchPage is one page of batches.
type BatchPage struct {
	Batches []Batch
	Next    string
}
