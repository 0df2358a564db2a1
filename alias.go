package kiln

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Defaults of a job.
const (
	// DefaultQueue is the queue of a job that names none.
	DefaultQueue = "default"
	// DefaultMaxAttempts is how often a job is tried that does not say.
	DefaultMaxAttempts = 10
)

// Forever, or any other negative duration, in a field of [Retention] keeps the jobs of that state for ever.
const Forever time.Duration = -1

// NoTimeout is the [Timeout] of a job that may run for as long as it likes.
const NoTimeout Timeout = -1

// Types that the store's contract and the client share.
type (
	// State is where a job stands.
	State = driver.State
	// Record is everything a store knows of a job.
	Record = driver.Record
	// Entry is one line of a job's history.
	Entry = driver.Entry
	// Inserted is what became of one job of an enqueue.
	Inserted = driver.Inserted
	// Filter selects jobs for Client.DeleteWhere and Client.RequeueWhere.
	Filter = driver.Filter
	// JobQuery selects a page of jobs for Client.List.
	JobQuery = driver.JobQuery
	// Page is one page of jobs.
	Page = driver.Page
	// Retention says how long ended jobs are kept.
	Retention = driver.Retention
)

// The states of a job.
const (
	Awaiting   = driver.Awaiting
	Scheduled  = driver.Scheduled
	Throttled  = driver.Throttled
	Enqueued   = driver.Enqueued
	Processing = driver.Processing
	Succeeded  = driver.Succeeded
	Failed     = driver.Failed
	Deleted    = driver.Deleted
)
