package kiln

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/engine"
)

// RecurringSpec is one recurring job of [Client.SyncRecurring].
type RecurringSpec struct {
	// ID is unique among all recurring jobs: 1 to 200 bytes of letters, digits and _ . : -, not "." or "..".
	ID string
	// Spec is a cron spec, see package cron.
	Spec string
	// Args are the args of every job that it fires.
	Args Args
	// Options change how and when it fires.
	Options []RecurringOption
}

// recurringTries is how often a change of a recurring job is tried against concurrent ones.
const recurringTries = 3

// SetRecurring stores a recurring job under an id, or changes the one that is there: from then on the server that leads enqueues a
// job with these args at every time of the cron spec. What is stored like this already is not written again, so it can be called
// at every start of a program.
//
// A change of the spec or of the zone reschedules it to the first time after now; other changes keep its next run. One that is paused
// stays so, and one that belongs to a group leaves it. Jobs that it enqueued are not touched.
//
// Errors wrap ErrInvalid for an id, spec, zone or option that kiln does not take, and for a spec that has no time within the next
// five years; ErrConflict when concurrent changes kept this one from applying.
func (c *Client) SetRecurring(ctx context.Context, id, spec string, args Args, opts ...RecurringOption) error {
	def, err := newDefinition("", RecurringSpec{ID: id, Spec: spec, Args: args, Options: opts})
	if err != nil {
		return err
	}
	return c.setRecurring(ctx, def)
}

// SyncRecurring declares all recurring jobs of a group: it sets the given ones, as SetRecurring does, and removes those of the group
// that are not given. Recurring jobs of other groups, and of none, are left alone. The group's name follows the rule of ids.
//
// Everything is checked before anything is written. When a write fails, the ones before it stay and nothing is removed. Of two calls
// for one group at a time the later write of each job counts.
func (c *Client) SyncRecurring(ctx context.Context, group string, jobs ...RecurringSpec) error {
	if err := checkRecurringName("Group", group); err != nil {
		return err
	}
	defs := make([]definition, len(jobs))
	given := make(map[string]bool, len(jobs))
	for i, job := range jobs {
		def, err := newDefinition(group, job)
		if err != nil {
			return fmt.Errorf("recurring job %d of %d: %w", i, len(jobs), err)
		}
		if given[job.ID] {
			return fmt.Errorf("recurring job %d of %d: %w: ID %s is given twice", i, len(jobs), ErrInvalid, quote(job.ID))
		}
		defs[i], given[job.ID] = def, true
	}
	for _, def := range defs {
		if err := c.setRecurring(ctx, def); err != nil {
			return err
		}
	}
	stored, err := c.store.Recurrings(ctx)
	if err != nil {
		return fmt.Errorf("list recurring jobs of group %s: %w", group, err)
	}
	for _, r := range stored {
		if r.Group != group || given[r.ID] {
			continue
		}
		if err := c.RemoveRecurring(ctx, r.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// RemoveRecurring removes a recurring job. Jobs that it enqueued stay. An unknown id is ErrNotFound.
func (c *Client) RemoveRecurring(ctx context.Context, id string) error {
	if err := c.store.RemoveRecurring(ctx, id); err != nil {
		return fmt.Errorf("remove recurring job %s: %w", quote(id), err)
	}
	return nil
}

// PauseRecurring stops a recurring job from firing until ResumeRecurring. TriggerRecurring still works. An unknown id is ErrNotFound;
// one that is paused already is left as it is.
func (c *Client) PauseRecurring(ctx context.Context, id string) error {
	return c.changeRecurring(ctx, "pause", id, func(r *driver.Recurring) (bool, error) {
		changed := !r.Paused
		r.Paused = true
		return changed, nil
	})
}

// ResumeRecurring lets a paused recurring job fire again, from its first time after now on: what it missed meanwhile is dropped. An
// unknown id is ErrNotFound; one that is not paused is left as it is.
func (c *Client) ResumeRecurring(ctx context.Context, id string) error {
	return c.changeRecurring(ctx, "resume", id, func(r *driver.Recurring) (bool, error) {
		if !r.Paused {
			return false, nil
		}
		r.Paused = false
		return true, c.reschedule(ctx, r)
	})
}

// TriggerRecurring enqueues a recurring job's job now, also while it is paused, and returns the job's id. Its schedule does not change.
// With Overlap(false) it returns the id of the job that is live already, if there is one. An unknown id is ErrNotFound.
func (c *Client) TriggerRecurring(ctx context.Context, id string) (int64, error) {
	r, err := c.store.Recurring(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("trigger recurring job %s: %w", quote(id), err)
	}
	out, err := c.insert(ctx, c.store, []driver.InsertParams{engine.Triggered(&r)})
	if err != nil {
		return 0, fmt.Errorf("trigger recurring job %s: %w", quote(id), err)
	}
	return out[0].ID, nil
}

// setRecurring writes a definition unless it is stored like this already.
func (c *Client) setRecurring(ctx context.Context, def definition) error {
	return c.changeRecurring(ctx, "set", def.ID, func(r *driver.Recurring) (bool, error) {
		same, moved := def.compare(r)
		def.apply(r)
		if !moved {
			return !same, nil
		}
		if err := c.reschedule(ctx, r); err != nil {
			return false, err
		}
		if r.NextRunAt.IsZero() {
			return false, fmt.Errorf("%w: Spec %s has no time within the next five years", ErrInvalid, quote(r.Spec))
		}
		return true, nil
	})
}

// changeRecurring reads a recurring job, changes it and writes it back if it is still the one that was read, and tries that again a
// few times. Change reports whether there is something to write. Only a set begins with none.
func (c *Client) changeRecurring(ctx context.Context, what, id string, change func(*driver.Recurring) (bool, error)) error {
	var err error
	for range recurringTries {
		var r driver.Recurring
		var changed bool
		r, err = c.store.Recurring(ctx, id)
		if what == "set" && errors.Is(err, ErrNotFound) {
			r, err = driver.Recurring{ID: id}, nil
		}
		if err == nil {
			changed, err = change(&r)
		}
		if err == nil && changed {
			err = c.store.PutRecurring(ctx, r)
		}
		if !errors.Is(err, ErrConflict) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s recurring job %s: %w", what, quote(id), err)
	}
	return nil
}

// reschedule sets the next run to the first time after now. It never goes back before the last run, also when the clock did.
func (c *Client) reschedule(ctx context.Context, r *driver.Recurring) error {
	now, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	if r.LastRunAt.After(now) {
		now = r.LastRunAt
	}
	r.NextRunAt, err = engine.NextRun(r.Spec, r.Location, now)
	return err
}

// checkRecurringName checks a recurring job's id or group.
func checkRecurringName(field, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: recurring %s is empty", ErrInvalid, field)
	case len(name) > maxRecurring:
		return fmt.Errorf("%w: recurring %s %s has %d bytes, more than %d", ErrInvalid, field, quote(name), len(name), maxRecurring)
	case name == "." || name == "..":
		return fmt.Errorf("%w: recurring %s %s is a path", ErrInvalid, field, quote(name))
	}
	for i := range len(name) {
		if c := name[i]; !lower(c) && !upper(c) && !nameByte(c) {
			return fmt.Errorf("%w: recurring %s %s has %s at byte %d, outside of letters, digits and _ . : -",
				ErrInvalid, field, quote(name), strconv.QuoteRune(rune(c)), i)
		}
	}
	return nil
}
