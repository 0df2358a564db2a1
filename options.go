package kiln

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// InsertOption changes one job as it is enqueued. The options are the types of this package that say so, such as [Queue],
// [Delay] or [Tags]. An args type can bring options of its own, see [Args]; those of the call come after them. A later option
// replaces an earlier one of the same type, except Meta, which is merged, and Tags, Needs and the options that name jobs to wait
// for, which add up. A nil option is ignored.
type InsertOption interface {
	// insert changes the job that is being built.
	insert(*draft) error
}

// draft is a job on its way from args and options to the store.
type draft struct {
	driver.InsertParams
	titled   bool
	deadline time.Time
	unique   *Unique
	limit    *Limit
}

// Queue is the queue that a job goes to, [DefaultQueue] without it: 1 to 64 bytes of a-z, 0-9 and _ . : -, not "." or "..".
type Queue string

func (q Queue) insert(d *draft) error {
	d.Queue = string(q)
	return checkQueue(d.Queue)
}

// Priority orders the jobs of a queue: higher is claimed first. Without it a job has priority 0.
type Priority int16

func (p Priority) insert(d *draft) error {
	d.Priority = int16(p)
	return nil
}

// Delay is how long a job waits, by the store's clock, before it may start. A negative one counts as 0. It replaces an
// earlier [At].
type Delay time.Duration

func (w Delay) insert(d *draft) error {
	d.Delay, d.RunAt = max(time.Duration(w), 0), time.Time{}
	return nil
}

// At is the instant before which a job does not start. The zero time and one in the past mean now. It replaces an earlier
// [Delay].
type At time.Time

func (t At) insert(d *draft) error {
	d.Delay, d.RunAt = 0, time.Time(t)
	return nil
}

// MaxAttempts is how often a job is tried before it has failed, at least 1; [DefaultMaxAttempts] without it.
type MaxAttempts int

func (n MaxAttempts) insert(d *draft) error {
	d.MaxAttempts = int(n)
	if n < 1 {
		return fmt.Errorf("%w: MaxAttempts %d is below 1", ErrInvalid, n)
	}
	return nil
}

// Timeout limits each attempt of a job. It is an [InsertOption], a [HandleOption] for all jobs of a kind, and a field of
// [ServerConfig]: the job's own comes before its kind's, and that before the server's. [NoTimeout] is no limit, zero leaves it to
// the next. It is kept in milliseconds, rounded up.
type Timeout time.Duration

func (t Timeout) insert(d *draft) error {
	d.Timeout = time.Duration(t)
	return nil
}

// Tags label a job, for filters in lists and in bulk actions: at most 32 of 1 to 64 bytes each. Several Tags options add up;
// a label that is there already is not repeated.
type Tags []string

func (t Tags) insert(d *draft) error {
	for _, tag := range t {
		if tag == "" {
			return fmt.Errorf("%w: Tags has an empty label", ErrInvalid)
		}
		if len(tag) > maxTag {
			return fmt.Errorf("%w: Tags label %s has %d bytes, more than %d", ErrInvalid, quote(tag), len(tag), maxTag)
		}
		if !slices.Contains(d.Tags, tag) {
			d.Tags = append(d.Tags, tag)
		}
	}
	if len(d.Tags) > maxTags {
		return fmt.Errorf("%w: Tags has %d labels, more than %d", ErrTooLarge, len(d.Tags), maxTags)
	}
	return nil
}

// Title is the name that people see for a job, instead of its kind. It is cut to 200 bytes.
type Title string

func (t Title) insert(d *draft) error {
	d.Title, d.titled = string(t), true
	return nil
}

// Meta is data about a job beside its args: at most 64 keys, 16 KiB in all. Several Meta options are merged key by key. Keys
// that begin with "kiln." are kiln's own.
type Meta map[string]string

func (m Meta) insert(d *draft) error {
	if d.Meta == nil {
		d.Meta = make(map[string]string, len(m))
	}
	maps.Copy(d.Meta, m)
	return checkMeta(d.Meta)
}

func checkMeta(meta map[string]string) error {
	size := 0
	for k, v := range meta {
		if k == "" {
			return fmt.Errorf("%w: Meta has an empty key (its value is %s)", ErrInvalid, quote(v))
		}
		size += len(k) + len(v)
	}
	if len(meta) > maxMetaLen {
		return fmt.Errorf("%w: Meta has %d keys, more than %d", ErrTooLarge, len(meta), maxMetaLen)
	}
	if size > maxMeta {
		return fmt.Errorf("%w: Meta has %d bytes of keys and values, more than %d", ErrTooLarge, size, maxMeta)
	}
	return nil
}

// Deadline is the instant, by the store's clock, after which a job is not started any more: it is deleted instead, with the
// reason "deadline". The zero time is no deadline. A run that has started is not ended by it.
type Deadline time.Time

// deadlineKey is the meta key that carries a job's deadline to the server that runs it.
const deadlineKey = "kiln.deadline"

func (t Deadline) insert(d *draft) error {
	d.deadline = time.Time(t)
	return nil
}

// setDeadline writes the deadline into the job, after the caller's own meta was checked.
func (d *draft) setDeadline() {
	if d.deadline.IsZero() {
		return
	}
	d.InsertParams.Deadline = d.deadline
	if d.Meta == nil {
		d.Meta = make(map[string]string, 1)
	}
	d.Meta[deadlineKey] = d.deadline.UTC().Format(time.RFC3339Nano)
}

// deadlineOf reads the deadline that a job carries, the zero time when it has none.
func deadlineOf(meta map[string]string) time.Time {
	text, ok := meta[deadlineKey]
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
