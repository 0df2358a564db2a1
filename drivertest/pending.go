package drivertest

// pending lists the cases that are not written yet, with what each of them needs. Each appears as a skipped case, so that
// nobody takes a store for complete that was never asked.
var pending = []struct{ group, name, needs string }{
	{"Insert", "States/limit", "limits"},
	{"Insert", "LimitState", "limits"},
	{"Insert", "Fields/limit", "limits"},

	{"Claim", "OnlyEnqueued/throttled", "limits"},

	{"Finish", "RetryNow/limit", "limits"},

	{"Deps", "Resume/limit", "limits"},
	{"Deps", "PrunedParent/limit", "limits"},

	{"Unique", "Held", "unique keys"},
	{"Unique", "Released", "unique keys"},
	{"Unique", "Window", "unique keys"},
	{"Unique", "InCall", "unique keys"},
	{"Unique", "Requeue", "unique keys"},
	{"Unique", "Replace", "unique keys"},
	{"Unique", "ReplaceStates", "unique keys"},
	{"Unique", "ReplaceLimited", "unique keys and limits"},
	{"Unique", "Debounce", "unique keys"},
	{"Unique", "DebounceStates", "unique keys"},

	{"Limits", "Admission", "limits"},
	{"Limits", "Order", "limits"},
	{"Limits", "Release", "limits"},
	{"Limits", "Max", "limits"},
	{"Limits", "Promote", "limits"},
	{"Limits", "Requeue", "limits"},
	{"Limits", "Shutdown", "limits"},
	{"Limits", "DeleteWaiting", "limits"},
	{"Limits", "Pruned", "limits"},
	{"Limits", "Archived", "limits"},
	{"Limits", "Rows", "limits"},
	{"Limits", "Concurrent", "limits"},
	{"Limits", "Reader", "limits"},
	{"Limits", "ReaderPages", "limits"},
	{"Limits", "ReaderNextStart", "limits"},

	{"Rate", "Spacing", "limits"},
	{"Rate", "Burst", "limits"},
	{"Rate", "Mutex", "limits"},
	{"Rate", "Unlimited", "limits"},
	{"Rate", "Stall", "limits"},
	{"Rate", "Held", "limits"},
	{"Rate", "Freed", "limits"},
	{"Rate", "Overdue", "limits"},
	{"Rate", "OverdueBurst", "limits"},
	{"Rate", "Jitter", "limits"},
	{"Rate", "Retry", "limits"},
	{"Rate", "Requeue", "limits"},
	{"Rate", "Update", "limits"},
	{"Rate", "Sweep", "limits"},
	{"Rate", "Prune", "limits"},
	{"Rate", "Invalid", "limits"},

	{"Recurring", "FireDuplicate", "unique keys"},

	{"Coordinate", "Sweep/limits", "limits"},
	{"Coordinate", "PromoteDeadline/limit", "limits"},

	{"Admin", "Delete/throttled", "limits"},
	{"Admin", "Requeue/limit", "limits"},
	{"Admin", "RequeueSkips/throttled", "limits"},

	{"Inspect", "JobsOrder/throttled", "limits"},
	{"Inspect", "Counts/throttled", "limits"},
	{"Inspect", "Queues/throttled", "limits"},

	{"Notify", "Finish/limit", "limits"},

	{"Tx", "Rollback/unique", "unique keys"},
	{"Tx", "OwnWrites/unique", "unique keys"},
	{"Tx", "Limit", "limits"},
	{"Tx", "SealLimit", "limits"},
}
