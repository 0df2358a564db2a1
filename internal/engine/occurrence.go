package engine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/cron"
	"github.com/kilnjobs/kiln/driver"
)

// OccurrenceKey is the meta key that carries the scheduled instant of a fired job.
const OccurrenceKey = "kiln.occurrence"

// Location loads the time zone of a recurring job. The process's own zone is none that every server has in common.
func Location(name string) (*time.Location, error) {
	switch name {
	case "":
		return time.UTC, nil
	case "Local":
		return nil, fmt.Errorf("%w: time zone %q is another one on every server", driver.ErrInvalid, name)
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%w: time zone %.100q is unknown: %w", driver.ErrInvalid, name, err)
	}
	return l, nil
}

// NextRun is the first time of a recurring job after an instant, in UTC, zero when there is none.
func NextRun(spec, location string, after time.Time) (time.Time, error) {
	schedule, err := cron.Parse(spec)
	if err != nil {
		return time.Time{}, err
	}
	l, err := Location(location)
	if err != nil {
		return time.Time{}, err
	}
	if next := schedule.Next(after.In(l)); !next.IsZero() {
		return next.UTC(), nil
	}
	return time.Time{}, nil
}

// UniqueKey is how a unique key is stored: the first 16 bytes of a hash of the kind and the key.
func UniqueKey(kind string, key []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(kind), []byte{0}, key))
	return sum[:16]
}

// Triggered is the job that a recurring job stands for, to be run now. One that must not overlap holds a key of its own while it is
// live.
func Triggered(r *driver.Recurring) driver.InsertParams {
	p := r.Template
	p.RecurringID = r.ID
	p.RunAt, p.Delay = time.Time{}, 0
	p.Args, p.Tags, p.Meta = bytes.Clone(p.Args), slices.Clone(p.Tags), maps.Clone(p.Meta)
	if !r.Overlap {
		p.UniqueKey = UniqueKey("kiln.recurring", []byte(r.ID))
		p.UniqueFor, p.UniqueReplace, p.UniqueDebounce = 0, false, 0
	}
	return p
}

// occurrence is the job of one occurrence.
func occurrence(r *driver.Recurring, at time.Time) driver.InsertParams {
	p := Triggered(r)
	p.RunAt = at
	if p.Meta == nil {
		p.Meta = make(map[string]string, 1)
	}
	p.Meta[OccurrenceKey] = at.UTC().Format(time.RFC3339)
	return p
}

// step computes what a due recurring job fires, and its next run. differs says that its next run is no time of its schedule, as when
// another server with other time zone data computed it.
func step(r *driver.Recurring, now time.Time) (f driver.Fire, differs bool, err error) {
	schedule, err := cron.Parse(r.Spec)
	if err != nil {
		return f, false, err
	}
	location, err := Location(r.Location)
	if err != nil {
		return f, false, err
	}
	if r.Template.Kind == "" {
		return f, false, fmt.Errorf("%w: its template cannot be read", driver.ErrInvalid)
	}
	next := func(t time.Time) time.Time { return schedule.Next(t.In(location)) }
	due := r.NextRunAt
	m := missed{next: next, due: due, last: r.LastRunAt, now: now}
	if !schedule.Interval() {
		m.next, differs = once(next, due.In(location))
	}
	fire, nextRun := m.resolve(r.Misfire)
	f = driver.Fire{ID: r.ID, Version: r.Version, NextRunAt: nextRun.UTC(), LastRunAt: r.LastRunAt}
	if nextRun.IsZero() {
		f.NextRunAt = time.Time{}
	}
	for _, at := range fire {
		f.Jobs = append(f.Jobs, occurrence(r, at))
		f.LastRunAt = at.UTC()
	}
	return f, differs, nil
}
