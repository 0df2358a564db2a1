package memstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Tx is a driver.TxWriter whose writes nobody else sees until Commit. Like the transaction of a database it is for one
// goroutine at a time. Ids that it gave out and rolled back are not used again. Unique keys it takes at once: until it ends, an insert
// elsewhere is a duplicate of its job.
type Tx struct {
	store *Store
	steps []step
	view  *txView
	done  bool
	// keys are the unique keys that it took, each with what was there before: nothing, or a window that has ended.
	keys map[string]*unique
	// replaced are the jobs of the store that it has replaced, as they are for it since. The store's rows change with the commit.
	replaced map[*row]storekit.Holder
}

// step is one write of a transaction: check does it to a view, or says why it cannot be done, and apply does it to the store.
type step struct {
	check func(v *txView, now time.Time) error
	apply func(c *change)
}

var errTxDone = errors.New("memstore: the transaction has already been committed or rolled back")

// Begin starts a transaction, as an application would on its database.
func (s *Store) Begin() *Tx {
	return &Tx{store: s, view: newTxView(s), keys: make(map[string]*unique), replaced: make(map[*row]storekit.Holder)}
}

// add makes a write part of the transaction, if it can be done.
func (tx *Tx) add(now time.Time, st step) error {
	if err := st.check(tx.view, now); err != nil {
		return err
	}
	tx.steps = append(tx.steps, st)
	return nil
}

// Insert implements driver.Writer.
func (tx *Tx) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if err := driver.CheckInsert(jobs); err != nil {
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
	in, err := tx.store.newInsertion(tx, jobs, now)
	if err != nil {
		return nil, err
	}
	err = tx.add(now, step{
		check: func(v *txView, now time.Time) error { return v.insert(in, now) },
		apply: func(c *change) { c.insert(in.again(c.now)) },
	})
	if err != nil {
		return nil, err
	}
	return tx.meet(in, now), nil
}

// meet takes the keys of the jobs of a call, lets those of the transaction's own jobs that are replaced have their new values, and
// returns what became of the call. Jobs that are in the store are replaced by the commit.
func (tx *Tx) meet(in *insertion, now time.Time) []driver.Inserted {
	c := tx.store.change(now)
	results := in.results(tx.view)
	for i := range in.arrivals {
		a := &in.arrivals[i]
		if a.key != "" && a.holder == nil {
			before := c.uniques[a.key]
			if c.take(a, tx); c.uniques[a.key] != before {
				tx.keys[a.key] = before
			}
		}
		if !a.merged.Replaced {
			continue
		}
		results[i].State = a.merged.State
		if a.holder.lane == nil {
			c.replace(a.holder, a.row, a.merged)
			a.merged = storekit.Merged{} // done
			continue
		}
		h := tx.asHolder(a.holder)
		h.State, h.RunAt = a.merged.State, a.merged.RunAt
		tx.replaced[a.holder] = h
	}
	return results
}

// asHolder is the holder of a key as the transaction sees it; there may be no transaction.
func (tx *Tx) asHolder(r *row) storekit.Holder {
	if tx != nil {
		if h, ok := tx.replaced[r]; ok {
			return h
		}
	}
	return r.asHolder()
}

// again is the call as it is when its transaction is committed. Since the insert the holders may have gone on: what one does not
// take any more comes too late.
func (in *insertion) again(now time.Time) *insertion {
	for i := range in.arrivals {
		if a := &in.arrivals[i]; a.merged.Replaced {
			a.merged = storekit.Merge(a.holder.asHolder(), a.newcomer, now)
		}
	}
	return in
}

// OpenBatch implements driver.Writer.
func (tx *Tx) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	if err := driver.CheckBatch(b); err != nil {
		return 0, err
	}
	now, err := tx.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.store.mu.Unlock()
	opened := newBatch(b, tx.store.nextBatch(), now)
	err = tx.add(now, step{
		check: func(v *txView, _ time.Time) error { return v.open(opened) },
		apply: func(c *change) { c.open(opened) },
	})
	if err != nil {
		return 0, err
	}
	return opened.ID, nil
}

// SealBatch implements driver.Writer.
func (tx *Tx) SealBatch(ctx context.Context, id int64) error {
	now, err := tx.lock(ctx)
	if err != nil {
		return err
	}
	defer tx.store.mu.Unlock()
	return tx.add(now, step{
		check: func(v *txView, _ time.Time) error { return v.seal(id) },
		apply: func(c *change) { c.seal(id) },
	})
}

// Notify implements driver.TxWriter. Commit has told the subscribers already, so it does nothing.
func (tx *Tx) Notify(context.Context) error { return nil }

// Commit makes everything visible at once, or nothing. It fails once the transaction is finished, and when what the store has
// become meanwhile does not admit what the transaction did: when a parent was pruned or a batch has finished.
func (tx *Tx) Commit() error {
	now, err := tx.lock(context.Background())
	if err != nil {
		return err
	}
	defer tx.store.mu.Unlock()
	tx.end()
	v := newTxView(tx.store)
	for _, st := range tx.steps {
		if err := st.check(v, now); err != nil {
			return fmt.Errorf("memstore: commit: %w", err)
		}
	}
	c := tx.store.change(now)
	for _, st := range tx.steps {
		st.apply(c)
		c.finishBatches()
	}
	c.finish()
	return nil
}

// Rollback drops everything. It fails once the transaction is finished.
func (tx *Tx) Rollback() error {
	if _, err := tx.lock(context.Background()); err != nil {
		return err
	}
	defer tx.store.mu.Unlock()
	tx.end()
	tx.steps = nil
	return nil
}

// end closes the transaction. Its unique keys are free again; a commit takes them anew.
func (tx *Tx) end() {
	tx.done = true
	for key, before := range tx.keys {
		if u := tx.store.uniques[key]; u == nil || u.tx != tx {
			continue
		}
		if before == nil {
			delete(tx.store.uniques, key)
		} else {
			tx.store.uniques[key] = before
		}
	}
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
