package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kilnjobs/kiln/driver"
)

// SQLSTATE codes that the store acts on.
const (
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeLockTimeout   = "55P03"
	codeTooLarge      = "54000" // program_limit_exceeded
	codePrivilege     = "42501"
	codeCharacters    = "22021" // character_not_in_repertoire
)

// errMoved says that a job was no more where it had been read a moment before, so that the transaction has to be made again.
var errMoved = errors.New("pgstore: a row has changed meanwhile")

// errFailed is the answer to the commit of a transaction in which a statement had failed.
var errFailed = errors.New("pgstore: commit: a statement of the transaction had failed, so it was rolled back")

// errClosed is what calls get after Close.
var errClosed = errors.New("pgstore: the store is closed")

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// retriable reports whether a transaction that failed has left nothing behind and may go well when it is made again.
func retriable(err error) bool {
	if errors.Is(err, errMoved) {
		return true
	}
	switch sqlState(err) {
	case codeSerialization, codeDeadlock, codeLockTimeout:
		return true
	}
	return false
}

// isLocked reports whether a row was held by somebody else for too long.
func isLocked(err error) bool { return sqlState(err) == codeLockTimeout }

// named adds to an error which statement failed.
func named(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case sqlState(err) == codeCharacters:
		return fmt.Errorf("%w: PostgreSQL keeps text that is valid UTF-8 without NUL: %s: %w", driver.ErrInvalid, name, err)
	case sqlState(err) == codeTooLarge:
		return fmt.Errorf("%w: PostgreSQL keeps values of less than 1 GB: %s: %w", driver.ErrTooLarge, name, err)
	}
	return fmt.Errorf("pgstore: %s: %w", name, err)
}

// uncertain is the error of a commit whose answer was lost.
func uncertain(err error) error {
	return fmt.Errorf("%w: the answer to the commit was lost: %w", driver.ErrUnknown, err)
}

// answered reports whether an error came from the server, which then says for certain that the transaction failed.
func answered(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e)
}

// ended prefers the error of a context that has ended, since what drivers say then differs.
func ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}
