package memstore

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// txView is the store as one transaction sees it: with what it has written itself, which is not in the store yet.
type txView struct {
	store *Store
	rows  map[int64]*row
	// batches are those that the transaction opened, joined or sealed.
	batches map[int64]*txBatch
}

// txBatch is how far a batch is when the transaction's own writes are counted.
type txBatch struct {
	storekit.Progress
	parent int64
}

func newTxView(s *Store) *txView {
	return &txView{store: s, rows: make(map[int64]*row), batches: make(map[int64]*txBatch)}
}

func (v *txView) stateOf(id int64) (driver.State, bool) {
	if r := v.rows[id]; r != nil {
		return r.State, true
	}
	return v.store.stateOf(id)
}

func (v *txView) batchOf(id int64) (finished, ok bool) {
	if b := v.batches[id]; b != nil {
		return b.Finished, true
	}
	return v.store.batchOf(id)
}

// touch returns the transaction's own account of a batch, nil when there is no such batch.
func (v *txView) touch(id int64) *txBatch {
	b := v.batches[id]
	if stored := v.store.batches[id]; b == nil && stored != nil {
		b = &txBatch{stored.progress(), stored.Parent}
		v.batches[id] = b
	}
	return b
}

// insert adds the rows of an Insert call.
func (v *txView) insert(in *insertion, now time.Time) error {
	if err := in.resolve(v, now); err != nil {
		return err
	}
	for r := range in.rows {
		v.rows[r.ID] = r
		if b := v.touch(r.BatchID); b != nil && r.State.Live() {
			b.Live++
		}
	}
	return nil
}

// open adds a batch.
func (v *txView) open(b *batch) error {
	if err := checkParent(v, b.Parent); err != nil {
		return err
	}
	v.batches[b.ID] = &txBatch{parent: b.Parent}
	if parent := v.touch(b.Parent); parent != nil {
		parent.Nested++
	}
	return nil
}

// seal seals a batch and finishes it, and those around it, if nothing is left to wait for.
func (v *txView) seal(id int64) error {
	b := v.touch(id)
	if b == nil {
		return storekit.NoBatch(id)
	}
	b.Sealed = true
	for b != nil && b.Finishes() {
		b.Finished = true
		if b = v.touch(b.parent); b != nil {
			b.NestedFinished++
		}
	}
	return nil
}
