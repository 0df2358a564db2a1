package sqlitestore

// conclude settles what the changes of a call set off: first the jobs and batches that waited for those that have ended, then,
// since that may free and ask for slots, the admission of every limit key that was touched.
func (w *work) conclude() error {
	if err := w.settleEnded(); err != nil {
		return err
	}
	return w.admitTouched()
}
