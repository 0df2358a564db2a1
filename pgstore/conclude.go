package pgstore

// conclude settles what the changes of a call set off: first the jobs and batches that waited for those that have ended, then,
// since that may free and ask for slots, the admission of every limit key that was touched. A transaction of an application only
// writes down what there is to settle.
func (w *work) conclude() error {
	if w.foreign {
		return w.leaveBehind()
	}
	if err := w.settleEnded(); err != nil {
		return err
	}
	return w.admitTouched()
}
