package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// batch is one batch with what is counted of it, so that reading one never walks over its members.
type batch struct {
	driver.Batch
	// states counts the members in each state, members all of them.
	states  [len(driver.States)]int64
	members int64
	// kept counts the nested batches that still exist.
	kept int64
	// waiting are the rows that wait for its end.
	waiting []int64
}

func newBatch(b driver.NewBatch, id int64, now time.Time) *batch {
	return &batch{Batch: driver.Batch{
		ID: id, Description: b.Description, Meta: cloneMap(b.Meta), Parent: b.Parent, CreatedAt: now,
	}}
}

func (b *batch) progress() storekit.Progress {
	p := storekit.Progress{Sealed: b.Sealed, Finished: !b.FinishedAt.IsZero(), Nested: b.Nested, NestedFinished: b.NestedFinished}
	for i, n := range b.states {
		if driver.States[i].Live() {
			p.Live += n
		}
	}
	return p
}

// view copies what readers see.
func (b *batch) view() driver.Batch {
	out := b.Batch
	out.Meta = cloneMap(b.Meta)
	out.Counts = make(map[driver.State]int64)
	for i, n := range b.states {
		if n > 0 {
			out.Counts[driver.States[i]] = n
		}
	}
	return out
}

// count keeps the batch's counts when a member comes into a state (1) or leaves it (-1).
func (b *batch) count(state driver.State, n int64) {
	if b != nil {
		b.states[ordinal(state)] += n
		b.members += n
	}
}

// OpenBatch implements driver.Writer.
func (s *Store) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	if err := driver.CheckBatch(b); err != nil {
		return 0, err
	}
	now, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if err := checkParent(s, b.Parent); err != nil {
		return 0, err
	}
	opened := newBatch(b, s.nextBatch(), now)
	c := s.change(now)
	c.open(opened)
	c.finish()
	return opened.ID, nil
}

func (s *Store) nextBatch() int64 {
	s.lastBatch++
	return s.lastBatch
}

// checkParent refuses a batch to nest in that is unknown or finished.
func checkParent(v view, id int64) error {
	if id == 0 {
		return nil
	}
	finished, ok := v.batchOf(id)
	return storekit.NestIn(id, finished, ok)
}

// open puts a new batch into the store.
func (c *change) open(b *batch) {
	c.batches[b.ID] = b
	if parent := c.batches[b.Parent]; parent != nil {
		parent.Nested++
		parent.kept++
	}
}

// SealBatch implements driver.Writer.
func (s *Store) SealBatch(ctx context.Context, id int64) error {
	now, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.batches[id] == nil {
		return storekit.NoBatch(id)
	}
	c := s.change(now)
	c.seal(id)
	c.finish()
	return nil
}

func (c *change) seal(id int64) {
	b := c.batches[id]
	b.Sealed = true
	c.ripe = append(c.ripe, b)
}

// finishBatches finishes those of the batches that something has happened to which have nothing left to wait for, and the
// batches around them.
func (c *change) finishBatches() {
	for len(c.ripe) > 0 {
		b := c.ripe[len(c.ripe)-1]
		c.ripe = c.ripe[:len(c.ripe)-1]
		if !b.progress().Finishes() {
			continue
		}
		b.FinishedAt = c.now
		if len(b.waiting) > 0 {
			c.endings = append(c.endings, ending{waiting: b.waiting})
			b.waiting = nil
		}
		if parent := c.batches[b.Parent]; parent != nil {
			parent.NestedFinished++
			c.ripe = append(c.ripe, parent)
		}
	}
}

// pruneBatches removes up to limit batches without members that finished long enough ago, inner ones before those around them.
func (c *change) pruneBatches(keep time.Duration, limit int) int {
	n := 0
	if keep < 0 {
		return 0
	}
	s := c.Store
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(s.batches))) {
		b := s.batches[id]
		if n == limit || b.FinishedAt.IsZero() || b.members > 0 || b.kept > 0 || c.now.Sub(b.FinishedAt) < keep {
			continue
		}
		delete(s.batches, id)
		if parent := s.batches[b.Parent]; parent != nil {
			parent.kept--
		}
		n++
	}
	return n
}

// Batch implements driver.Inspector.
func (s *Store) Batch(ctx context.Context, id int64) (driver.Batch, error) {
	if _, err := s.lock(ctx); err != nil {
		return driver.Batch{}, err
	}
	defer s.mu.Unlock()
	b := s.batches[id]
	if b == nil {
		return driver.Batch{}, storekit.NoBatch(id)
	}
	return b.view(), nil
}

// Batches implements driver.Inspector.
func (s *Store) Batches(ctx context.Context, q driver.BatchQuery) (driver.BatchPage, error) {
	cursor, resumed, err := storekit.ParseCursor(q.Cursor)
	if err != nil {
		return driver.BatchPage{}, err
	}
	if _, err := s.lock(ctx); err != nil {
		return driver.BatchPage{}, err
	}
	defer s.mu.Unlock()
	limit := storekit.PageLimit(q.Limit)
	var page driver.BatchPage
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(s.batches))) {
		b := s.batches[id]
		if resumed && id >= cursor.ID || q.Parent > 0 && b.Parent != q.Parent {
			continue
		}
		if len(page.Batches) == limit {
			page.Next = storekit.Cursor{ID: page.Batches[limit-1].ID}.String()
			break
		}
		page.Batches = append(page.Batches, b.view())
	}
	return page, nil
}
