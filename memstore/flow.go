package memstore

// rowEnded notes a row that has just succeeded, failed or been deleted.
func (c *change) rowEnded(r *row) {}

// settleEnded releases and dooms what waited for the rows that have ended, and finishes their batches.
func (c *change) settleEnded() {}
