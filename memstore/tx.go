package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Tx is a driver.TxWriter whose writes nobody else sees until Commit. Like the transaction of a database it is for one
// goroutine at a time. Ids that it gave out and rolled back are not used again.
type Tx struct {
	store *Store
	rows  []*row
	done  bool
}

var errTxDone = errors.New("memstore: the transaction has already been committed or rolled back")

// Begin starts a transaction, as an application would on its database.
func (s *Store) Begin() *Tx { return &Tx{store: s} }

// Insert implements driver.Writer.
func (tx *Tx) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if err := checkInsert(jobs); err != nil {
		return nil, err
	}
	now, err := tx.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.store.mu.Unlock()
	if len(jobs) == 0 {
		return nil, nil
	}
	rows := tx.store.newRows(jobs, now)
	tx.rows = append(tx.rows, rows...)
	return inserted(rows), nil
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
	tx.done = true
	c := tx.store.change(now)
	c.insert(tx.rows)
	c.finish()
	return nil
}

// Rollback drops everything. It fails once the transaction is finished.
func (tx *Tx) Rollback() error {
	if _, err := tx.lock(context.Background()); err != nil {
		return err
	}
	defer tx.store.mu.Unlock()
	tx.done = true
	tx.rows = nil
	return nil
}

// lock is the store's, for a transaction that is not finished.
func (tx *Tx) lock(ctx context.Context) (time.Time, error) {
	now, err := tx.store.lock(ctx)
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
