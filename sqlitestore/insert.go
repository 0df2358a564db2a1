package sqlitestore

import (
	"context"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Flags say what is special about a job. They stand in its row and travel with it from state to state, so that a plain job
// never looks into a side table.
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

// draft is a job on its way into the database: everything that needs no transaction is worked out before one is open.
type draft struct {
	queue, kind          string
	args                 []byte
	meta, tags, title    string
	recurring            string
	priority             int16
	maxAttempts, timeout int64
	flags, deadline      int64
	runAt                time.Time
	delay                time.Duration
	id, startAt          int64
	state                driver.State
	// keyed and limited are what a job with a unique key and one with a limit key brings, nil for others.
	keyed   *keyed
	limited *limited
	// wait is nil for most.
	wait *wait
}

// plain reports whether the job has nothing but args, so that it can share a statement with jobs like it.
func (d *draft) plain() bool { return d.flags == 0 }

// alike reports whether two plain jobs differ in nothing but args.
func (d *draft) alike(o *draft) bool {
	return d.queue == o.queue && d.kind == o.kind && d.priority == o.priority && d.maxAttempts == o.maxAttempts && d.timeout == o.timeout
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
			priority: p.Priority, maxAttempts: int64(p.MaxAttempts), timeout: storekit.TimeoutMillis(p.Timeout),
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

// Insert implements driver.Writer.
func (s *Store) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	if len(jobs) == 0 {
		return nil, s.usable(ctx)
	}
	drafts, err := draftAll(jobs)
	if err != nil {
		return nil, err
	}
	if waiting(drafts) {
		err = s.doUnlessRefused(ctx, func(w *work) error { return w.insertAdmitted(drafts) })
	} else {
		err = s.submit(&call{ctx: ctx, drafts: drafts})
	}
	if err != nil {
		return nil, err
	}
	return inserted(drafts), nil
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

// insertMerged stores the jobs of all plain inserts among the calls, as one if no two of them name the same unique key.
func insertMerged(w *work, calls []*call) error {
	var group []*call
	total := 0
	keys := map[string]bool{}
	for _, c := range calls {
		if c.drafts == nil {
			continue
		}
		if c.namesAny(keys) {
			if err := insertGroup(w, group, total); err != nil {
				return err
			}
			group, total = nil, 0
			clear(keys)
		}
		c.nameKeys(keys)
		group = append(group, c)
		total += len(c.drafts)
	}
	return insertGroup(w, group, total)
}

// namesAny reports whether a job of the call has one of the unique keys.
func (c *call) namesAny(keys map[string]bool) bool {
	if len(keys) == 0 {
		return false
	}
	return slices.ContainsFunc(c.drafts, func(d draft) bool { return d.keyed != nil && keys[string(d.keyed.key)] })
}

func (c *call) nameKeys(keys map[string]bool) {
	for i := range c.drafts {
		if k := c.drafts[i].keyed; k != nil {
			keys[string(k.key)] = true
		}
	}
}

// insertGroup stores the jobs of some calls as those of one.
func insertGroup(w *work, calls []*call, total int) error {
	switch len(calls) {
	case 0:
		return nil
	case 1:
		if err := w.insertAdmitted(calls[0].drafts); err != nil {
			return err
		}
		return w.conclude()
	}
	all := make([]draft, 0, total)
	for _, c := range calls {
		all = append(all, c.drafts...)
	}
	if err := w.insertAdmitted(all); err != nil {
		return err
	}
	if err := w.conclude(); err != nil {
		return err
	}
	for _, c := range calls {
		n := copy(c.drafts, all)
		all = all[n:]
	}
	return nil
}

// insert writes jobs in the order of steps that every kind of job will go through: ids and first states, payloads, state
// rows, what flags say, and whom to tell.
func (w *work) insert(drafts []draft) error {
	for i := range drafts {
		d := &drafts[i]
		d.startAt = storekit.Micros(storekit.RunAt(&driver.InsertParams{RunAt: d.runAt, Delay: d.delay}, w.now))
	}
	if err := w.meet(drafts); err != nil {
		return err
	}
	if err := w.number(drafts); err != nil {
		return err
	}
	if err := w.resolve(drafts); err != nil {
		return err
	}
	// From here on nothing is refused.
	if err := w.replaceHolders(drafts); err != nil {
		return err
	}
	if err := w.setRules(drafts); err != nil {
		return err
	}
	if err := w.admitFitting(drafts); err != nil {
		return err
	}
	if err := w.insertPayloads(drafts); err != nil {
		return err
	}
	if err := w.insertStates(drafts); err != nil {
		return err
	}
	if err := w.insertKeys(drafts); err != nil {
		return err
	}
	if err := w.insertDeadlines(drafts); err != nil {
		return err
	}
	return w.insertWaits(drafts)
}

// number gives new jobs their ids and first states.
func (w *work) number(drafts []draft) error {
	fresh := len(drafts)
	for i := range drafts {
		if drafts[i].duplicate() {
			fresh--
		}
	}
	last, err := w.takeIDs(fresh)
	if err != nil {
		return err
	}
	for i := range drafts {
		d := &drafts[i]
		if d.duplicate() {
			continue
		}
		last++
		d.id = last
		d.state = storekit.FirstState(false, 0, storekit.Instant(d.startAt), w.now, d.limited != nil)
	}
	repeats(drafts)
	return nil
}

func (w *work) insertPayloads(drafts []draft) error {
	const plainWidth, fullWidth = 2, 19
	for len(drafts) > 0 {
		first, n := &drafts[0], 1
		plain := first.plain()
		for n < len(drafts) && drafts[n].plain() == plain && (!plain || drafts[n].alike(first)) {
			n++
		}
		var err error
		if plain {
			rows := make([]any, 0, plainWidth*n)
			for i := range drafts[:n] {
				if !drafts[i].duplicate() {
					rows = append(rows, drafts[i].id, drafts[i].args)
				}
			}
			head := []any{first.queue, first.kind, int64(first.priority), first.maxAttempts, first.timeout, w.nowAt}
			err = w.many("insert_plain", head, plainWidth, rows)
		} else {
			rows := make([]any, 0, fullWidth*n)
			for i := range drafts[:n] {
				d := &drafts[i]
				if d.duplicate() {
					continue
				}
				limitKey, uniqueKey := d.keys()
				rows = append(rows, d.id, d.queue, d.kind, int64(d.priority), d.maxAttempts, d.timeout, d.flags, w.nowAt,
					d.deadline, d.batchID(), d.afterBatch(), d.parentIDs(), limitKey, uniqueKey, d.recurring, d.title, d.tags, d.meta, d.args)
			}
			err = w.many("insert_full", nil, fullWidth, rows)
		}
		if err != nil {
			return err
		}
		drafts = drafts[n:]
	}
	return nil
}

// insertStates writes one state row per job: a statement for each run of neighbours that are ready now, and rows for the
// others. Other processes see by the ids that there are new jobs, so no signals are written.
func (w *work) insertStates(drafts []draft) error {
	const width = 6
	var ready, scheduled, throttled, awaiting, doomed []any
	for i := 0; i < len(drafts); i++ {
		d := &drafts[i]
		switch {
		case d.duplicate():
		case d.state == driver.Throttled:
			throttled = append(throttled, d.queue, d.kind, -int64(d.priority), d.id, d.flags, d.startAt, d.limited.key)
		case d.state == driver.Awaiting:
			awaiting = append(awaiting, d.queue, d.kind, -int64(d.priority), d.id, d.flags, d.startAt, int64(d.wait.pending))
		case d.state == driver.Deleted:
			doomed = append(doomed, d.id, d.flags, d.startAt)
		case d.state == driver.Scheduled:
			w.events.Add(driver.Event{Kind: driver.JobsScheduled, Queue: d.queue})
			scheduled = append(scheduled, d.queue, d.kind, -int64(d.priority), d.id, d.flags, d.startAt)
		case d.startAt != w.nowAt:
			w.events.Add(driver.Event{Kind: driver.JobsReady, Queue: d.queue})
			ready = append(ready, d.queue, d.kind, -int64(d.priority), d.id, d.flags, d.startAt)
		default:
			first := d.id
			for ; i < len(drafts) && drafts[i].readyAt(w.nowAt); i++ {
				w.events.Add(driver.Event{Kind: driver.JobsReady, Queue: drafts[i].queue})
			}
			i--
			if err := w.exec("insert_ready_range", first, drafts[i].id); err != nil {
				return err
			}
		}
	}
	if err := w.many("insert_ready", nil, width, ready); err != nil {
		return err
	}
	for _, table := range []struct {
		name  string
		head  []any
		width int
		rows  []any
	}{
		{"insert_throttled", nil, width + 1, throttled},
		{"insert_scheduled", nil, width, scheduled},
		{"insert_awaiting", nil, width + 1, awaiting},
		{"insert_doomed", []any{int64(doneDeleted), w.nowAt}, 3, doomed},
	} {
		if err := w.many(table.name, table.head, table.width, table.rows); err != nil {
			return err
		}
	}
	return nil
}

// readyAt reports whether the draft is a new job that is ready from the given instant on.
func (d *draft) readyAt(now int64) bool {
	return d.state == driver.Enqueued && d.startAt == now && !d.duplicate()
}

// keys are the columns of the job's limit key and of the unique key that it holds while it is live.
func (d *draft) keys() (limit string, unique any) {
	if d.limited != nil {
		limit = d.limited.key
	}
	if d.flags&flagUnique != 0 {
		unique = d.keyed.key
	}
	return limit, unique
}

func (w *work) insertDeadlines(drafts []draft) error {
	var rows []any
	for i := range drafts {
		if drafts[i].flags&flagDeadline != 0 && waits(drafts[i].state) && !drafts[i].duplicate() {
			rows = append(rows, drafts[i].deadline, drafts[i].id)
		}
	}
	return w.many("insert_deadline", nil, 2, rows)
}
