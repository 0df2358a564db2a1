package pgstore

import (
	"context"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Flags say what is special about a job. They stand in its row and travel with it from state to state, so that a plain job
// never looks into a side table. Statements know some of them by their numbers, which never change.
const (
	flagUnique   = 1 << iota // holds, or held, a unique key
	flagLimit                // has a limit key
	flagParents              // waited for other jobs or for a batch
	flagChildren             // other jobs wait for it
	flagBatch                // is the member of a batch
	flagDeadline             // has a deadline
	flagMeta                 // its meta was changed by SetMeta
	flagOutput               // left an output
	flagGranted              // has a reserved start
	flagDetails              // has a title, tags, meta or a recurring job
)

// flagsShared are the flags of jobs whose coming and going changes what others share: keys, slots, batches, dependents.
const flagsShared = flagUnique | flagLimit | flagChildren | flagBatch

// draft is a job on its way into the database: everything that needs no transaction is worked out before one is open.
type draft struct {
	queue, kind       string
	args              []byte
	meta, tags, title string
	recurring         string
	priority          int16
	maxAttempts       int32
	timeout           int64
	flags             int32
	deadline          int64
	runAt             time.Time
	delay             time.Duration
	id, startAt       int64
	state             driver.State
	// keyed and limited are what a job with a unique key and one with a limit key brings, nil for others.
	keyed   *keyed
	limited *limited
	// wait is nil for most.
	wait *wait
}

// rank is the priority with its sign turned.
func (d *draft) rank() int32 { return -int32(d.priority) }

// prompt reports whether the job is ready at once and shares nothing with others, so that one statement inserts it.
func (d *draft) prompt() bool {
	return d.flags&^flagDetails == 0 && d.runAt.IsZero() && d.delay <= 0 && d.keyed == nil && d.wait == nil
}

// draftAll checks and copies the jobs of a call.
func draftAll(jobs []driver.InsertParams) ([]draft, error) {
	if err := driver.CheckInsert(jobs); err != nil {
		return nil, err
	}
	size := 0
	for i := range jobs {
		size += len(jobs[i].Args)
	}
	args := make([]byte, 0, size)
	drafts := make([]draft, len(jobs))
	for i := range jobs {
		p, d := &jobs[i], &drafts[i]
		at := len(args)
		args = append(args, p.Args...)
		*d = draft{
			queue: p.Queue, kind: p.Kind, args: args[at:len(args):len(args)],
			title: storekit.CleanTitle(p.Title), recurring: p.RecurringID,
			priority: p.Priority, maxAttempts: attempts(p.MaxAttempts), timeout: storekit.TimeoutMillis(p.Timeout),
			deadline: storekit.Micros(p.Deadline), runAt: p.RunAt, delay: p.Delay,
			keyed: draftKey(p), limited: draftLimit(p),
		}
		if d.keyed != nil {
			if d.keyed.window <= 0 {
				d.flags |= flagUnique
			}
			if p.UniqueDebounce > 0 {
				d.runAt, d.delay = time.Time{}, p.UniqueDebounce
			}
		}
		if d.limited != nil {
			d.flags |= flagLimit
		}
		if d.deadline != 0 {
			d.flags |= flagDeadline
		}
		var err error
		if d.meta, err = storekit.EncodeMeta(p.Meta); err != nil {
			return nil, err
		}
		if d.tags, err = storekit.EncodeTags(storekit.CleanTags(p.Tags)); err != nil {
			return nil, err
		}
		if d.meta != "" || d.tags != "" || d.title != "" || d.recurring != "" {
			d.flags |= flagDetails
		}
		d.draftWait(p)
	}
	return drafts, nil
}

// attempts is a number of attempts as the store keeps it.
func attempts(n int) int32 { return int32(min(n, 1<<31-1)) }

// Insert implements driver.Writer.
func (s *Store) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if len(jobs) == 0 {
		return nil, s.usable(ctx)
	}
	drafts, err := draftAll(jobs)
	if err != nil {
		return nil, err
	}
	switch {
	case !allPrompt(drafts):
		err = s.do(ctx, func(w *work) error { return w.insertAdmitted(drafts) })
	case len(drafts) >= copyFrom:
		err = s.copyIn(ctx, drafts)
	default:
		err = s.merger.insert(ctx, drafts)
	}
	if err != nil {
		return nil, err
	}
	return inserted(drafts), nil
}

func allPrompt(drafts []draft) bool {
	for i := range drafts {
		if !drafts[i].prompt() {
			return false
		}
	}
	return true
}

func inserted(drafts []draft) []driver.Inserted {
	out := make([]driver.Inserted, len(drafts))
	for i := range drafts {
		d := &drafts[i]
		out[i] = driver.Inserted{ID: d.id, State: d.state}
		if d.keyed != nil {
			out[i].Duplicate, out[i].Replaced = d.keyed.duplicate, d.keyed.merged.Replaced
		}
	}
	return out
}

