package driver

import (
	"context"
	"time"
)

// HistoryReader is implemented by stores that know more of histories than a Record holds.
type HistoryReader interface {
	// Runs returns when the attempts of a job began, as far as entries of its history say when they ended, oldest first. The
	// latest attempt of a job that has left no entry with its end is not among them; see Job.AttemptedAt. An unknown job has none.
	Runs(ctx context.Context, id int64) ([]Run, error)
	// LastErrors returns, by id, the error of the newest entry that has one. Unknown jobs and those without an error are left out.
	LastErrors(ctx context.Context, ids []int64) (map[int64]string, error)
}

// Run is one attempt of a job, from its claim to its end.
type Run struct {
	Attempt int
	// StartedAt is when the attempt was claimed, EndedAt the At of the history's entry that ended it.
	StartedAt, EndedAt time.Time
}
