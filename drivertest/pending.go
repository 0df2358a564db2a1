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

	{"Deps", "Resume/limit", "limits"},
	{"Deps", "PrunedParent/limit", "limits"},

	{"Unique", "Held/awaiting", "parents"},
	{"Unique", "Released/doomed", "parents"},
	{"Unique", "ReplaceStates/awaiting", "parents"},
	{"Unique", "DebounceStates/awaiting", "parents"},

	{"Recurring", "FireDuplicate", "unique keys"},

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
}
