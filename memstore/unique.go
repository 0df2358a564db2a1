package memstore

// keyReleased frees the unique key of a row that has just succeeded, failed or been deleted, if it holds one while it is live.
func (c *change) keyReleased(r *row) {}
