package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// TxWriter writes jobs inside of an application's transaction. It is a driver.TxWriter.
type TxWriter struct {
	store *Store
	tx    *sql.Tx
	// events are those of what was written since the last Notify.
	events []driver.Event
}

// Tx returns a writer for an application's transaction on the same database. Jobs that it inserts exist when the transaction
// commits. Call Notify after the commit, to wake servers at once.
//
// The transaction should have been begun with BEGIN IMMEDIATE (_txlock=immediate in the data source name): one that first
// read and now writes fails when somebody else has written in between. While it is open the same goroutine must not call
// the store itself. With a nil tx every write fails with driver.ErrNilTx.
func (s *Store) Tx(tx *sql.Tx) *TxWriter { return &TxWriter{store: s, tx: tx} }

func (t *TxWriter) usable(ctx context.Context) error {
	if t.tx == nil {
		return fmt.Errorf("%w: Tx was called with none", driver.ErrNilTx)
	}
	return t.store.usable(ctx)
}

// write runs one write inside of the application's transaction and keeps what it has to tell.
func (t *TxWriter) write(ctx context.Context, fn func(w *work) error) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	w := t.store.newWork(ctx, t.tx, 0)
	// A transaction that begins with a write waits for the lock like any other; one that has read before it writes fails when
	// somebody has written in between.
	if err := w.exec("tx_lock"); err != nil {
		return explainTx(err)
	}
	if err := w.inside(fn, w.conclude); err != nil {
		return explainTx(err)
	}
	t.events = append(t.events, w.events.List...)
	return nil
}

// inside is one write of a transaction that goes on. It runs under a savepoint, so that an error leaves nothing of it behind.
// conclude settles what it set off.
func (w *work) inside(fn func(w *work) error, conclude func() error) error {
	return w.guarded(func() error {
		if err := fn(w); err != nil {
			return err
		}
		if err := conclude(); err != nil {
			return err
		}
		return w.finish()
	})
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

// guarded runs fn under a savepoint. What an error leaves behind in w is only meant for the commit that it then prevents
// or that comes without it, so the work is put back too.
func (w *work) guarded(fn func() error) error {
	before := *w
	before.limits = maps.Clone(w.limits)
	before.events, before.signals = w.events.Clone(), w.signals.Clone()
	before.stats, before.flow.tallies = w.stats.Clone(), w.flow.tallies.Clone()
	if _, err := w.db.ExecContext(w.ctx, "savepoint kiln"); err != nil {
		return named("savepoint", err)
	}
	err := fn()
	end := []string{"release kiln"}
	if err != nil {
		*w = before
		end = []string{"rollback to kiln", "release kiln"}
	}
	for _, statement := range end {
		if _, failed := w.db.ExecContext(context.WithoutCancel(w.ctx), statement); failed != nil && err == nil {
			err = named("savepoint", failed)
		}
	}
	return err
}

func explainTx(err error) error {
	if isBusy(err) {
		return fmt.Errorf("%w; the transaction should begin with BEGIN IMMEDIATE (_txlock=immediate in the data source name)", err)
	}
	return err
}

// Notify implements driver.TxWriter.
func (t *TxWriter) Notify(ctx context.Context) error {
	if t.tx == nil {
		return nil
	}
	events := t.events
	t.events = nil
	t.store.hub.publish(events)
	return ctx.Err()
}

// InTx implements driver.Transactor. fn runs in the calling goroutine; until it returns nobody else writes, so it should be
// short, and must not call the store itself but for reading.
func (s *Store) InTx(ctx context.Context, fn func(w driver.Writer) error) error {
	c := &call{ctx: ctx, lent: make(chan *work, 1), returned: make(chan error, 1)}
	if err := s.start(c); err != nil {
		return err
	}
	select {
	case w := <-c.lent:
		return c.inTx(s, w, fn)
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if c.state.CompareAndSwap(pending, abandoned) {
		return s.waited(c)
	}
	select {
	case w := <-c.lent:
		return c.inTx(s, w, func(driver.Writer) error { return ctx.Err() })
	case <-c.done:
		return c.err
	}
}

// errUnwound is the verdict on a transaction whose function did not return.
var errUnwound = errors.New("sqlitestore: the function of InTx panicked or left its goroutine")

func (c *call) inTx(s *Store, w *work, fn func(driver.Writer) error) error {
	t := &ownTx{work: w, store: s}
	verdict := errUnwound
	defer func() {
		// On a panic the writer is told to roll back, and the panic goes on.
		if verdict == errUnwound {
			c.returned <- verdict
			<-c.done
		}
	}()
	err := fn(t)
	t.ended = true
	if err == nil {
		err = c.ctx.Err()
	}
	verdict = err
	c.returned <- err
	<-c.done
	return c.err
}

// ownTx is the writer that InTx hands out.
type ownTx struct {
	work  *work
	store *Store
	ended bool
}

var errTxEnded = errors.New("sqlitestore: the transaction of InTx has ended")

func (t *ownTx) write(ctx context.Context, fn func(w *work) error) error {
	if t.ended {
		return errTxEnded
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t.work.stamp(t.store.clock.now())
	// The limit keys that it touched are looked at when all is in.
	return t.work.inside(fn, t.work.settleEnded)
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

// stamp moves the instant that the work stamps.
func (w *work) stamp(now time.Time) {
	w.now, w.nowAt = now, now.UnixMicro()
}
