package driver

import "time"

// ClaimQuery asks for jobs to run.
type ClaimQuery struct {
	// Queues are served strictly in this order.
	Queues []string
	// Kinds are the kinds to take; none listed takes any.
	Kinds []string
	// Limit is the most jobs to hand out.
	Limit int
	// Server is the id of the server that claims.
	Server string
}

// ServerInfo is what a server tells about itself with each heartbeat.
type ServerInfo struct {
	// ID is unique to one start of one process.
	ID, Host string
	PID      int
	// Version looks like "kiln/v1.0.0", or "kiln/devel" in a development build.
	Version          string
	Queues, Kinds    []string
	Workers, Running int
	// StartedAt is kept as given by the first heartbeat; zero lets the store stamp it.
	StartedAt time.Time
	// HeartbeatAt is stamped by the store.
	HeartbeatAt time.Time
}

// Lease is one processing job of a server, as the store knows it.
type Lease struct {
	Ref
	// Cancel says that the deletion of the job was asked for.
	Cancel bool
	// Age is the time since the claim, by the store's clock.
	Age time.Duration
}

// Directives is a heartbeat's answer.
type Directives struct {
	// Leases are the processing jobs of the server, by id.
	Leases []Lease
	// Paused lists every paused queue, the server's or not, sorted.
	Paused []string
}

// Orphan is a processing job whose server has no row or is silent.
type Orphan struct {
	Ref
	Kind, Queue          string
	Attempt, MaxAttempts int
	// Server is the id of the server that claimed it.
	Server string
	// Cancel says that the deletion of the job was asked for.
	Cancel bool
	// LastReason is the reason of the latest history entry, empty without one.
	LastReason string
}

// Promoted is what a Promote call did.
type Promoted struct {
	// Count is the number of jobs moved out of scheduled.
	Count int
	// Queues are those that got enqueued jobs, each once, sorted.
	Queues []string
	// Next is the time until the earliest scheduled job (or deadline of a waiting job): 0 when there is none, above 0 and at
	// most 10 ms when due ones remain.
	Next time.Duration
}

// Retention says how long ended jobs are kept, counted from FinalizedAt. For a store, zero prunes at once and negative
// never; kiln.ServerConfig gives zero its defaults first.
type Retention struct {
	Succeeded, Deleted, Failed time.Duration
}

// PruneParams says what Prune may remove.
type PruneParams struct {
	Retention
	// Servers is how long a silent server is listed; 0 means one hour.
	Servers time.Duration
	// Stats is how long statistics stay by the minute before they are folded into totals; 0 means 14 days.
	Stats time.Duration
	// Limit is the most rows removed per table; 0 or less means 1000.
	Limit int
}

// Recurring is the definition of a recurring job and where its schedule stands.
type Recurring struct {
	ID, Group string
	// Spec is a normalised cron spec.
	Spec string
	// Location is an IANA time zone name.
	Location string
	// Template is the job that each occurrence inserts.
	Template InsertParams
	Misfire  Misfire
	// Overlap lets an occurrence fire while an earlier job is still live.
	Overlap, Paused bool
	// NextRunAt is the next occurrence, zero when there is none.
	NextRunAt, LastRunAt time.Time
	LastJobID            int64
	// CreatedAt and UpdatedAt are stamped by the store.
	CreatedAt, UpdatedAt time.Time
	// Version is 1 after the create and one more after each write or fire.
	Version int64
}

// Fire is one step of a recurring job's schedule.
type Fire struct {
	ID string
	// Version is the version that the step was computed from.
	Version              int64
	NextRunAt, LastRunAt time.Time
	// Jobs are inserted with the step; none is fine.
	Jobs []InsertParams
}
