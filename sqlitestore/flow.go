package sqlitestore

import "github.com/kilnjobs/kiln/driver"

// jobEnded notes a job with dependents, or of a batch, that has just succeeded, failed or been deleted.
func (w *work) jobEnded(l *located, state driver.State) {}

// settleEnded releases and dooms what waited for the jobs that have ended, and finishes their batches.
func (w *work) settleEnded() error { return nil }
