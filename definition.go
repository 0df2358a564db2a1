package kiln

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/cron"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/engine"
)

// RecurringOption changes how a recurring job fires, or the jobs that it fires: [TZ], [Misfire] and [Overlap], and of the options of
// jobs [Queue], [Priority], [MaxAttempts], [Timeout], [Tags], [Meta] and [Limit]. A later option replaces an earlier one of the same type,
// except Meta, which is merged, and Tags, which add up. A nil option is ignored.
type RecurringOption interface {
	// recurring changes the definition that is being built.
	recurring(*recurringDraft) error
}

// TZ is the IANA name of the time zone in which a recurring job's spec is meant, such as "America/Sao_Paulo"; UTC without it. Zones
// come from the system, or from package time/tzdata where a program imports it.
type TZ string

// Misfire says what happens to times that passed while no server was running. Without it a recurring job has [MisfireOnce].
type Misfire uint8

// The misfire policies.
const (
	// MisfireOnce fires one job, for the latest time that was missed.
	MisfireOnce = Misfire(driver.MisfireOnce)
	// MisfireAll fires one job for each time that was missed.
	MisfireAll = Misfire(driver.MisfireAll)
	// MisfireSkip fires nothing, unless the latest time is at most a minute ago.
	MisfireSkip = Misfire(driver.MisfireSkip)
)

// Overlap says whether a recurring job fires while an earlier job of its has not succeeded, failed or been deleted. With
// Overlap(false) that time is skipped. Without the option it fires all the same.
type Overlap bool

// definition is a recurring job as the application wants it.
type definition struct{ driver.Recurring }

// recurringDraft is a definition that is being built.
type recurringDraft struct {
	draft
	definition
}

func (z TZ) recurring(d *recurringDraft) error {
	d.Location = string(z)
	if z == "" {
		return fmt.Errorf("%w: TZ is empty", ErrInvalid)
	}
	_, err := engine.Location(d.Location)
	return err
}

func (m Misfire) recurring(d *recurringDraft) error {
	d.Misfire = driver.Misfire(m)
	if m > MisfireSkip {
		return fmt.Errorf("%w: Misfire %d is not one of MisfireOnce, MisfireAll and MisfireSkip", ErrInvalid, m)
	}
	return nil
}

func (o Overlap) recurring(d *recurringDraft) error {
	d.Overlap = bool(o)
	return nil
}

func (q Queue) recurring(d *recurringDraft) error       { return q.insert(&d.draft) }
func (p Priority) recurring(d *recurringDraft) error    { return p.insert(&d.draft) }
func (n MaxAttempts) recurring(d *recurringDraft) error { return n.insert(&d.draft) }
func (t Timeout) recurring(d *recurringDraft) error     { return t.insert(&d.draft) }
func (t Tags) recurring(d *recurringDraft) error        { return t.insert(&d.draft) }
func (m Meta) recurring(d *recurringDraft) error        { return m.insert(&d.draft) }

// newDefinition checks everything about a recurring job that needs no store.
func newDefinition(group string, spec RecurringSpec) (definition, error) {
	if err := checkRecurringName("ID", spec.ID); err != nil {
		return definition{}, err
	}
	def, err := buildDefinition(group, spec)
	if err != nil {
		return definition{}, fmt.Errorf("recurring job %s: %w", spec.ID, err)
	}
	return def, nil
}

func buildDefinition(group string, spec RecurringSpec) (definition, error) {
	schedule, err := cron.Parse(spec.Spec)
	if err != nil {
		return definition{}, err
	}
	d := recurringDraft{definition: definition{driver.Recurring{
		ID: spec.ID, Group: group, Spec: schedule.String(), Location: "UTC", Overlap: true,
	}}}
	p, err := build(spec.Args, func(j *draft) error {
		d.draft = *j
		for _, o := range spec.Options {
			if o == nil {
				continue
			}
			if err := o.recurring(&d); err != nil {
				return err
			}
		}
		*j = d.draft
		return nil
	})
	if err != nil {
		return definition{}, err
	}
	if p.BatchID != 0 || p.AfterBatch != 0 || len(p.Parents) > 0 {
		return definition{}, fmt.Errorf("%w: InsertOptions of kind %s name jobs or a batch, which a recurring job cannot wait for or join", ErrInvalid, p.Kind)
	}
	p.RunAt, p.Delay = time.Time{}, 0
	if err := driver.CheckInsert([]driver.InsertParams{p}); err != nil {
		return definition{}, err
	}
	d.definition.Template = storedParams(p)
	return d.definition, nil
}

// storedParams is a template as stores give it back, so that it can be compared with what they have.
func storedParams(p driver.InsertParams) driver.InsertParams {
	clean := func(s string) string {
		return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	p.Title = clean(p.Title)
	for i := range p.Tags {
		p.Tags[i] = clean(p.Tags[i])
	}
	if p.Timeout > 0 {
		p.Timeout = (p.Timeout-1)/time.Millisecond*time.Millisecond + time.Millisecond
	} else if p.Timeout < 0 {
		p.Timeout = -1
	}
	if !p.Deadline.IsZero() {
		p.Deadline = time.UnixMicro(p.Deadline.UnixMicro()).UTC()
	}
	if len(p.Meta) == 0 {
		p.Meta = nil
	}
	if len(p.Tags) == 0 {
		p.Tags = nil
	}
	if len(p.UniqueKey) == 0 {
		p.UniqueKey = nil
	}
	if len(p.Parents) == 0 {
		p.Parents = nil
	}
	return p
}

// compare says whether a stored recurring job is as it is wanted, and whether it has to be scheduled anew.
func (def *definition) compare(stored *driver.Recurring) (same, moved bool) {
	moved = stored.Version == 0 || stored.NextRunAt.IsZero() || stored.Spec != def.Spec || stored.Location != def.Location
	want := *stored
	def.apply(&want)
	have := *stored
	have.Template = storedParams(have.Template)
	return !moved && reflect.DeepEqual(have, want), moved
}

// apply gives a stored recurring job everything that the definition says.
func (def *definition) apply(r *driver.Recurring) {
	r.Group, r.Spec, r.Location = def.Group, def.Spec, def.Location
	r.Template, r.Misfire, r.Overlap = def.Template, def.Misfire, def.Overlap
}
