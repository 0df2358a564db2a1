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
	// events are those of what was written since the last Notify, and keys the limit keys with jobs to admit.
	events []driver.Event
	keys   []string
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

// Insert implements driver.Writer.
func (t *TxWriter) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	w := t.store.newWork(ctx, t.tx, 0)
	// A transaction that begins with a write waits for the lock like any other; one that has read before it writes fails when
	// somebody has written in between.
	if err := w.exec("tx_lock"); err != nil {
		return nil, explainTx(err)
	}
	var keys []string
	out, err := insertGuarded(w, jobs, func() error {
		var err error
		keys, err = w.concludeTx()
		return err
	})
	if err != nil {
		return nil, explainTx(err)
	}
	t.events = append(t.events, w.events.list...)
	t.keys = append(t.keys, keys...)
	return out, nil
}

// insertGuarded inserts under a savepoint, so that an error leaves nothing behind in a transaction that goes on.
func insertGuarded(w *work, jobs []driver.InsertParams, conclude func() error) ([]driver.Inserted, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	drafts, err := draftAll(jobs)
	if err != nil {
		return nil, err
	}
	err = w.guarded(func() error {
		if err := w.insert(drafts); err != nil {
			return err
		}
		if err := conclude(); err != nil {
			return err
		}
		return w.finish()
	})
	if err != nil {
		return nil, err
	}
	return inserted(drafts), nil
}

// guarded runs fn under a savepoint. What an error leaves behind in w is only meant for the commit that it then prevents
// or that comes without it, so the work is put back too.
func (w *work) guarded(fn func() error) error {
	before := *w
	before.limits = maps.Clone(w.limits)
	if _, err := w.db.ExecContext(w.ctx, "savepoint kiln"); err != nil {
		return named("savepoint", err)
	}
	err := fn()
	end := []string{"release kiln"}
	if err != nil {
		before.events.seen, before.signals.seen = nil, nil
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

// OpenBatch implements driver.Writer.
func (t *TxWriter) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	if err := t.usable(ctx); err != nil {
		return 0, err
	}
	return t.store.OpenBatch(ctx, b)
}

// SealBatch implements driver.Writer.
func (t *TxWriter) SealBatch(ctx context.Context, id int64) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	return t.store.SealBatch(ctx, id)
}

// Notify implements driver.TxWriter.
func (t *TxWriter) Notify(ctx context.Context) error {
	if t.tx == nil {
		return nil
	}
	events, keys := t.events, t.keys
	t.events, t.keys = nil, nil
	t.store.hub.publish(events)
	if len(keys) == 0 {
		return ctx.Err()
	}
	return t.store.do(ctx, func(w *work) error {
		for _, key := range keys {
			w.keyTouched(key)
		}
		return nil
	})
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

func (t *ownTx) usable(ctx context.Context) error {
	if t.ended {
		return errTxEnded
	}
	return ctx.Err()
}

func (t *ownTx) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	t.work.stamp(t.store.clock.now())
	// What it touched is settled when fn has returned.
	return insertGuarded(t.work, jobs, func() error { return nil })
}

func (t *ownTx) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	if err := t.usable(ctx); err != nil {
		return 0, err
	}
	return t.store.OpenBatch(ctx, b)
}

func (t *ownTx) SealBatch(ctx context.Context, id int64) error {
	if err := t.usable(ctx); err != nil {
		return err
	}
	return t.store.SealBatch(ctx, id)
}

// stamp moves the instant that the work stamps.
func (w *work) stamp(now time.Time) {
	w.now, w.nowAt = now, now.UnixMicro()
}
