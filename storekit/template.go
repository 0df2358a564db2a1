package storekit

import (
	"encoding/json"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// template is how SQL stores keep the template of a recurring job: JSON with names of its own, so that a renamed field of the
// contract changes nothing that is stored. Timeouts are milliseconds like those of jobs, other spans nanoseconds, instants
// microseconds.
type template struct {
	Kind        string            `json:"kind"`
	Queue       string            `json:"queue"`
	Args        []byte            `json:"args,omitempty"`
	Meta        map[string]string `json:"meta,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	Title       string            `json:"title,omitempty"`
	Priority    int16             `json:"priority,omitempty"`
	MaxAttempts int               `json:"max_attempts"`
	TimeoutMS   int64             `json:"timeout_ms,omitempty"`
	RunAt       int64             `json:"run_at,omitempty"`
	Delay       int64             `json:"delay,omitempty"`
	Unique      []byte            `json:"unique,omitempty"`
	UniqueFor   int64             `json:"unique_for,omitempty"`
	Replace     bool              `json:"replace,omitempty"`
	Debounce    int64             `json:"debounce,omitempty"`
	LimitKey    string            `json:"limit_key,omitempty"`
	LimitMax    int               `json:"limit_max,omitempty"`
	LimitRate   int               `json:"limit_rate,omitempty"`
	LimitPer    int64             `json:"limit_per,omitempty"`
	LimitBurst  int               `json:"limit_burst,omitempty"`
	Batch       int64             `json:"batch,omitempty"`
	AfterBatch  int64             `json:"after_batch,omitempty"`
	Parents     []driver.Parent   `json:"parents,omitempty"`
	Recurring   string            `json:"recurring,omitempty"`
	Deadline    int64             `json:"deadline,omitempty"`
}

// EncodeTemplate returns a job as JSON text. Text in it that is not valid UTF-8 is cleaned.
func EncodeTemplate(p driver.InsertParams) (string, error) {
	b, err := json.Marshal(template{
		Kind: p.Kind, Queue: p.Queue, Args: p.Args, Meta: p.Meta, Tags: CleanTags(p.Tags), Title: CleanText(p.Title),
		Priority: p.Priority, MaxAttempts: p.MaxAttempts, TimeoutMS: TimeoutMillis(p.Timeout), RunAt: Micros(p.RunAt), Delay: int64(p.Delay),
		Unique: p.UniqueKey, UniqueFor: int64(p.UniqueFor), Replace: p.UniqueReplace, Debounce: int64(p.UniqueDebounce),
		LimitKey: p.LimitKey, LimitMax: p.LimitMax, LimitRate: p.LimitRate, LimitPer: int64(p.LimitPer), LimitBurst: p.LimitBurst,
		Batch: p.BatchID, AfterBatch: p.AfterBatch, Parents: p.Parents, Recurring: p.RecurringID, Deadline: Micros(p.Deadline),
	})
	return string(b), err
}

// DecodeTemplate is the inverse of EncodeTemplate. Empty slices and maps come back as nil.
func DecodeTemplate(text []byte) (driver.InsertParams, error) {
	var t template
	if err := json.Unmarshal(text, &t); err != nil {
		return driver.InsertParams{}, err
	}
	return driver.InsertParams{
		Kind: t.Kind, Queue: t.Queue, Args: t.Args, Meta: t.Meta, Tags: t.Tags, Title: t.Title,
		Priority: t.Priority, MaxAttempts: t.MaxAttempts, Timeout: MillisTimeout(t.TimeoutMS), RunAt: Instant(t.RunAt), Delay: time.Duration(t.Delay),
		UniqueKey: t.Unique, UniqueFor: time.Duration(t.UniqueFor), UniqueReplace: t.Replace, UniqueDebounce: time.Duration(t.Debounce),
		LimitKey: t.LimitKey, LimitMax: t.LimitMax, LimitRate: t.LimitRate, LimitPer: time.Duration(t.LimitPer), LimitBurst: t.LimitBurst,
		BatchID: t.Batch, AfterBatch: t.AfterBatch, Parents: t.Parents, RecurringID: t.Recurring, Deadline: Instant(t.Deadline),
	}, nil
}
