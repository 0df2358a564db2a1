package drivertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// mostJobs bounds the jobs of a script, since all are compared after each operation.
const mostJobs = 60

// wanted is a job with numbers for ids.
type wanted struct {
	driver.InsertParams
	batch, afterBatch int
	// parents are numbers of jobs, or below 0 positions in the call counted from -1.
	parents []parentWanted
}

type parentWanted struct {
	number int
	on     driver.Mask
}

func (w *wanted) String() string {
	p := w.InsertParams
	var b strings.Builder
	fmt.Fprintf(&b, "{%s/%s prio %d delay %s attempts %d", p.Queue, p.Kind, p.Priority, p.Delay, p.MaxAttempts)
	if len(p.UniqueKey) > 0 {
		fmt.Fprintf(&b, " unique %q for %s replace %v debounce %s", p.UniqueKey, p.UniqueFor, p.UniqueReplace, p.UniqueDebounce)
	}
	if p.LimitKey != "" {
		fmt.Fprintf(&b, " limit %q max %d rate %d per %s burst %d", p.LimitKey, p.LimitMax, p.LimitRate, p.LimitPer, p.LimitBurst)
	}
	if !p.Deadline.IsZero() {
		fmt.Fprintf(&b, " deadline %s", p.Deadline.Format("15:04:05.000"))
	}
	fmt.Fprintf(&b, " batch %d after %d parents %v}", w.batch, w.afterBatch, w.parents)
	return b.String()
}

// own is the job for one side.
func (w *wanted) own(s *side) driver.InsertParams {
	p := w.InsertParams
	if w.batch > 0 {
		p.BatchID = s.batches.id(w.batch)
	}
	if w.afterBatch > 0 {
		p.AfterBatch = s.batches.id(w.afterBatch)
	}
	for _, parent := range w.parents {
		if parent.number < 0 {
			p.Parents = append(p.Parents, driver.Parent{Index: -parent.number - 1, On: parent.on})
		} else {
			p.Parents = append(p.Parents, driver.Parent{ID: s.jobs.id(parent.number), On: parent.on})
		}
	}
	return p
}

// want draws the jobs of one call.
func (m *model) want() []wanted {
	jobs := make([]wanted, 1+m.pick(4))
	for i := range jobs {
		w := &jobs[i]
		w.InsertParams = driver.InsertParams{
			Kind: choose(&m.choices, "x", "y"), Queue: choose(&m.choices, "a", "a", "b"), Args: []byte(fmt.Sprintf(`{"n":%d}`, m.pick(9))),
			MaxAttempts: 1 + m.pick(3), Priority: choose[int16](&m.choices, 0, 0, 0, 1, -1),
			Delay: choose[time.Duration](&m.choices, 0, 0, 0, 100*time.Millisecond, time.Second, -1),
		}
		if m.one(6) {
			w.Title, w.Tags, w.Meta = "t", []string{"red"}, map[string]string{"m": "1"}
		}
		if m.one(8) {
			w.Deadline = m.clock.Add(choose(&m.choices, 250*time.Millisecond, -time.Second, time.Minute))
		}
		m.wantUnique(w)
		m.wantLimit(w)
		m.wantFlow(w, i, len(jobs))
	}
	return jobs
}

func (m *model) wantUnique(w *wanted) {
	if !m.one(4) {
		return
	}
	w.UniqueKey = []byte(choose(&m.choices, "u0000000000000001", "u0000000000000002"))
	w.UniqueFor = choose[time.Duration](&m.choices, 0, 0, time.Second)
	switch m.pick(4) {
	case 0:
		w.UniqueReplace = true
	case 1:
		w.UniqueDebounce = 250 * time.Millisecond
	}
}

func (m *model) wantLimit(w *wanted) {
	if !m.one(3) {
		return
	}
	w.LimitKey = choose(&m.choices, "k", "l")
	w.LimitMax = choose(&m.choices, 1, 2, 0)
	if w.LimitMax == 0 || m.one(3) {
		w.LimitRate, w.LimitPer, w.LimitBurst = 1+m.pick(4), time.Second, 1+m.pick(3)
	}
}

