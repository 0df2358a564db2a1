package kiln

import (
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// What a handler's error can say about its job, and what ends a handler's context.
var (
	// ErrPermanent marks an error after which a job is not retried. See [Permanent].
	ErrPermanent = errors.New("kiln: permanent failure")
	// ErrCanceled marks an error after which a job is deleted, and is the cause of a context whose job was deleted while it
	// ran. See [Cancel].
	ErrCanceled = errors.New("kiln: job canceled")
	// ErrSnoozed is matched by the errors of [Snooze]. By itself it is an error like any other.
	ErrSnoozed = errors.New("kiln: job snoozed")
	// ErrTimeout is the cause of a context whose job ran longer than its time limit.
	ErrTimeout = errors.New("kiln: job timed out")
	// ErrShutdown is the cause of a context whose server is shutting down.
	ErrShutdown = errors.New("kiln: server shutting down")
)

// Errors that calls to the store wrap.
var (
	// ErrNotFound says that what a call names does not exist.
	ErrNotFound = driver.ErrNotFound
	// ErrInvalid says that a value is outside of what kiln allows; the text names field, value and bound.
	ErrInvalid = driver.ErrInvalid
	// ErrTooLarge says that a value is longer than kiln allows; the text names field, size and bound.
	ErrTooLarge = driver.ErrTooLarge
	// ErrLost says that a running job was given to another server meanwhile. It is also the cause of that run's context.
	ErrLost = driver.ErrLost
	// ErrClosed says that a batch has finished and takes no more members.
	ErrClosed = driver.ErrClosed
	// ErrConflict says that concurrent changes kept a call from applying.
	ErrConflict = driver.ErrConflict
	// ErrUnknown says that a write may have happened or not: the answer to its commit was lost. After an enqueue that failed so,
	// the job exists once or not at all.
	ErrUnknown = driver.ErrUnknown
)

// Permanent returns an error after which the job fails at once, whatever attempts it has left. It matches ErrPermanent and
// err, and has err's text. Permanent(nil) has the text of ErrPermanent.
func Permanent(err error) error { return mark(ErrPermanent, err) }

// Cancel returns an error after which the job is deleted. It matches ErrCanceled and err, and has err's text. Cancel(nil) has
// the text of ErrCanceled.
func Cancel(err error) error { return mark(ErrCanceled, err) }

// Snooze returns an error after which the job runs again d later, without having used up an attempt. A negative d counts as
// 0. It matches ErrSnoozed.
func Snooze(d time.Duration) error { return &snoozeError{delay: max(d, 0)} }

type markedError struct{ mark, inner error }

func mark(sentinel, err error) error {
	if err == nil {
		return &markedError{mark: sentinel, inner: sentinel}
	}
	return &markedError{mark: sentinel, inner: err}
}

func (e *markedError) Error() string   { return e.inner.Error() }
func (e *markedError) Unwrap() []error { return []error{e.mark, e.inner} }

type snoozeError struct{ delay time.Duration }

func (e *snoozeError) Error() string        { return "kiln: job snoozed for " + e.delay.String() }
func (e *snoozeError) Is(target error) bool { return target == ErrSnoozed }

// PanicError is the error of a handler that panicked.
type PanicError struct {
	// Value is what the handler panicked with.
	Value any
	// Stack is the stack of the panicking goroutine, from the place of the panic on.
	Stack []byte
}

// Error returns "kiln: panic: " and the value.
func (e *PanicError) Error() string { return fmt.Sprintf("kiln: panic: %v", e.Value) }
