package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// TxWriter writes jobs inside of an application's transaction. It is a driver.TxWriter, and like the transaction for one goroutine at
// a time.
//
// What it writes only adds rows, but for unique keys: so it never waits for servers, nor they for it, however long the transaction
// stays open. What has to be settled with others, such as the admission of limited jobs, is written down and settled by Notify, or
// a moment later by a server.
type TxWriter struct {
	store *Store
	db    querier
	// told is what was written since the last Notify, and left whether there is something to settle.
	told told
}

// told is what a transaction has to tell after its commit.
type told struct {
	events storekit.EventSet
	lowest lowestIDs
	left   bool
	opened map[int64]bool
}

// Tx returns a writer for an application's transaction on the same database. Jobs that it inserts exist when the transaction
// commits. Call Notify after the commit, to wake servers at once. With a nil tx every write fails with driver.ErrNilTx.
func (s *Store) Tx(tx pgx.Tx) *TxWriter {
	if tx == nil {
		return &TxWriter{store: s}
	}
	return &TxWriter{store: s, db: pgxQuerier{tx}}
}

// SQLTx is Tx for a transaction of database/sql, on a pool of pgx's driver for it (github.com/jackc/pgx/v5/stdlib).
func (s *Store) SQLTx(tx *sql.Tx) *TxWriter {
	if tx == nil {
		return &TxWriter{store: s}
	}
	return &TxWriter{store: s, db: sqlQuerier{tx}}
}

// write runs one write inside of the application's transaction and keeps what it has to tell.
func (t *TxWriter) write(ctx context.Context, fn func(w *work) error) error {
	if t.db == nil {
		return fmt.Errorf("%w: Tx was called with none", driver.ErrNilTx)
	}
	if err := t.store.usable(ctx); err != nil {
		return err
	}
	return t.told.write(ctx, t.store, t.db, fn)
}

// write is one write of a transaction that goes on. It runs under a savepoint, so that an error leaves nothing of it behind.
func (t *told) write(ctx context.Context, s *Store, db querier, fn func(w *work) error) error {
	var w *work
	if t.opened == nil {
		t.opened = map[int64]bool{}
	}
	once := func() error {
		w = &work{runner: runner{ctx, db, s.texts}, store: s, foreign: true, opened: t.opened}
		if err := w.readNow(); err != nil {
			return err
		}
		if err := fn(w); err != nil {
			return err
		}
		if err := w.conclude(); err != nil {
			return err
		}
		return w.finish()
	}
	// Somebody else may take a unique key, or move the job that has it, between two statements.
	const most = 10
	var err error
	for range most {
		if err = guarded(ctx, db, once); !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return ended(ctx, err)
	}
	for _, e := range w.events.List {
		t.events.Add(e)
	}
	t.lowest.noteAll(w.lowest)
	t.left = t.left || w.left
	return nil
}

// readNow reads the instant that the work stamps.
func (w *work) readNow() error {
	_, err := w.one("tx_now", []any{w.store.clockMicros()}, &w.nowAt)
	w.now = storekit.Instant(w.nowAt)
	return err
}

// guarded runs a part of a transaction under a savepoint. After an error the work is as it was before, too.
func (w *work) guarded(fn func() error) error {
	before := *w
	before.limits = maps.Clone(w.limits)
	before.events, before.lowest = w.events.Clone(), maps.Clone(w.lowest)
	before.stats, before.flow.tallies = w.stats.Clone(), w.flow.tallies.Clone()
	err := guarded(w.ctx, w.db, fn)
	if err != nil {
		*w = before
	}
	return err
}

// guarded runs fn under a savepoint. After an error nothing of it is left.
func guarded(ctx context.Context, db querier, fn func() error) error {
	if _, err := db.exec(ctx, "savepoint kiln"); err != nil {
		return named("savepoint", err)
	}
	err := fn()
	end := []string{"release savepoint kiln"}
	if err != nil {
		end = []string{"rollback to savepoint kiln", "release savepoint kiln"}
	}
	for _, text := range end {
		if _, failed := db.exec(context.WithoutCancel(ctx), text); failed != nil && err == nil {
			err = named("savepoint", failed)
		}
	}
	return err
}

// writeThrough is how a writer that is bound to a transaction writes.
type writeThrough func(ctx context.Context, fn func(w *work) error) error

func (write writeThrough) insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	drafts, err := draftAll(jobs)
	if err != nil {
		return nil, err
	}
	err = write(ctx, func(w *work) error { return w.insert(drafts) })
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	return inserted(drafts), nil
}

func (write writeThrough) openBatch(ctx context.Context, b driver.NewBatch) (id int64, err error) {
	draft, err := draftBatch(b)
	if err != nil {
		return 0, err
	}
	err = write(ctx, func(w *work) (err error) {
		id, err = w.openBatch(&draft)
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

func (write writeThrough) sealBatch(ctx context.Context, id int64) error {
	return write(ctx, func(w *work) error { return w.sealBatch(id) })
}

// Insert implements driver.Writer.
func (t *TxWriter) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	return writeThrough(t.write).insert(ctx, jobs)
}

// OpenBatch implements driver.Writer.
func (t *TxWriter) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	return writeThrough(t.write).openBatch(ctx, b)
}

// SealBatch implements driver.Writer.
func (t *TxWriter) SealBatch(ctx context.Context, id int64) error {
	return writeThrough(t.write).sealBatch(ctx, id)
}

// Notify implements driver.TxWriter.
func (t *TxWriter) Notify(ctx context.Context) error {
	if t.db == nil {
		return nil
	}
	done := t.told
	t.told = told{}
	return t.store.committed(ctx, done)
}

// committed settles and tells what a transaction has left.
func (s *Store) committed(ctx context.Context, t told) error {
	s.tell(&work{store: s, events: t.events, lowest: t.lowest})
	if !t.left {
		return ctx.Err()
	}
	return s.settle(ctx)
}

// InTx implements driver.Transactor.
func (s *Store) InTx(ctx context.Context, fn func(w driver.Writer) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer conn.Release()
	if _, err := s.begin(ctx, conn, noLockTimeout); err != nil {
		rollback(conn)
		return ended(ctx, err)
	}
	t := &ownTx{store: s, db: pgxQuerier{conn}}
	settled := false
	defer func() {
		t.ended = true
		if !settled {
			rollback(conn) // fn has panicked, or left its goroutine
		}
	}()
	err = fn(t)
	if err == nil {
		err = ctx.Err()
	}
	settled = true
	if err != nil {
		rollback(conn)
		return err
	}
	if err := commit(ctx, conn); err != nil {
		return ended(ctx, err)
	}
	conn.Release()
	// It is committed whatever becomes of this: servers settle what is left.
	_ = s.committed(context.WithoutCancel(ctx), t.told)
	return nil
}

// ownTx is the writer that InTx hands out.
type ownTx struct {
	store *Store
	db    querier
	told  told
	ended bool
}

var errTxEnded = errors.New("pgstore: the transaction of InTx has ended")

func (t *ownTx) write(ctx context.Context, fn func(w *work) error) error {
	if t.ended {
		return errTxEnded
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.told.write(ctx, t.store, t.db, fn)
}

func (t *ownTx) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	return writeThrough(t.write).insert(ctx, jobs)
}

func (t *ownTx) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	return writeThrough(t.write).openBatch(ctx, b)
}

func (t *ownTx) SealBatch(ctx context.Context, id int64) error {
	return writeThrough(t.write).sealBatch(ctx, id)
}
