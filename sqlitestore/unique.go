package sqlitestore

import "github.com/kilnjobs/kiln/driver"

// keyReleased frees the unique key of a job that has just succeeded, failed or been deleted, if it holds one while it is live.
func (w *work) keyReleased(l *located, state driver.State) error { return nil }
