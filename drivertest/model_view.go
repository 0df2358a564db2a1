package drivertest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// compare reads everything on both sides.
func (m *model) compare() {
	m.Helper()
	for n := 1; n <= m.jobs; n++ {
		m.same(fmt.Sprintf("job %d", n), func(s *side) (any, error) { return s.record(m, n) })
	}
	for n := 1; n <= m.batches; n++ {
		m.same(fmt.Sprintf("batch %d", n), func(s *side) (any, error) {
			b, err := s.s.Batch(m.ctx, s.batches.id(n))
			return s.batch(b), err
		})
	}
	for _, state := range driver.States {
		m.same("the page of "+string(state), func(s *side) (any, error) {
			page, err := s.s.Jobs(m.ctx, driver.JobQuery{State: state, Limit: 500})
			var order []int64
			for i := range page.Records {
				order = append(order, s.jobs.number(page.Records[i].ID))
			}
			return order, err
		})
	}
	m.same("the counts", func(s *side) (any, error) { return s.s.Counts(m.ctx) })
	m.same("the queues", func(s *side) (any, error) { return s.s.Queues(m.ctx) })
	m.same("the statistics", func(s *side) (any, error) {
		return s.s.Series(m.ctx, m.clock.Add(-1000*time.Hour), m.clock.Add(time.Hour), time.Hour)
	})
	m.same("the servers", func(s *side) (any, error) {
		servers, err := s.s.Servers(m.ctx)
		var ids []string
		for _, info := range servers {
			ids = append(ids, info.ID+" "+info.HeartbeatAt.String())
		}
		return ids, err
	})
	m.same("the limits", func(s *side) (any, error) {
		r, ok := s.s.(driver.LimitReader)
		if !ok {
			return nil, nil
		}
		limits, err := r.Limits(m.ctx, "", 100)
		return append([]driver.LimitInfo{}, limits...), err
	})
	m.same("the recurring jobs", func(s *side) (any, error) {
		list, err := s.s.Recurrings(m.ctx)
		return s.recurrings(list), err
	})
}

// same compares what both sides show without noting an operation.
func (m *model) same(what string, read func(s *side) (any, error)) {
	m.Helper()
	var values [2]any
	var errs [2]error
	for i, s := range m.sides {
		values[i], errs[i] = read(s)
	}
	if sentinel(errs[0]) != sentinel(errs[1]) {
		m.Errorf("%s: %s returns %v, %s returns %v", what, m.sides[0].name, errs[0], m.sides[1].name, errs[1])
		return
	}
	if errs[0] == nil && !reflect.DeepEqual(values[0], values[1]) {
		m.Errorf("%s differs:\n    %s: %+v\n    %s: %+v", what, m.sides[0].name, values[0], m.sides[1].name, values[1])
	}
}

// shown is a job as both sides must show it: the store's own ids are numbers, and empty is nil.
type shown struct {
	driver.Record
	lines []driver.LogLine
}

func (s *side) record(m *model, n int) (any, error) {
	r, err := s.s.Job(m.ctx, s.jobs.id(n))
	if errors.Is(err, driver.ErrNotFound) {
		return "gone", nil
	}
	if err != nil {
		return nil, err
	}
	s.job(&r.Job)
	r.AfterBatch = s.batches.number(r.AfterBatch)
	r.Children = s.list(r.Children)
	slices.Sort(r.Children)
	r.History = append([]driver.Entry{}, r.History...)
	for i := range r.History {
		// Of several parents that doom a job in one call, the contract does not say which is named.
		if e := &r.History[i]; len(r.Parents) > 1 && strings.HasPrefix(e.Reason, "parent ") {
			e.Reason = "parent"
		}
	}
	r.Output = append([]byte{}, r.Output...)
	v := shown{Record: r}
	if c, ok := s.s.(driver.Console); ok {
		if v.lines, err = c.Logs(m.ctx, s.jobs.id(n), 0, 1000); err != nil {
			return nil, err
		}
		v.lines = append([]driver.LogLine{}, v.lines...)
		for i := range v.lines {
			v.lines[i].Seq = 0
		}
	}
	return v, nil
}

// job puts numbers in the place of ids.
func (s *side) job(j *driver.Job) {
	j.ID = s.jobs.number(j.ID)
	j.BatchID = s.batches.number(j.BatchID)
	j.Parents = s.list(j.Parents)
	slices.Sort(j.Parents)
	if len(j.Meta) == 0 {
		j.Meta = nil
	}
	if len(j.Tags) == 0 {
		j.Tags = nil
	}
}

func (s *side) list(ids []int64) []int64 {
	out := []int64{}
	for _, id := range ids {
		out = append(out, s.jobs.number(id))
	}
	return out
}

func (s *side) batch(b driver.Batch) driver.Batch {
	b.ID, b.Parent = s.batches.number(b.ID), s.batches.number(b.Parent)
	counts := map[driver.State]int64{}
	for state, n := range b.Counts {
		if n != 0 {
			counts[state] = n
		}
	}
	b.Counts = counts
	if len(b.Meta) == 0 {
		b.Meta = nil
	}
	return b
}

func (s *side) recurrings(list []driver.Recurring) []driver.Recurring {
	out := []driver.Recurring{}
	for _, r := range list {
		r.LastJobID = s.jobs.number(r.LastJobID)
		r.Template = plainTemplate(r.Template)
		out = append(out, r)
	}
	return out
}

// plainTemplate makes empty values the same on both sides.
func plainTemplate(p driver.InsertParams) driver.InsertParams {
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
