package driver

import "context"

// Notifier is implemented by stores that can tell of changes.
type Notifier interface {
	// Subscribe calls fn for each event until ctx is done, and then returns nil within two seconds. The first event, and the
	// first after each reconnection or loss of events, is a Resync. fn must not block. A store that cannot notify as it is
	// set up returns an error wrapping errors.ErrUnsupported.
	Subscribe(ctx context.Context, fn func(Event)) error
}

// Bus carries events between processes for stores whose database cannot.
type Bus interface {
	Notifier
	// Publish sends events to every subscriber, those of the publisher's own process included, as well as it can. An unknown
	// kind is ErrInvalid; no events is no work.
	Publish(ctx context.Context, events []Event) error
}

// TxWriter writes inside of an application's transaction. It is for one goroutine at a time, like the transaction.
type TxWriter interface {
	Writer
	// Notify is called after the commit: it admits the limited jobs that the transaction inserted and wakes servers. Calling
	// it twice or after a rollback is harmless. Its error is advisory: the jobs are committed, and without it they wait for
	// the next poll.
	Notify(ctx context.Context) error
}

// Transactor is implemented by stores that can run several writes in one transaction of their own.
type Transactor interface {
	// InTx calls fn with a writer, commits when it returns nil, and otherwise rolls back and returns fn's error. What the
	// transaction wrote is admitted and published when InTx returns. The writer must not be used afterwards.
	InTx(ctx context.Context, fn func(w Writer) error) error
}

// Console is implemented by stores that keep the lines and the progress that handlers write.
type Console interface {
	// WriteConsole appends lines and, when progress is not negative, sets the progress of the job that is processing under
	// ref. Otherwise it is ErrLost, also with no lines, and nothing is written.
	WriteConsole(ctx context.Context, ref Ref, lines []string, progress int) error
	// Logs returns up to limit lines with a Seq above after, oldest first. An unknown or silent job has none.
	Logs(ctx context.Context, id, after int64, limit int) ([]LogLine, error)
}

// LimitReader is implemented by stores that can list limits.
type LimitReader interface {
	// Limits lists up to limit keys after the given one, in byte order.
	Limits(ctx context.Context, after string, limit int) ([]LimitInfo, error)
}

// OutputReader is implemented by stores that can read the outputs of many jobs at once.
type OutputReader interface {
	// Outputs returns, by id, the outputs of those of the jobs that succeeded and left one. Unknown ids are left out.
	Outputs(ctx context.Context, ids []int64) (map[int64][]byte, error)
}

// StateReader is implemented by stores that can read the states of many jobs at once.
type StateReader interface {
	// States returns the states of jobs, by id. Unknown ids are left out.
	States(ctx context.Context, ids []int64) (map[int64]State, error)
}

// Tuning is what a store knows about how it is used best. A zero field leaves the engine its default.
type Tuning struct {
	// ClaimLanes is how many claims of one pool may be in flight at once.
	ClaimLanes int
	// FinishLanes is how many finishes of one server may be in flight at once.
	FinishLanes int
}

// Tuner is implemented by stores that know how many calls in flight pay.
type Tuner interface {
	// Tuning is asked once, when a server starts.
	Tuning() Tuning
}

// FireResult is what became of one step of [BlockFirer].
type FireResult struct {
	// Jobs has one result per job of the step, in order.
	Jobs []Inserted
	// Err is what Fire would have returned: nil, ErrConflict, ErrNotFound, or why the jobs could not be inserted. The step then
	// has changed nothing.
	Err error
}

// BlockFirer is implemented by stores that can fire several recurring jobs in one transaction. Without it servers call Fire for
// each.
type BlockFirer interface {
	// FireMany does Fire for each step and returns one result per step, in order. A step that conflicts or cannot be inserted
	// leaves nothing behind and never stops the others. An error means that nothing is known of any of them.
	FireMany(ctx context.Context, fires []Fire) ([]FireResult, error)
}

// ConsoleWrite is what one job's console is to gain.
type ConsoleWrite struct {
	Ref
	Lines []string
	// Progress is set when it is not negative.
	Progress int
}

// ConsoleBatch is implemented by stores that can write many consoles in one transaction. Without it servers call WriteConsole for
// each.
type ConsoleBatch interface {
	// WriteConsoles does WriteConsole for each and returns one error per write, in order: nil, or ErrLost for a write that came
	// from a claim that no longer holds its job. The second error means that nothing is known of any of them.
	WriteConsoles(ctx context.Context, writes []ConsoleWrite) ([]error, error)
}
