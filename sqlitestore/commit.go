package sqlitestore

import (
	"context"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// fate is what became of a transaction.
type fate int

const (
	// undone: nothing of it is in the database, so its calls may be tried again.
	undone fate = iota
	// done: it is committed.
	done
	// unknown: it may be committed. Trying its calls again might insert their jobs twice.
	unknown
)

// commit writes what belongs to the end of a transaction and commits it.
//
// An error of COMMIT says little by itself: SQLite may have refused, or have committed, with only its answer lost. A
// transaction that can still be rolled back was not committed. Otherwise its first job tells, if it has one: the id was
// never given to another, and was not there before.
func (w *writer) commit(work *work) (fate, error) {
	if err := work.finish(); err != nil {
		w.rollback(err)
		return undone, err
	}
	_, err := w.session.ExecContext(context.Background(), "commit")
	if err == nil {
		return done, nil
	}
	err = fmt.Errorf("sqlitestore: commit: %w", err)
	if w.rollback(err) {
		return undone, err
	}
	if w.session != nil {
		w.drop() // what it says about transactions is not to be trusted
	}
	switch {
	case work.idsRead:
		there, failed := w.stored(work)
		switch {
		case failed != nil:
			return unknown, uncertain(err)
		case there:
			return done, nil
		}
		return undone, err
	case primary(err) == codeFull:
		return undone, err // SQLite rolls back what does not fit
	}
	return unknown, uncertain(err)
}

// stored looks, on a new connection, for the first job of a transaction.
func (w *writer) stored(work *work) (bool, error) {
	if err := w.connect(w.ctx); err != nil {
		return false, err
	}
	r := &runner{context.Background(), w.session, w.s.texts}
	var one int
	return r.one("insert_stored", []any{work.firstID, work.firstAt}, &one)
}

func uncertain(err error) error {
	return fmt.Errorf("%w: the answer to the commit was lost: %w", driver.ErrUnknown, err)
}

// rollback ends the transaction after an error, and reports whether it was open until then. SQLite may have ended it
// already; a connection that cannot be used any more, or may still have it open, is exchanged.
func (w *writer) rollback(cause error) bool {
	if w.session == nil {
		return false
	}
	_, err := w.session.ExecContext(context.Background(), "rollback")
	if isLost(cause) || err != nil && errorCode(err) != codeError {
		w.drop()
	}
	return err == nil
}
