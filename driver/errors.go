package driver

import "errors"

// The sentinels that errors of a store wrap.
var (
	// ErrNotFound says that a job, batch, recurring job or parent named by the caller does not exist.
	ErrNotFound = errors.New("kiln: not found")
	// ErrConflict says that a compare-and-swap lost: the row has another version than the one given.
	ErrConflict = errors.New("kiln: conflict")
	// ErrLost says that a write for a running job came from a claim that no longer holds the job.
	ErrLost = errors.New("kiln: claim lost")
	// ErrClosed says that a batch has already finished and takes no more members.
	ErrClosed = errors.New("kiln: closed")
	// ErrInvalid says that a value is outside of what the contract allows; the text names field, value and bound.
	ErrInvalid = errors.New("kiln: invalid")
	// ErrTooLarge says that a value is longer than the contract or the store allows; the text names field, size and bound.
	ErrTooLarge = errors.New("kiln: too large")
	// ErrNilTx says that a transactional writer was made without a transaction.
	ErrNilTx = errors.New("kiln: nil transaction")
	// ErrGone says that the place where the store keeps its jobs was taken away under it, as when a database file was
	// replaced. Every call fails with it until the store is opened anew; a server that sees it stops claiming and reports it
	// in Healthy.
	ErrGone = errors.New("kiln: store is gone")
)
