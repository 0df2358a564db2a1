package dashboard

import (
	"encoding/json"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

type recurringsView struct {
	Recurring []recurringView `json:"recurring"`
}

// recurringView is one recurring job.
type recurringView struct {
	ID        string          `json:"id"`
	Group     string          `json:"group,omitempty"`
	Spec      string          `json:"spec"`
	Location  string          `json:"location"`
	Kind      string          `json:"kind"`
	Queue     string          `json:"queue"`
	Args      json.RawMessage `json:"args,omitempty"`
	Misfire   string          `json:"misfire"`
	Overlap   bool            `json:"overlap"`
	Paused    bool            `json:"paused"`
	NextRunAt time.Time       `json:"next_run_at,omitzero"`
	LastRunAt time.Time       `json:"last_run_at,omitzero"`
	LastJobID int64           `json:"last_job_id,omitempty"`
	CreatedAt time.Time       `json:"created_at,omitzero"`
	UpdatedAt time.Time       `json:"updated_at,omitzero"`
	// LastState is the state of the last job, empty when it is gone or there was none.
	LastState driver.State `json:"last_state,omitempty"`
	// NextRuns are the times after NextRunAt that the schedule has, a few, in its own zone.
	NextRuns []time.Time `json:"next_runs,omitempty"`
	// Unreadable is why the schedule cannot be read, if it cannot.
	Unreadable string `json:"unreadable,omitempty"`
}

type queuesView struct {
	Queues []queueView `json:"queues"`
}

type queueView struct {
	Name       string    `json:"name"`
	Paused     bool      `json:"paused"`
	PausedAt   time.Time `json:"paused_at,omitzero"`
	Enqueued   int64     `json:"enqueued"`
	Processing int64     `json:"processing"`
	Scheduled  int64     `json:"scheduled"`
	Throttled  int64     `json:"throttled"`
	Capped     bool      `json:"capped,omitempty"`
	LatencyMS  int64     `json:"latency_ms"`
	// Servers counts the live servers that work on it.
	Servers int `json:"servers"`
}

type serversView struct {
	Servers []serverView `json:"servers"`
}

type serverView struct {
	ID             string    `json:"id"`
	Host           string    `json:"host,omitempty"`
	PID            int       `json:"pid,omitempty"`
	Version        string    `json:"version,omitempty"`
	Queues         []string  `json:"queues"`
	Kinds          []string  `json:"kinds,omitempty"`
	Workers        int       `json:"workers"`
	Running        int       `json:"running"`
	StartedAt      time.Time `json:"started_at,omitzero"`
	HeartbeatAt    time.Time `json:"heartbeat_at"`
	HeartbeatAgeMS int64     `json:"heartbeat_age_ms"`
	// Silent says that the last heartbeat is older than a minute.
	Silent bool `json:"silent,omitempty"`
}

type batchesView struct {
	Batches []batchView `json:"batches"`
	Next    string      `json:"next,omitempty"`
}

// batchView is one batch and its progress.
type batchView struct {
	ID             int64                  `json:"id"`
	Parent         int64                  `json:"parent,omitempty"`
	Description    string                 `json:"description,omitempty"`
	Meta           json.RawMessage        `json:"meta,omitempty"`
	Total          int64                  `json:"total"`
	Nested         int64                  `json:"nested,omitempty"`
	NestedFinished int64                  `json:"nested_finished,omitempty"`
	Sealed         bool                   `json:"sealed"`
	Finished       bool                   `json:"finished"`
	Counts         map[driver.State]int64 `json:"counts"`
	CreatedAt      time.Time              `json:"created_at,omitzero"`
	FinishedAt     time.Time              `json:"finished_at,omitzero"`
	// NestedBatches are the newest ten that are nested in it, on the batch's own page and JSON only.
	NestedBatches *batchesView `json:"nested_batches,omitempty"`
}

type limitsView struct {
	Limits []limitView `json:"limits"`
	// Next is the last key, when there are more.
	Next string `json:"next,omitempty"`
}

type limitView struct {
	Key       string    `json:"key"`
	Max       int       `json:"max"`
	Rate      int       `json:"rate"`
	PerMS     int64     `json:"per_ms"`
	Burst     int       `json:"burst"`
	Active    int       `json:"active"`
	Throttled int       `json:"throttled"`
	Reserved  int       `json:"reserved"`
	NextStart time.Time `json:"next_start,omitzero"`
}
