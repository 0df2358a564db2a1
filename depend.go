package kiln

import (
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// After lets a job wait until these jobs have succeeded. They are ids of jobs that exist; an unknown one is ErrNotFound. A job
// whose parent is deleted is deleted too; while a parent is failed it waits, since the parent can be requeued. Options that name
// jobs add up, and a job named by several of them may end in any of their ways.
type After []int64

func (ids After) insert(d *draft) error { return d.after("After", ids, driver.OnSucceeded) }

// AfterFinished lets a job wait until these jobs have succeeded, failed or been deleted. See [After].
type AfterFinished []int64

func (ids AfterFinished) insert(d *draft) error {
	return d.after("AfterFinished", ids, driver.OnFinished)
}

// AfterFailed lets a job wait until these jobs have failed for good. It is deleted when one of them succeeds or is deleted
// instead. See [After].
type AfterFailed []int64

func (ids AfterFailed) insert(d *draft) error { return d.after("AfterFailed", ids, driver.OnFailed) }

// AfterDeleted lets a job wait until these jobs have been deleted. It is deleted when one of them succeeds instead. See [After].
type AfterDeleted []int64

func (ids AfterDeleted) insert(d *draft) error {
	return d.after("AfterDeleted", ids, driver.OnDeleted)
}

func (d *draft) after(option string, ids []int64, on driver.Mask) error {
	for _, id := range ids {
		if id <= 0 {
			return fmt.Errorf("%w: %s has the id %d, which is not above 0", ErrInvalid, option, id)
		}
		d.Parents = append(d.Parents, driver.Parent{ID: id, On: on})
	}
	return nil
}

// Needs lets a job wait until jobs of the same call have succeeded: positions among the specs of [Client.EnqueueMany], as
// [Flow.Add] returns them, or among the jobs, or the continuations, of a [Batch]. Parents may stand behind the job that needs
// them. A position outside of the call, the job's own, and a circle are ErrInvalid, and so is Needs where one job is enqueued
// alone.
type Needs []int

func (positions Needs) insert(d *draft) error {
	for _, i := range positions {
		if i < 0 {
			return fmt.Errorf("%w: Needs has the position %d, below 0", ErrInvalid, i)
		}
		d.Parents = append(d.Parents, driver.Parent{Index: i, On: driver.OnSucceeded})
	}
	return nil
}

// refuseNeeds refuses a job that stands alone and needs others of its call.
func refuseNeeds(p *driver.InsertParams) error {
	for _, parent := range p.Parents {
		if parent.ID == 0 {
			return fmt.Errorf("%w: Needs has the position %d, but the job is enqueued alone; use EnqueueMany, or After with an id", ErrInvalid, parent.Index)
		}
	}
	return nil
}

// AfterBatch lets a job wait until a batch has finished, however its jobs ended. An unknown batch is ErrNotFound; 0 is none.
type AfterBatch int64

func (id AfterBatch) insert(d *draft) error {
	d.InsertParams.AfterBatch = int64(id)
	if id < 0 {
		return fmt.Errorf("%w: AfterBatch %d is below 0", ErrInvalid, id)
	}
	return nil
}

// InBatch lets a job join a batch that has not finished yet, sealed or not. An unknown batch is ErrNotFound, a finished one
// ErrClosed; 0 is none.
type InBatch int64

func (id InBatch) insert(d *draft) error {
	d.BatchID = int64(id)
	if id < 0 {
		return fmt.Errorf("%w: InBatch %d is below 0", ErrInvalid, id)
	}
	return nil
}

// Flow is a list of jobs that need each other, for [Client.EnqueueMany].
type Flow []Spec

// Add appends a job and returns its position, for the [Needs] of others.
func (f *Flow) Add(args Args, opts ...InsertOption) int {
	*f = append(*f, Spec{Args: args, Options: opts})
	return len(*f) - 1
}
