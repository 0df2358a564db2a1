package kiln

import (
	"context"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// Client enqueues jobs, reads them and changes them. It works without a server, in any process that can reach the store. It
// is safe for concurrent use.
type Client struct {
	store   driver.Store
	enqueue EnqueueFunc
	// plain says that there is no middleware.
	plain bool
}

// EnqueueFunc inserts jobs through w and returns one result per job, in order.
type EnqueueFunc func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]driver.Inserted, error)

// EnqueueMiddleware wraps every insert that goes through a client, with or without a transaction. It may change the jobs, and
// must return as many results as it was given jobs.
type EnqueueMiddleware func(next EnqueueFunc) EnqueueFunc

// NewClient returns a client on a store. The first middleware is the outermost. It panics when the store is nil.
func NewClient(s driver.Store, mw ...EnqueueMiddleware) *Client {
	if s == nil {
		panic("kiln: NewClient needs a store")
	}
	enqueue := func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]driver.Inserted, error) {
		return w.Insert(ctx, jobs)
	}
	chain, plain := EnqueueFunc(enqueue), true
	for i := len(mw) - 1; i >= 0; i-- {
		if mw[i] != nil {
			chain, plain = mw[i](chain), false
		}
	}
	return &Client{store: s, enqueue: chain, plain: plain}
}

// Store returns the store that the client works on.
func (c *Client) Store() driver.Store { return c.store }

// Enqueue stores one job and returns its id.
//
// Errors wrap ErrInvalid or ErrTooLarge for what kiln or the store does not take, the encoder's error for args that do not
// encode, and otherwise the store's; nothing is stored then. Only when ctx ended meanwhile, or the error wraps ErrUnknown,
// the job may have been stored.
func (c *Client) Enqueue(ctx context.Context, args Args, opts ...InsertOption) (int64, error) {
	return c.EnqueueTx(ctx, c.store, args, opts...)
}

// EnqueueTx is Enqueue through a writer that is bound to a transaction of the application, such as a store's Tx returns. The
// job exists if and when that transaction commits; call the writer's Notify after it. A nil writer is driver.ErrNilTx.
func (c *Client) EnqueueTx(ctx context.Context, w driver.Writer, args Args, opts ...InsertOption) (int64, error) {
	if w == nil {
		return 0, driver.ErrNilTx
	}
	p, err := params(args, opts)
	if err != nil {
		return 0, err
	}
	if err := refuseNeeds(&p); err != nil {
		return 0, fmt.Errorf("job of kind %s: %w", p.Kind, err)
	}
	out, err := c.insert(ctx, w, []driver.InsertParams{p})
	if err != nil {
		return 0, err
	}
	return out[0].ID, nil
}

// EnqueueMany stores several jobs in one transaction and returns one result per job, in order. An error leaves none of them
// behind. Without specs it returns nil, nil.
func (c *Client) EnqueueMany(ctx context.Context, specs ...Spec) ([]Inserted, error) {
	return c.EnqueueManyTx(ctx, c.store, specs...)
}

// EnqueueManyTx is EnqueueMany through a writer that is bound to a transaction of the application. See EnqueueTx.
func (c *Client) EnqueueManyTx(ctx context.Context, w driver.Writer, specs ...Spec) ([]Inserted, error) {
	if w == nil {
		return nil, driver.ErrNilTx
	}
	if len(specs) == 0 {
		return nil, nil
	}
	jobs, err := paramsOfAll("spec", specs)
	if err != nil {
		return nil, err
	}
	return c.insert(ctx, w, jobs)
}

// paramsOfAll turns specs into jobs for the store. Word is what an error calls a spec.
func paramsOfAll(word string, specs []Spec) ([]driver.InsertParams, error) {
	jobs := make([]driver.InsertParams, len(specs))
	for i, spec := range specs {
		p, err := params(spec.Args, spec.Options)
		if err != nil {
			return nil, fmt.Errorf("%s %d of %d: %w", word, i, len(specs), err)
		}
		jobs[i] = p
	}
	return jobs, nil
}

// insert sends jobs through the middleware to the store.
func (c *Client) insert(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]Inserted, error) {
	out, err := c.enqueue(ctx, w, jobs)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	if len(out) != len(jobs) {
		return nil, fmt.Errorf("kiln: enqueue of %d jobs came back with %d results", len(jobs), len(out))
	}
	return out, nil
}

// Get returns everything about one job. An unknown id is ErrNotFound.
func (c *Client) Get(ctx context.Context, id int64) (Record, error) {
	r, err := c.store.Job(ctx, id)
	if err != nil {
		return Record{}, fmt.Errorf("get job %d: %w", id, err)
	}
	return r, nil
}

// List returns a page of jobs in one state. A state that is not one of the eight is ErrInvalid.
func (c *Client) List(ctx context.Context, q JobQuery) (Page, error) {
	if !q.State.Valid() {
		return Page{}, fmt.Errorf("%w: query State %s is not one of the eight states", ErrInvalid, quote(string(q.State)))
	}
	page, err := c.store.Jobs(ctx, q)
	if err != nil {
		return Page{}, fmt.Errorf("list %s jobs: %w", q.State, err)
	}
	return page, nil
}

// Delete deletes the jobs with these ids and returns how many it deleted. A running job's context ends with ErrCanceled; it is
// deleted unless it succeeds all the same. Jobs that are succeeded or deleted, and unknown ids, are left out.
func (c *Client) Delete(ctx context.Context, ids ...int64) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return c.DeleteWhere(ctx, Filter{IDs: ids})
}

// Requeue sends the jobs with these ids back to their queues and returns how many it sent. Failed, succeeded and deleted jobs
// start over with all of their attempts; scheduled ones run now with the attempts that they have left. Others are left out.
func (c *Client) Requeue(ctx context.Context, ids ...int64) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return c.RequeueWhere(ctx, Filter{IDs: ids})
}

// DeleteWhere is Delete for all jobs that match a filter, which needs ids or a state.
func (c *Client) DeleteWhere(ctx context.Context, f Filter) (int, error) {
	if err := driver.CheckFilter(f); err != nil {
		return 0, err
	}
	n, err := c.store.Delete(ctx, f)
	if err != nil {
		return n, fmt.Errorf("delete jobs: %w", err)
	}
	return n, nil
}

// RequeueWhere is Requeue for all jobs that match a filter, which needs ids or a state.
func (c *Client) RequeueWhere(ctx context.Context, f Filter) (int, error) {
	if err := driver.CheckFilter(f); err != nil {
		return 0, err
	}
	n, err := c.store.Requeue(ctx, f)
	if err != nil {
		return n, fmt.Errorf("requeue jobs: %w", err)
	}
	return n, nil
}

// PauseQueue stops the claiming of a queue's jobs on every server. Jobs that run go on, and jobs are still enqueued. A queue
// that is paused already stays so.
func (c *Client) PauseQueue(ctx context.Context, name string) error {
	return c.setPause(ctx, name, true)
}

// ResumeQueue ends the pause of a queue.
func (c *Client) ResumeQueue(ctx context.Context, name string) error {
	return c.setPause(ctx, name, false)
}

func (c *Client) setPause(ctx context.Context, name string, paused bool) error {
	if err := checkQueue(name); err != nil {
		return err
	}
	if err := c.store.PauseQueue(ctx, name, paused); err != nil {
		return fmt.Errorf("pause queue %s: %w", name, err)
	}
	return nil
}
