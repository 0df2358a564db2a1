// Package trial is the way from package kilntest into the root package, which lets nobody else run a handler without a server.
package trial

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Job is the attempt to run.
type Job struct {
	// Attempt counts from 1; 0 is the first.
	Attempt int
	// Meta is added to what the options say.
	Meta map[string]string
	// ParentOutputs are the outputs of the jobs that it waited for, which are its parents.
	ParentOutputs map[int64]json.RawMessage
}

// Result is how the attempt ended. State is empty when there was no job, since its args or options are invalid.
type Result struct {
	State    driver.State
	Err      error
	Delay    time.Duration
	Output   json.RawMessage
	Lines    []string
	Progress int
}

// Work runs one attempt. The root package sets it when the program starts. Mux is its *Mux, args its Args, options its
// []InsertOption.
var Work func(ctx context.Context, mux, args, options any, job Job) Result
