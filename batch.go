package kiln

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Batch is a group of jobs whose end can be waited for, built in memory and stored by [Client.StartBatch] or [Client.OpenBatch].
// A batch finishes once it is sealed, all of its jobs have succeeded or been deleted, and every batch nested in it has
// finished; a failed job keeps it open until somebody requeues or deletes that. It is not safe for concurrent use.
type Batch struct {
	// Description is for people.
	Description string
	// Meta is kept with the batch: at most 64 keys, 16 KiB in all.
	Meta map[string]string
	// Parent is the id of a batch that has not finished, to nest this one in; 0 is none. In a batch that AddBatch has put into
	// another it means nothing.
	Parent int64

	jobs, then []Spec
	nested     []*Batch
}

// Add adds a job. An InBatch option means nothing here; positions in a Needs option count the jobs of this batch.
func (b *Batch) Add(args Args, opts ...InsertOption) {
	b.jobs = append(b.jobs, Spec{Args: args, Options: opts})
}

// Then adds a job that runs once the batch has finished, however its jobs ended. It is no member of the batch, but of the one
// around it, if there is one. An AfterBatch option means nothing here; positions in a Needs option count the continuations of
// this batch.
func (b *Batch) Then(args Args, opts ...InsertOption) {
	b.then = append(b.then, Spec{Args: args, Options: opts})
}

// AddBatch nests a batch in this one. Each may stand in one place only.
func (b *Batch) AddBatch(child *Batch) { b.nested = append(b.nested, child) }

// Len is the number of jobs that were added, without continuations and without the jobs of nested batches.
func (b *Batch) Len() int { return len(b.jobs) }

// StartBatch stores a batch with its jobs, its nested batches and its continuations, seals it, and returns its id. All of it
// is checked before anything is written.
//
// On a store that is a driver.Transactor, as those of kiln are, it is one transaction. On another it is written step by step,
// and jobs may start meanwhile; after an error the jobs that are there are deleted and the batches sealed.
//
// Errors: ErrInvalid and ErrTooLarge for what kiln does not take, a batch that stands in two places included; ErrNotFound for
// a Parent, or a parent of a job, that does not exist; ErrClosed for a Parent that has finished.
func (c *Client) StartBatch(ctx context.Context, b *Batch) (int64, error) {
	return c.storeBatch(ctx, nil, b, true)
}

// StartBatchTx is StartBatch through a writer that is bound to a transaction of the application. See EnqueueTx.
func (c *Client) StartBatchTx(ctx context.Context, w driver.Writer, b *Batch) (int64, error) {
	if w == nil {
		return 0, driver.ErrNilTx
	}
	return c.storeBatch(ctx, w, b, true)
}

// OpenBatch is StartBatch without the seal of the batch itself: more jobs can join it by InBatch, and more batches by their
// Parent, until SealBatch says that it is complete.
func (c *Client) OpenBatch(ctx context.Context, b *Batch) (int64, error) {
	return c.storeBatch(ctx, nil, b, false)
}

// SealBatch says that a batch is complete: it finishes when nothing in it is left to do, which may be at once. Sealing again
// changes nothing. An unknown batch is ErrNotFound.
func (c *Client) SealBatch(ctx context.Context, id int64) error {
	if err := c.store.SealBatch(ctx, id); err != nil {
		return fmt.Errorf("seal batch %d: %w", id, err)
	}
	return nil
}

