package storekit

import (
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// Lost is the error of a write that came from a claim that no longer holds its job.
func Lost(ref driver.Ref) error {
	return fmt.Errorf("%w: job %d is not processing under claim %d", driver.ErrLost, ref.ID, ref.Claim)
}

// NoBatch is the error of a batch that does not exist.
func NoBatch(id int64) error { return fmt.Errorf("%w: batch %d", driver.ErrNotFound, id) }

// NoParent is the error of a job to wait for that does not exist.
func NoParent(id int64) error { return fmt.Errorf("%w: parent job %d", driver.ErrNotFound, id) }

// JoinBatch is the error of a job that joins a batch that does not exist or has finished, nil for one that it may join.
func JoinBatch(id int64, finished, exists bool) error {
	switch {
	case !exists:
		return NoBatch(id)
	case finished:
		return fmt.Errorf("%w: batch %d has finished", driver.ErrClosed, id)
	}
	return nil
}

// NestIn is the error of a batch that is nested in one that does not exist or has finished, nil for one that it may be nested in.
func NestIn(id int64, finished, exists bool) error {
	switch {
	case !exists:
		return fmt.Errorf("%w: parent batch %d", driver.ErrNotFound, id)
	case finished:
		return fmt.Errorf("%w: parent batch %d has finished", driver.ErrClosed, id)
	}
	return nil
}

// NoAfterBatch is the error of a batch to wait for that does not exist.
func NoAfterBatch(id int64) error {
	return fmt.Errorf("%w: batch %d to wait for", driver.ErrNotFound, id)
}

// NoRecurring is the error of a recurring job that does not exist.
func NoRecurring(id string) error {
	return fmt.Errorf("%w: recurring job %.200q", driver.ErrNotFound, id)
}

// NotAtVersion is the error of a recurring job that somebody else has changed since it was read.
func NotAtVersion(id string, version int64) error {
	return fmt.Errorf("%w: recurring job %.200q is not at version %d", driver.ErrConflict, id, version)
}

// Refused reports whether an error is about what was to be stored and not about the database.
func Refused(err error) bool {
	for _, sentinel := range []error{driver.ErrInvalid, driver.ErrTooLarge, driver.ErrNotFound, driver.ErrClosed, errors.ErrUnsupported} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}
