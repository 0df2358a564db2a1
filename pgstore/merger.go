package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kilnjobs/kiln/driver"
)

const (
	// mergeLanes is how many merged inserts may be under way: while one waits for the disk, the next one is collected and sent.
	mergeLanes = 2
	// mostMerged bounds one of them, in jobs.
	mostMerged = 1000
	// grace is how long a caller whose context has ended waits for an insert that is being written just then.
	grace = time.Second
)

// merger puts the small inserts that arrive while others are being written into one statement, so that many callers need few
// connections and share the wait for the disk. A call that comes when nothing is under way goes at once.
type merger struct {
	s *Store

	mu      sync.Mutex
	waiting []*insertCall
	closed  bool

	wake    chan struct{}
	stopped sync.WaitGroup
}

// insertCall is one caller's jobs. They belong to the merger until done is closed, and hold nothing that the caller could write to.
type insertCall struct {
	ctx    context.Context
	drafts []draft
	err    error
	done   chan struct{}
}

func (m *merger) start(s *Store, conns int) {
	m.s = s
	lanes := max(1, min(mergeLanes, conns-1))
	m.wake = make(chan struct{}, lanes)
	for range lanes {
		m.stopped.Go(m.loop)
	}
}

func (m *merger) stop() {
	m.mu.Lock()
	m.closed = true
	left := m.waiting
	m.waiting = nil
	m.mu.Unlock()
	for _, c := range left {
		c.err = errClosed
		close(c.done)
	}
	m.stopped.Wait()
}

// insert stores prompt jobs.
func (m *merger) insert(ctx context.Context, drafts []draft) error {
	if err := m.s.usable(ctx); err != nil {
		return err
	}
	c := &insertCall{ctx: ctx, drafts: drafts, done: make(chan struct{})}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return errClosed
	}
	m.waiting = append(m.waiting, c)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if m.leave(c) {
		return ctx.Err()
	}
	// It is on its way, perhaps with others that do not end with it.
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.err
	case <-timer.C:
		return fmt.Errorf("%w: the insert was under way: %w", driver.ErrUnknown, ctx.Err())
	}
}

// leave takes a call back that nobody has begun to write.
func (m *merger) leave(c *insertCall) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.waiting, c)
	if i < 0 {
		return false
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	return true
}

func (m *merger) loop() {
	for {
		select {
		case <-m.s.ctx.Done():
			return
		case <-m.wake:
		}
		for {
			calls := m.next()
			if len(calls) == 0 {
				break
			}
			m.write(calls)
		}
	}
}

// next takes the calls that have come meanwhile, in order.
func (m *merger) next() []*insertCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, jobs := 0, 0
	for n < len(m.waiting) && (n == 0 || jobs+len(m.waiting[n].drafts) <= mostMerged) {
		jobs += len(m.waiting[n].drafts)
		n++
	}
	calls := slices.Clone(m.waiting[:n])
	m.waiting = slices.Delete(m.waiting, 0, n)
	if len(m.waiting) > 0 {
		select {
		case m.wake <- struct{}{}: // another lane may begin with them
		default:
		}
	}
	return calls
}

// write inserts the jobs of some calls together, or, when the database refuses them, each call's for themselves.
func (m *merger) write(calls []*insertCall) {
	ctx, cancel := m.within(calls)
	err := m.s.insertPrompt(ctx, calls)
	cancel()
	if err == nil || len(calls) == 1 || errors.Is(err, driver.ErrUnknown) {
		for _, c := range calls {
			c.err = ended(c.ctx, err)
			close(c.done)
		}
		return
	}
	for _, c := range calls {
		c.err = ended(c.ctx, m.s.insertPrompt(c.ctx, []*insertCall{c}))
		close(c.done)
	}
}

// within is the context of merged calls: that of a single one is its caller's; others do not end with one of them.
func (m *merger) within(calls []*insertCall) (context.Context, context.CancelFunc) {
	if len(calls) == 1 {
		return calls[0].ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(calls[0].ctx), patience)
}

// insertPrompt inserts prompt jobs by one statement.
func (s *Store) insertPrompt(ctx context.Context, calls []*insertCall) error {
	n := 0
	for _, c := range calls {
		n += len(c.drafts)
	}
	p := newPrompts(n)
	for _, c := range calls {
		for i := range c.drafts {
			p.add(&c.drafts[i])
		}
	}
	ids := make([]int64, 0, n)
	err := s.retried(ctx, func() error {
		ids = ids[:0]
		return s.batched(ctx, func(batch *pgx.Batch) {
			batch.Queue(s.texts.SQL("insert_prompt"), s.clockMicros(), p.queues, p.kinds, p.priorities, p.attempts, p.timeouts, p.flags,
				p.recurring, p.titles, p.tags, p.metas, p.args).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					var id int64
					if err := rows.Scan(&id); err != nil {
						return err
					}
					ids = append(ids, id)
				}
				return rows.Err()
			})
		})
	})
	if err != nil {
		return named("insert", err)
	}
	slices.Sort(ids)
	w := &work{store: s}
	next := 0
	for _, c := range calls {
		for i := range c.drafts {
			d := &c.drafts[i]
			d.id, d.state = ids[next], driver.Enqueued
			next++
			w.ready(d.queue, d.rank(), d.id)
		}
	}
	s.tell(w)
	return nil
}

// prompts are the columns of prompt jobs.
type prompts struct {
	queues, kinds                  []string
	priorities                     []int16
	attempts, flags                []int32
	timeouts                       []int64
	recurring, titles, tags, metas []*string
	args                           [][]byte
}

func newPrompts(n int) *prompts {
	optional := make([]*string, 4*n)
	return &prompts{
		queues: make([]string, 0, n), kinds: make([]string, 0, n), priorities: make([]int16, 0, n), attempts: make([]int32, 0, n),
		flags: make([]int32, 0, n), timeouts: make([]int64, 0, n), args: make([][]byte, 0, n),
		recurring: optional[:0:n], titles: optional[n : n : 2*n], tags: optional[2*n : 2*n : 3*n], metas: optional[3*n : 3*n : 4*n],
	}
}

func (p *prompts) add(d *draft) {
	p.queues, p.kinds, p.priorities = append(p.queues, d.queue), append(p.kinds, d.kind), append(p.priorities, d.priority)
	p.attempts, p.flags, p.timeouts = append(p.attempts, d.maxAttempts), append(p.flags, d.flags), append(p.timeouts, d.timeout)
	p.recurring, p.titles = append(p.recurring, textOrNull(&d.recurring)), append(p.titles, textOrNull(&d.title))
	p.tags, p.metas, p.args = append(p.tags, textOrNull(&d.tags)), append(p.metas, textOrNull(&d.meta)), append(p.args, d.args)
}
