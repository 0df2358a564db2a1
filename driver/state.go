package driver

// State is where a job stands. Its value is the state's lower-case name, which is also what stores and JSON carry.
type State string

// The eight states. The first six are live: something still has to happen to the job, if only an operator's decision in the
// case of Failed. Succeeded and Deleted are archived.
const (
	// Awaiting jobs wait for other jobs or for a batch.
	Awaiting State = "awaiting"
	// Scheduled jobs wait for their run time.
	Scheduled State = "scheduled"
	// Throttled jobs wait for room in the limit of their key.
	Throttled State = "throttled"
	// Enqueued jobs are ready to be claimed.
	Enqueued State = "enqueued"
	// Processing jobs are claimed by a server.
	Processing State = "processing"
	// Succeeded jobs ended without an error.
	Succeeded State = "succeeded"
	// Failed jobs used up their attempts or failed for good. They stay until an operator requeues or deletes them.
	Failed State = "failed"
	// Deleted jobs were canceled, deleted by an operator, or doomed by a dependency.
	Deleted State = "deleted"
)

// States lists the eight states in the order of a job's life.
var States = [8]State{Awaiting, Scheduled, Throttled, Enqueued, Processing, Succeeded, Failed, Deleted}

// Valid reports whether s is one of the eight states.
func (s State) Valid() bool {
	for _, v := range States {
		if s == v {
			return true
		}
	}
	return false
}

// Archived reports whether s is succeeded or deleted.
func (s State) Archived() bool { return s == Succeeded || s == Deleted }

// Live reports whether s is valid and not archived.
func (s State) Live() bool { return s.Valid() && !s.Archived() }

// Final reports whether a job in this state carries a FinalizedAt: succeeded, failed or deleted.
func (s State) Final() bool { return s.Archived() || s == Failed }

// Mask is the set of outcomes of a parent that satisfies a dependency.
type Mask uint8

// The bits of a Mask.
const (
	OnSucceeded Mask = 1
	OnFailed    Mask = 2
	OnDeleted   Mask = 4
	OnFinished  Mask = OnSucceeded | OnFailed | OnDeleted
)

// Has reports whether the mask is satisfied by a parent in state s. It is false for every state but succeeded, failed and
// deleted.
func (m Mask) Has(s State) bool {
	switch s {
	case Succeeded:
		return m&OnSucceeded != 0
	case Failed:
		return m&OnFailed != 0
	case Deleted:
		return m&OnDeleted != 0
	}
	return false
}

// Misfire says what happens to occurrences of a recurring job that passed while no server was running.
type Misfire uint8

// The misfire policies.
const (
	// MisfireOnce fires one job for the latest missed occurrence.
	MisfireOnce Misfire = 0
	// MisfireAll fires one job for each missed occurrence.
	MisfireAll Misfire = 1
	// MisfireSkip fires nothing unless the latest occurrence is at most a minute late.
	MisfireSkip Misfire = 2
)

// EventKind says what an [Event] hints at.
type EventKind uint8

// The kinds of events.
const (
	// Resync says that anything may have happened: it comes first on a subscription, and after events were dropped.
	Resync EventKind = 1
	// JobsReady says that a queue gained enqueued jobs. The event carries Queue.
	JobsReady EventKind = 2
	// CancelRequested says that the deletion of a processing job was asked for. The event carries ID.
	CancelRequested EventKind = 3
	// QueueChanged says that a queue was paused or resumed. The event carries Queue.
	QueueChanged EventKind = 4
	// JobsScheduled says that a job with a run time in the future was written, so that promoters may have to look earlier
	// than they planned to. The event carries Queue. Stores that cannot tell need not send it: a promoter then sees the job
	// at its next poll.
	JobsScheduled EventKind = 5
	// Deaf says that the events of other processes are not heard for now, as when the connection that they come on is lost: until the
	// next Resync servers have to look by themselves as often as without a Notifier. Stores that cannot tell need not send it.
	Deaf EventKind = 6
)

// Event is a hint that something happened in the store. Events may be lost, repeated or late; nothing may depend on one.
type Event struct {
	Kind  EventKind
	Queue string
	ID    int64
}

// Result is what became of one outcome given to Finish.
type Result uint8

// The results of Finish.
const (
	// Applied says that the outcome was written.
	Applied Result = 1
	// Stale says that the job is not processing under the outcome's claim; nothing was written.
	Stale Result = 2
	// Busy says that the row was locked elsewhere; nothing was written, and the outcome should be sent again.
	Busy Result = 3
	// Rejected says that the outcome cannot be stored as it is; nothing was written, and the job is still processing.
	Rejected Result = 4
)
