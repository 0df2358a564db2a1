package drivertest

import (
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// operations are what a script can do, each as often as it is worth.
var operations = []struct {
	worth int
	run   func(m *model)
}{
	{10, (*model).insert},
	{8, (*model).claim},
	{10, (*model).finish},
	{6, (*model).pass},
	{5, (*model).promote},
	{2, (*model).openBatch},
	{2, (*model).sealBatch},
	{2, (*model).transact},
	{2, (*model).deleteJobs},
	{2, (*model).requeueJobs},
	{1, (*model).pauseQueue},
	{1, (*model).beat},
	{1, (*model).unregister},
	{1, (*model).orphans},
	{1, (*model).setMeta},
	{1, (*model).writeConsole},
	{1, (*model).prune},
	{2, (*model).putRecurring},
	{2, (*model).fire},
}

func (m *model) step() {
	total := 0
	for _, op := range operations {
		total += op.worth
	}
	n := m.pick(total)
	for _, op := range operations {
		if n -= op.worth; n < 0 {
			op.run(m)
			return
		}
	}
}

func (m *model) pass() {
	d := choose(&m.choices, time.Millisecond, 20*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond, time.Second, time.Minute, time.Hour)
	m.clock = m.clock.Add(d)
	m.note("pass %s", d)
}

// claimed is what a claim hands out, with numbers for ids.
type claimed struct {
	driver.Job
}

func (m *model) claim() {
	q := driver.ClaimQuery{
		Queues: choose(&m.choices, []string{"a"}, []string{"a", "b"}, []string{"b", "a"}, []string{"b"}),
		Kinds:  choose(&m.choices, nil, []string{"x"}, []string{"x", "y"}, []string{"y"}),
		Limit:  1 + m.pick(5), Server: choose(&m.choices, server1, server2),
	}
	m.both(fmt.Sprintf("Claim %+v", q), func(s *side) (any, error) {
		jobs, err := s.s.Claim(m.ctx, q)
		out := []claimed{}
		for _, j := range jobs {
			s.job(&j)
			out = append(out, claimed{j})
			m.held[int(j.ID)] = j.Claim
		}
		return out, err
	})
}

// ref is a job that runs, or one that does not.
func (m *model) ref() (number int, claim int32) {
	if len(m.held) > 0 && !m.one(12) {
		skip := m.pick(len(m.held))
		for n := 1; n <= m.jobs; n++ {
			if c, ok := m.held[n]; ok {
				if skip == 0 {
					return n, c
				}
				skip--
			}
		}
	}
	return 1 + m.pick(m.jobs+1), int32(m.pick(3))
}

func (m *model) finish() {
	outs := make([]driver.Outcome, 1+m.pick(4))
	for i := range outs {
		n, claim := m.ref()
		out := driver.Outcome{Ref: driver.Ref{ID: int64(n), Claim: claim}}
		switch m.pick(8) {
		case 0, 1, 2:
			out.State = driver.Succeeded
			out.Output = choose(&m.choices, nil, []byte(`{"n":1}`), []byte(`{`))
		case 3:
			out.State, out.Reason, out.Error = driver.Failed, "exhausted", "boom"
		case 4:
			out.State, out.Reason = driver.Deleted, "canceled"
		case 5:
			out.State, out.Reason, out.Delay = driver.Scheduled, "retry", choose(&m.choices, 100*time.Millisecond, 0, time.Second)
		case 6:
			out.State, out.Reason, out.Delay, out.Refund = driver.Scheduled, "snoozed", 250*time.Millisecond, true
		case 7:
			out.State, out.Reason, out.Refund = driver.Enqueued, choose(&m.choices, "shutdown", ""), m.one(2)
		}
		outs[i] = out
	}
	m.both(fmt.Sprintf("Finish %+v", outs), func(s *side) (any, error) {
		own := make([]driver.Outcome, len(outs))
		for i, out := range outs {
			out.ID = s.jobs.id(int(out.ID))
			own[i] = out
		}
		return s.s.Finish(m.ctx, server1, own)
	})
	m.letGo()
}

// letGo forgets the claims of jobs that do not run any more.
func (m *model) letGo() {
	for n := range m.held {
		r, err := m.sides[0].s.Job(m.ctx, m.sides[0].jobs.id(n))
		if err != nil || r.State != driver.Processing {
			delete(m.held, n)
		}
	}
}

func (m *model) promote() {
	limit := 1 + m.pick(10)
	m.both(fmt.Sprintf("Promote %d", limit), func(s *side) (any, error) {
		p, err := s.s.Promote(m.ctx, limit)
		if p.Next > 0 {
			p.Next = max(p.Next, 10*time.Millisecond) // while due ones remain it is anything up to that
		}
		p.Queues = append([]string{}, p.Queues...)
		return p, err
	})
}

// filter is a filter with numbers for ids, and the real one for a side.
func (m *model) filter() (what string, own func(s *side) driver.Filter) {
	var f driver.Filter
	var ids []int
	if m.one(2) {
		for range 1 + m.pick(3) {
			ids = append(ids, 1+m.pick(m.jobs+1))
		}
	} else {
		f.State = driver.States[m.pick(len(driver.States))]
	}
	f.Queue = choose(&m.choices, "", "", "", "a")
	f.Kind = choose(&m.choices, "", "", "", "y")
	batch := 0
	if m.one(6) && m.batches > 0 {
		batch = 1 + m.pick(m.batches)
	}
	return fmt.Sprintf("%v %+v batch %d", ids, f, batch), func(s *side) driver.Filter {
		f := f
		for _, n := range ids {
			f.IDs = append(f.IDs, s.jobs.id(n))
		}
		if batch > 0 {
			f.BatchID = s.batches.id(batch)
		}
		return f
	}
}

func (m *model) deleteJobs() {
	what, own := m.filter()
	m.both("Delete "+what, func(s *side) (any, error) { return s.s.Delete(m.ctx, own(s)) })
}

func (m *model) requeueJobs() {
	what, own := m.filter()
	m.both("Requeue "+what, func(s *side) (any, error) {
		return s.s.Requeue(driver.WithActor(m.ctx, "ada"), own(s))
	})
}

func (m *model) pauseQueue() {
	queue, paused := choose(&m.choices, "a", "b", ""), m.one(2)
	m.both(fmt.Sprintf("PauseQueue %q %v", queue, paused), func(s *side) (any, error) { return nil, s.s.PauseQueue(m.ctx, queue, paused) })
}

func (m *model) beat() {
	info := driver.ServerInfo{ID: choose(&m.choices, server1, server2), Host: "h", Queues: []string{"a"}, Workers: 3}
	m.both("Heartbeat "+info.ID, func(s *side) (any, error) {
		d, err := s.s.Heartbeat(m.ctx, info)
		leases := []driver.Lease{}
		for _, l := range d.Leases {
			l.ID = s.jobs.number(l.ID)
			leases = append(leases, l)
		}
		return driver.Directives{Leases: leases, Paused: append([]string{}, d.Paused...)}, err
	})
}

func (m *model) unregister() {
	id := choose(&m.choices, server1, server2)
	m.both("Unregister "+id, func(s *side) (any, error) { return nil, s.s.Unregister(m.ctx, id) })
}

func (m *model) orphans() {
	dead := choose(&m.choices, time.Second, time.Hour)
	m.both(fmt.Sprintf("Orphans %s", dead), func(s *side) (any, error) {
		list, err := s.s.Orphans(m.ctx, dead, 100)
		out := []driver.Orphan{}
		for _, o := range list {
			o.ID = s.jobs.number(o.ID)
			out = append(out, o)
		}
		return out, err
	})
}

func (m *model) setMeta() {
	n, claim := m.ref()
	meta := map[string]string{choose(&m.choices, "k", "l"): choose(&m.choices, "1", "2")}
	m.both(fmt.Sprintf("SetMeta %d/%d %v", n, claim, meta), func(s *side) (any, error) {
		return nil, s.s.SetMeta(m.ctx, driver.Ref{ID: s.jobs.id(n), Claim: claim}, meta)
	})
}

func (m *model) writeConsole() {
	n, claim := m.ref()
	lines := choose(&m.choices, nil, []string{"one"}, []string{"two", ""})
	progress := choose(&m.choices, -1, 30, 100)
	m.both(fmt.Sprintf("WriteConsole %d/%d %q %d", n, claim, lines, progress), func(s *side) (any, error) {
		c, ok := s.s.(driver.Console)
		if !ok {
			return nil, nil
		}
		return nil, c.WriteConsole(m.ctx, driver.Ref{ID: s.jobs.id(n), Claim: claim}, lines, progress)
	})
}

func (m *model) prune() {
	p := driver.PruneParams{Retention: driver.Retention{
		Succeeded: choose(&m.choices, -1, 0, time.Minute), Deleted: choose(&m.choices, -1, 0, time.Minute), Failed: choose(&m.choices, -1, 0, time.Minute),
	}, Servers: choose(&m.choices, 0, time.Minute)}
	m.both(fmt.Sprintf("Prune %+v", p), func(s *side) (any, error) {
		// What a batch or a key is left with may go with a call, or with the next one.
		total := 0
		for range 5 {
			n, err := s.s.Prune(m.ctx, p)
			if total += n; err != nil || n == 0 {
				return total, err
			}
		}
		return total, nil
	})
	m.letGo()
}
