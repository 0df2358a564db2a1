package dashboard

import (
	"encoding/json"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// The view structs hold what a page shows and what its JSON says. They carry redacted values only.

// jobView is one job. Lists leave out history, output and children.
type jobView struct {
	ID          int64        `json:"id"`
	State       driver.State `json:"state"`
	Kind        string       `json:"kind"`
	Title       string       `json:"title,omitempty"`
	Queue       string       `json:"queue"`
	Priority    int16        `json:"priority"`
	Attempt     int          `json:"attempt"`
	MaxAttempts int          `json:"max_attempts"`
	// Args is null when there are none, and a JSON string when redaction left no JSON.
	Args            json.RawMessage `json:"args"`
	Meta            json.RawMessage `json:"meta,omitempty"`
	Tags            []string        `json:"tags,omitempty"`
	Server          string          `json:"server,omitempty"`
	TimeoutMS       int64           `json:"timeout_ms,omitempty"`
	RunAt           time.Time       `json:"run_at,omitzero"`
	CreatedAt       time.Time       `json:"created_at,omitzero"`
	AttemptedAt     time.Time       `json:"attempted_at,omitzero"`
	FinalizedAt     time.Time       `json:"finalized_at,omitzero"`
	BatchID         int64           `json:"batch_id,omitempty"`
	AfterBatch      int64           `json:"after_batch,omitempty"`
	RecurringID     string          `json:"recurring_id,omitempty"`
	LimitKey        string          `json:"limit_key,omitempty"`
	Parents         []int64         `json:"parents,omitempty"`
	Children        []int64         `json:"children,omitempty"`
	PendingDeps     int             `json:"pending_deps,omitempty"`
	CancelRequested bool            `json:"cancel_requested,omitempty"`
	Progress        int             `json:"progress,omitempty"`
	Output          json.RawMessage `json:"output,omitempty"`
	// Error is the newest error of a job that failed or waits for a retry, in lists.
	Error   string      `json:"error,omitempty"`
	History []entryView `json:"history,omitempty"`
	// Why says why a live job is where it is, where the store is an Explainer; on the job's own page and JSON only.
	Why *whyView `json:"why,omitempty"`
}

// entryView is one line of a job's history.
type entryView struct {
	At      time.Time    `json:"at"`
	State   driver.State `json:"state"`
	Attempt int          `json:"attempt"`
	// StartedAt is when the attempt began, where the store knows.
	StartedAt time.Time `json:"started_at,omitzero"`
	Reason    string    `json:"reason,omitempty"`
	Error     string    `json:"error,omitempty"`
	Trace     string    `json:"trace,omitempty"`
	Server    string    `json:"server,omitempty"`
	Actor     string    `json:"actor,omitempty"`
}

// whyView is a driver.Explanation.
type whyView struct {
	At          time.Time    `json:"at"`
	Parents     []parentView `json:"parents,omitempty"`
	OpenParents int          `json:"open_parents,omitempty"`
	AfterBatch  int64        `json:"after_batch,omitempty"`
	BatchLive   int64        `json:"batch_live,omitempty"`
	BatchSealed bool         `json:"batch_sealed,omitempty"`
	Limit       *limitView   `json:"limit,omitempty"`
	Ahead       int          `json:"ahead,omitempty"`
	AheadCapped bool         `json:"ahead_capped,omitempty"`
	ExpectedAt  time.Time    `json:"expected_at,omitzero"`
	Paused      bool         `json:"paused,omitempty"`
	PausedAt    time.Time    `json:"paused_at,omitzero"`
	QueueServed bool         `json:"queue_served"`
	KindServed  bool         `json:"kind_served"`
	HeartbeatAt time.Time    `json:"heartbeat_at,omitzero"`
}

// parentView is an open parent. On names the outcomes that are waited for: succeeded, failed, deleted.
type parentView struct {
	ID    int64          `json:"id"`
	State driver.State   `json:"state"`
	Kind  string         `json:"kind"`
	Title string         `json:"title,omitempty"`
	On    []driver.State `json:"on"`
}

// jobsView is one page of a list of jobs.
type jobsView struct {
	State driver.State `json:"state"`
	Queue string       `json:"queue,omitempty"`
	Kind  string       `json:"kind,omitempty"`
	Batch int64        `json:"batch,omitempty"`
	Tag   string       `json:"tag,omitempty"`
	Jobs  []jobView    `json:"jobs"`
	Next  string       `json:"next,omitempty"`
}

// logsView is a stretch of a job's console, with what tells a reader when to stop.
type logsView struct {
	State    driver.State `json:"state"`
	Progress int          `json:"progress"`
	Lines    []lineView   `json:"lines"`
}

type lineView struct {
	Seq     int64     `json:"seq"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Text    string    `json:"text"`
}
