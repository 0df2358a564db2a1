package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Tx is a driver.TxWriter whose writes nobody else sees until Commit. Like the transaction of a database it is for one
// goroutine at a time. Ids that it gave out and rolled back are not used again.
type Tx struct {
	store    *Store
	arrivals []arrival
	done     bool
	// ended is closed with the transaction, for those who wait for the unique keys that it took.
	ended chan struct{}
}

var errTxDone = errors.New("memstore: the transaction has already been committed or rolled back")

// Begin starts a transaction, as an application would on its database.
func (s *Store) Begin() *Tx { return &Tx{store: s, ended: make(chan struct{})} }

// Insert implements driver.Writer.
func (tx *Tx) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if err := checkInsert(jobs); err != nil {
		return nil, err
	}
	now, err := tx.opened(tx.store.lockKeys(ctx, jobs, tx))
	if err != nil {
		return nil, err
	}
	defer tx.store.mu.Unlock()
	if len(jobs) == 0 {
		return nil, nil
	}
	c := tx.store.change(now)
	arrivals := c.arrive(jobs)
	results := tx.store.inserted(arrivals)
	for i := range arrivals {
		a := &arrivals[i]
		c.take(a, tx)
		if a.merged.Replaced && a.holder.lane == nil {
			c.replace(a.holder, a.row, a.merged)
		}
		if a.merged.Replaced {
			results[i].State = a.merged.State
		}
	}
	tx.arrivals = append(tx.arrivals, arrivals...)
	return results, nil
}

// OpenBatch implements driver.Writer.
func (tx *Tx) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	if _, err := tx.lock(ctx); err != nil {
		return 0, err
	}
	tx.store.mu.Unlock()
	return tx.store.OpenBatch(ctx, b)
}

// SealBatch implements driver.Writer.
func (tx *Tx) SealBatch(ctx context.Context, id int64) error {
	if _, err := tx.lock(ctx); err != nil {
		return err
	}
	tx.store.mu.Unlock()
	return tx.store.SealBatch(ctx, id)
}

// Notify implements driver.TxWriter. Commit has told the subscribers already, so it does nothing.
func (tx *Tx) Notify(context.Context) error { return nil }

// Commit makes everything visible at once, or nothing. It fails once the transaction is finished.
func (tx *Tx) Commit() error {
	now, err := tx.lock(context.Background())
	if err != nil {
		return err
	}
	defer tx.store.mu.Unlock()
	tx.end()
	c := tx.store.change(now)
	for i := range tx.arrivals {
		// Since the insert the holder may have gone on: what it does not take any more comes too late.
		if a := &tx.arrivals[i]; a.merged.Replaced && a.holder.lane != nil {
			a.merged = storekit.Merge(a.holder.asHolder(), a.newcomer, now)
		} else {
			a.merged.Replaced = false // done, or nothing to do
		}
	}
	c.insert(tx.arrivals)
	c.finish()
	return nil
}

// end closes the transaction. Its keys are free again; a commit takes them anew.
func (tx *Tx) end() {
	tx.done = true
	close(tx.ended)
	for i := range tx.arrivals {
		if u := tx.store.uniques[tx.arrivals[i].key]; u != nil && u.tx == tx {
			delete(tx.store.uniques, tx.arrivals[i].key)
		}
	}
}

// Rollback drops everything. It fails once the transaction is finished.
func (tx *Tx) Rollback() error {
	if _, err := tx.lock(context.Background()); err != nil {
		return err
	}
	defer tx.store.mu.Unlock()
	tx.end()
	tx.arrivals = nil
	return nil
}

// lock is the store's, for a transaction that is not finished.
func (tx *Tx) lock(ctx context.Context) (time.Time, error) {
	return tx.opened(tx.store.lock(ctx))
}

// opened gives up a lock that was taken for a transaction that is finished.
func (tx *Tx) opened(now time.Time, err error) (time.Time, error) {
	if err == nil && tx.done {
		tx.store.mu.Unlock()
		err = errTxDone
	}
	return now, err
}

// InTx implements driver.Transactor. A panic in fn rolls back.
func (s *Store) InTx(ctx context.Context, fn func(w driver.Writer) error) error {
	tx := s.Begin()
	defer func() {
		if !tx.done {
			_ = tx.Rollback()
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return tx.Commit()
}