// insert writes jobs in the order of steps that every kind of job goes through: ids and first states, payloads, state
// rows, what flags say, and whom to tell.
func (w *work) insert(drafts []draft) error {
	for i := range drafts {
		d := &drafts[i]
		d.flags &^= flagChildren // of an attempt before
		d.startAt = storekit.Micros(storekit.RunAt(&driver.InsertParams{RunAt: d.runAt, Delay: d.delay}, w.now))
	}
	for _, step := range []func([]draft) error{
		w.meet, w.number, w.resolve,
		// From here on nothing is refused.
		w.takeKeys, w.setRules, w.admitFitting, w.insertPayloads, w.insertStates, w.insertDeadlines, w.insertWaits,
	} {
		if err := step(drafts); err != nil {
			return err
		}
	}
	return nil
}

// number gives new jobs their ids and first states.
func (w *work) number(drafts []draft) error {
	fresh := 0
	for i := range drafts {
		if !drafts[i].duplicate() {
			fresh++
		}
	}
	if fresh > 0 {
		var ids []int64
		if err := w.ids(fresh, &ids); err != nil {
			return err
		}
		next := 0
		for i := range drafts {
			d := &drafts[i]
			if d.duplicate() {
				continue
			}
			d.id = ids[next]
			next++
			d.state = storekit.FirstState(false, 0, storekit.Instant(d.startAt), w.now, d.limited != nil)
		}
	}
	repeats(drafts)
	return nil
}

// ids gives out new ids, in order.
func (w *work) ids(n int, ids *[]int64) error {
	_, err := w.one("insert_ids", []any{int64(n)}, ids)
	return err
}

// insertPayloads writes what is kept of each job until it is pruned.
func (w *work) insertPayloads(drafts []draft) error {
	p := newPayloads(len(drafts))
	for i := range drafts {
		if !drafts[i].duplicate() {
			p.add(&drafts[i])
		}
	}
	if len(p.ids) == 0 {
		return nil
	}
	return w.exec("insert_jobs", p.ids, w.nowAt, p.queues, p.kinds, p.priorities, p.attempts, p.timeouts, p.flags, p.args,
		p.deadlines, p.batches, p.after, p.limits, p.uniques, p.recurring, p.parents, p.titles, p.tags, p.metas)
}

// stateRows are the columns of the state rows of new jobs.
type stateRows struct {
	ids, runAt    []int64
	ranks, flags  []int32
	queues, kinds []string
}

func (r *stateRows) add(d *draft) {
	r.ids, r.runAt = append(r.ids, d.id), append(r.runAt, d.startAt)
	r.ranks, r.flags = append(r.ranks, d.rank()), append(r.flags, d.flags)
	r.queues, r.kinds = append(r.queues, d.queue), append(r.kinds, d.kind)
}

// insertStates writes one state row per job, a statement for each state.
func (w *work) insertStates(drafts []draft) error {
	var ready, scheduled, throttled, awaiting, doomed stateRows
	var keys []string
	var pending []int32
	for i := range drafts {
		d := &drafts[i]
		switch {
		case d.duplicate():
		case d.state == driver.Throttled:
			throttled.add(d)
			keys = append(keys, d.limited.key)
		case d.state == driver.Awaiting:
			awaiting.add(d)
			pending = append(pending, int32(d.wait.pending))
		case d.state == driver.Deleted:
			doomed.add(d)
		case d.state == driver.Scheduled:
			w.scheduled(d.queue)
			scheduled.add(d)
		default:
			w.ready(d.queue, d.rank(), d.id)
			ready.add(d)
		}
	}
	for _, to := range []struct {
		name string
		rows *stateRows
		more []any
	}{
		{"insert_ready", &ready, nil},
		{"insert_scheduled", &scheduled, nil},
		{"insert_throttled", &throttled, []any{keys}},
		{"insert_awaiting", &awaiting, []any{pending}},
	} {
		if r := to.rows; len(r.ids) > 0 {
			if err := w.exec(to.name, append([]any{r.ids, r.runAt, r.ranks, r.flags, r.queues, r.kinds}, to.more...)...); err != nil {
				return err
			}
		}
	}
	if len(doomed.ids) == 0 {
		return nil
	}
	return w.exec("insert_doomed", doomed.ids, doomed.runAt, doomed.flags, int16(doneDeleted), w.nowAt)
}

func (w *work) insertDeadlines(drafts []draft) error {
	var deadlines, ids []int64
	for i := range drafts {
		if drafts[i].flags&flagDeadline != 0 && waits(drafts[i].state) && !drafts[i].duplicate() {
			deadlines, ids = append(deadlines, drafts[i].deadline), append(ids, drafts[i].id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return w.exec("insert_deadlines", deadlines, ids)
}