func (m *model) wantFlow(w *wanted, index, total int) {
	if m.batches > 0 && m.one(4) {
		w.batch = 1 + m.pick(m.batches)
	}
	if m.batches > 0 && m.one(8) {
		w.afterBatch = 1 + m.pick(m.batches+1)
	}
	for m.one(4) && len(w.parents) < 3 {
		p := parentWanted{on: choose(&m.choices, driver.OnSucceeded, driver.OnFinished, driver.OnFailed, driver.OnDeleted)}
		if p.number = 1 + m.pick(m.jobs+1); total > 1 && m.one(2) {
			p.number = -1 - m.pick(total)
		}
		w.parents = append(w.parents, p)
	}
}

func (m *model) insert() {
	if m.jobs >= mostJobs {
		m.pass()
		return
	}
	jobs := m.want()
	m.insertWith(fmt.Sprintf("Insert %v", pointers(jobs)), jobs, func(s *side) driver.Writer { return s.s })
}

func pointers(jobs []wanted) []*wanted {
	out := make([]*wanted, len(jobs))
	for i := range jobs {
		out[i] = &jobs[i]
	}
	return out
}

// insertWith inserts on both sides and gives numbers to what was inserted.
func (m *model) insertWith(what string, jobs []wanted, writer func(s *side) driver.Writer) error {
	m.Helper()
	added := 0
	err := m.both(what, func(s *side) (any, error) {
		own := make([]driver.InsertParams, len(jobs))
		for i := range jobs {
			own[i] = jobs[i].own(s)
		}
		results, err := writer(s).Insert(m.ctx, own)
		added = 0
		for i := range results {
			r := &results[i]
			if !r.Duplicate {
				s.jobs.add(r.ID)
				added++
			}
			if r.Duplicate || jobs[i].LimitKey != "" {
				given := driver.State("") // may be unknown, or reported before the admission
				if r.Replaced && r.State != "" {
					given = "given"
				}
				r.State = given
			}
			r.ID = s.jobs.number(r.ID)
		}
		return append([]driver.Inserted{}, results...), err
	})
	if err == nil {
		m.jobs += added
	}
	return err
}

func (m *model) openBatch() {
	if m.batches >= 8 {
		m.pass()
		return
	}
	m.openWith(func(s *side) driver.Writer { return s.s })
}

func (m *model) openWith(writer func(s *side) driver.Writer) error {
	m.Helper()
	parent := m.pick(m.batches + 2)
	err := m.both(fmt.Sprintf("OpenBatch in %d", parent), func(s *side) (any, error) {
		b := driver.NewBatch{Description: "d"}
		if parent > 0 {
			b.Parent = s.batches.id(parent)
		}
		id, err := writer(s).OpenBatch(m.ctx, b)
		if err == nil {
			s.batches.add(id)
		}
		return nil, err
	})
	if err == nil {
		m.batches++
	}
	return err
}

func (m *model) sealBatch() {
	n := 1 + m.pick(m.batches+1)
	m.both(fmt.Sprintf("SealBatch %d", n), func(s *side) (any, error) { return nil, s.s.SealBatch(m.ctx, s.batches.id(n)) })
}

var errRollback = errors.New("roll back")

// transact writes in one transaction on each side, and keeps it or not. The operations are drawn once: the script's rest is
// the same for the second side.
func (m *model) transact() {
	for _, s := range m.sides {
		if _, ok := s.s.(driver.Transactor); !ok {
			return
		}
	}
	if m.jobs >= mostJobs {
		m.pass()
		return
	}
	jobs, batches := m.jobs, m.batches
	before := [2]int{len(m.sides[0].jobs.ids), len(m.sides[1].jobs.ids)}
	var end error
	if m.one(3) {
		end = errRollback
	}
	m.note("begin")
	err := m.sides[0].s.(driver.Transactor).InTx(m.ctx, func(a driver.Writer) error {
		return m.sides[1].s.(driver.Transactor).InTx(m.ctx, func(b driver.Writer) error {
			writer := func(s *side) driver.Writer {
				if s == m.sides[0] {
					return a
				}
				return b
			}
			for range 1 + m.pick(3) {
				var err error
				if m.one(4) && m.batches < 8 {
					err = m.openWith(writer)
				} else {
					jobs := m.want()
					err = m.insertWith(fmt.Sprintf("  Insert %v", pointers(jobs)), jobs, writer)
				}
				if err != nil {
					return err
				}
			}
			return end
		})
	})
	m.note("end: %v", err)
	if err == nil {
		return
	}
	m.jobs, m.batches = jobs, batches
	for i, s := range m.sides {
		s.jobs.cut(before[i])
		s.batches.cut(batches)
	}
}
