package kiln

import (
	"cmp"
	"fmt"
	"time"
)

// Limit bounds how many jobs of a key run at once, on all servers together, and how often they start. The rule lives with the key:
// the latest insert that names the key sets it for all of its jobs.
//
// A job that was let in counts as running while it waits for a worker, so jobs of a busy or paused queue hold their slots.
type Limit struct {
	// Key is what is limited, at most 200 bytes. Empty means the job's kind.
	Key string
	// Max is how many jobs of the key may be enqueued or running at once. Without a Rate less than 1 means 1; with a Rate 0 is no
	// cap.
	Max int
	// Rate is how many jobs of the key may start per Per; 0 is no rate.
	Rate int
	// Per is the period of Rate; 0 means one second.
	Per time.Duration
	// Burst is how many jobs may start back to back after a rest; 0 means Rate.
	Burst int
}

func (l Limit) insert(d *draft) error {
	if n := len(l.Key); n > maxLimitKey {
		return fmt.Errorf("%w: Limit key %s has %d bytes, more than %d", ErrTooLarge, quote(l.Key), n, maxLimitKey)
	}
	switch {
	case l.Rate < 0:
		return fmt.Errorf("%w: Limit Rate %d is below 0", ErrInvalid, l.Rate)
	case l.Per < 0:
		return fmt.Errorf("%w: Limit Per %s is below 0", ErrInvalid, l.Per)
	case l.Burst < 0:
		return fmt.Errorf("%w: Limit Burst %d is below 0", ErrInvalid, l.Burst)
	case l.Rate > 0 && l.Max < 0:
		return fmt.Errorf("%w: Limit Max %d is below 0", ErrInvalid, l.Max)
	}
	if l.Rate == 0 {
		l = Limit{Key: l.Key, Max: max(l.Max, 1)}
	} else {
		l.Per, l.Burst = cmp.Or(l.Per, time.Second), cmp.Or(l.Burst, l.Rate)
	}
	d.limit = &l
	return nil
}

func (l Limit) recurring(d *recurringDraft) error { return l.insert(&d.draft) }

// setLimit writes the rule into the job, when its kind is known.
func (d *draft) setLimit() {
	l := d.limit
	if l == nil {
		return
	}
	d.LimitKey = cmp.Or(l.Key, d.Kind)
	d.LimitMax, d.LimitRate, d.LimitPer, d.LimitBurst = l.Max, l.Rate, l.Per, l.Burst
}