// storeBatch writes a tree through w, or, when that is nil, in a transaction of the store's own.
func (c *Client) storeBatch(ctx context.Context, w driver.Writer, b *Batch, seal bool) (id int64, err error) {
	tree, err := plant(b)
	if err != nil {
		return 0, fmt.Errorf("batch: %w", err)
	}
	p := planter{client: c}
	own, _ := c.store.(driver.Transactor)
	switch {
	case w != nil:
		id, err = p.write(ctx, w, tree, b.Parent, seal)
	case own != nil:
		err = own.InTx(ctx, func(w driver.Writer) (err error) {
			id, err = p.write(ctx, w, tree, b.Parent, seal)
			return err
		})
	default:
		if id, err = p.write(ctx, c.store, tree, b.Parent, seal); err != nil {
			p.cleanUp(ctx)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("batch: %w", err)
	}
	return id, nil
}

// tree is a batch whose jobs have been checked and encoded.
type tree struct {
	batch      driver.NewBatch
	jobs, then []driver.InsertParams
	nested     []*tree
}

// plant checks a batch and everything in it.
func plant(b *Batch) (*tree, error) { return plantBelow(b, map[*Batch]bool{}) }

func plantBelow(b *Batch, seen map[*Batch]bool) (*tree, error) {
	switch {
	case b == nil:
		return nil, fmt.Errorf("%w: the Batch is nil", ErrInvalid)
	case seen[b]:
		return nil, fmt.Errorf("%w: the Batch with the description %s stands in two places", ErrInvalid, quote(b.Description))
	}
	seen[b] = true
	t := &tree{batch: driver.NewBatch{Description: b.Description, Meta: b.Meta, Parent: b.Parent}}
	if err := checkMeta(b.Meta); err != nil {
		return nil, err
	}
	if err := driver.CheckBatch(t.batch); err != nil {
		return nil, err
	}
	var err error
	if t.jobs, err = paramsOfAll("job", b.jobs); err != nil {
		return nil, err
	}
	if t.then, err = paramsOfAll("continuation", b.then); err != nil {
		return nil, err
	}
	for i := range t.jobs {
		t.jobs[i].BatchID = 0
	}
	for i := range t.then {
		t.then[i].AfterBatch = 0
	}
	for _, jobs := range [][]driver.InsertParams{t.jobs, t.then} {
		if err := driver.CheckInsert(jobs); err != nil {
			return nil, err
		}
	}
	for i, child := range b.nested {
		below, err := plantBelow(child, seen)
		if err != nil {
			return nil, fmt.Errorf("nested batch %d of %d: %w", i, len(b.nested), err)
		}
		t.nested = append(t.nested, below)
	}
	return t, nil
}

// planter writes a tree and remembers what it wrote.
type planter struct {
	client *Client
	// batches are those that it opened, jobs those that it inserted.
	batches, jobs []int64
}

// write stores a batch: opened first, then its jobs, the batches in it, and its continuations, and sealed last.
func (p *planter) write(ctx context.Context, w driver.Writer, t *tree, parent int64, seal bool) (int64, error) {
	t.batch.Parent = parent
	id, err := w.OpenBatch(ctx, t.batch)
	if err != nil {
		return 0, err
	}
	p.batches = append(p.batches, id)
	for i := range t.jobs {
		t.jobs[i].BatchID = id
	}
	if err := p.insert(ctx, w, t.jobs); err != nil {
		return 0, err
	}
	for _, child := range t.nested {
		if _, err := p.write(ctx, w, child, id, true); err != nil {
			return 0, err
		}
	}
	for i := range t.then {
		t.then[i].AfterBatch = id
		if parent != 0 {
			t.then[i].BatchID = parent
		}
	}
	if err := p.insert(ctx, w, t.then); err != nil {
		return 0, err
	}
	if !seal {
		return id, nil
	}
	return id, w.SealBatch(ctx, id)
}

func (p *planter) insert(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) error {
	if len(jobs) == 0 {
		return nil
	}
	out, err := p.client.insert(ctx, w, jobs)
	for _, r := range out {
		if !r.Duplicate {
			p.jobs = append(p.jobs, r.ID)
		}
	}
	return err
}

// cleanUpTime is how long the clean-up after a batch that could not be stored may take.
const cleanUpTime = 5 * time.Second

// cleanUp takes back what was written before an error: it deletes the jobs and seals the batches, which so finish. It does what
// it can, also when ctx has ended, and says nothing of its own errors: the one that led here is the caller's.
func (p *planter) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	if len(p.jobs) > 0 {
		_, _ = p.client.store.Delete(ctx, driver.Filter{IDs: p.jobs})
	}
	for i := len(p.batches) - 1; i >= 0; i-- {
		_ = p.client.store.SealBatch(ctx, p.batches[i])
	}
}
