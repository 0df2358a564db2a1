package drivertest

// pending lists the cases that are not written yet, with what each of them needs. Each appears as a skipped case, so that
// nobody takes a store for complete that was never asked.
var pending = []struct{ group, name, needs string }{
	{"Insert", "States/parents", "parents"},
	{"Insert", "Fields/parents", "parents"},
	{"Insert", "Fields/batch", "batches"},
	{"Insert", "Title/doomed", "parents"},

	{"Claim", "OnlyEnqueued/awaiting", "parents"},

	{"Finish", "Stale/awaiting", "parents"},

	{"Deps", "Continuation", "parents"},
	{"Deps", "Masks", "parents"},
	{"Deps", "FailedParent", "parents"},
	{"Deps", "FinalParent", "parents"},
	{"Deps", "Chain", "parents"},
	{"Deps", "Cascade", "parents"},
	{"Deps", "FanIn", "parents"},
	{"Deps", "Index", "parents"},
	{"Deps", "MissingParent", "parents"},
	{"Deps", "Resume", "parents and limits"},
	{"Deps", "DeleteParent", "parents"},
	{"Deps", "PrunedParent", "parents, batches and limits"},

	{"Batch", "Open", "batches"},
	{"Batch", "SealAfter", "batches"},
	{"Batch", "SealBefore", "batches"},
	{"Batch", "SealEmpty", "batches"},
	{"Batch", "FailedMember", "batches"},
	{"Batch", "Attach", "batches"},
	{"Batch", "Counts", "batches"},
	{"Batch", "NotFound", "batches"},
	{"Batch", "List", "batches"},
	{"Batch", "Nested", "batches"},
	{"Batch", "NestedChain", "batches"},
	{"Batch", "NestedOpen", "batches"},
	{"Batch", "NestedFailed", "batches"},
	{"Batch", "NestedEmpty", "batches"},
	{"Batch", "NestedList", "batches"},
	{"Batch", "NestedConcurrent", "batches"},
	{"Batch", "NestedPrune", "batches"},

	{"Unique", "Held/awaiting", "parents"},
	{"Unique", "Released/doomed", "parents"},
	{"Unique", "ReplaceStates/awaiting", "parents"},
	{"Unique", "DebounceStates/awaiting", "parents"},

	{"Recurring", "Put", "recurring jobs"},
	{"Recurring", "CAS", "recurring jobs"},
	{"Recurring", "Remove", "recurring jobs"},
	{"Recurring", "Due", "recurring jobs"},
	{"Recurring", "Fire", "recurring jobs"},
	{"Recurring", "FireEmpty", "recurring jobs"},
	{"Recurring", "FireInvalid", "recurring jobs"},
	{"Recurring", "FireDuplicate", "recurring jobs"},
	{"Recurring", "FireConcurrent", "recurring jobs"},
	{"Recurring", "Group", "recurring jobs"},

	{"Coordinate", "Sweep/repairs", "parents, batches and limits"},
	{"Coordinate", "Prune/parents", "parents"},
	{"Coordinate", "PromoteDeadline/dependents", "parents, batches and limits"},
	{"Coordinate", "PruneBatches", "batches"},

	{"Admin", "FilterFields/batch", "batches"},
	{"Admin", "Delete/awaiting", "parents"},
	{"Admin", "RequeueSkips/awaiting", "parents"},

	{"Inspect", "JobsOrder/awaiting", "parents"},
	{"Inspect", "JobsFilter/batch", "batches"},
	{"Inspect", "Counts/awaiting", "parents"},
	{"Inspect", "DeletedStats/cascade", "parents"},
	{"Inspect", "DeletedStats/doomed", "parents"},

	{"Notify", "Finish/child", "parents"},

	{"Tx", "Rollback/batch", "batches"},
	{"Tx", "OwnWrites", "parents and unique keys"},
	{"Tx", "Batch", "batches"},
	{"Tx", "NestedBatch", "batches"},
	{"Tx", "SealLimit", "batches and limits"},

	{"Console", "Fencing", "consoles"},
	{"Console", "Order", "consoles"},
	{"Console", "Attempts", "consoles"},
	{"Console", "Progress", "consoles"},
	{"Console", "Prune", "consoles"},
}
