package sqlitestore

import (
	"context"
	"encoding/json"
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
	if err := storekit.RefuseUnbuilt(jobs); err != nil {
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
		}
		if d.deadline != 0 {
			d.flags |= flagDeadline
		}
		var err error
		if d.meta, err = encodeMeta(p.Meta); err != nil {
			return nil, err
		}
		if d.tags, err = encodeTags(storekit.CleanTags(p.Tags)); err != nil {
			return nil, err
		}
		if d.meta != "" || d.tags != "" || d.title != "" || d.recurring != "" {
			d.flags |= flagDetails
		}
		d.draftWait(p)
	}
	return drafts, nil
}

func encodeMeta(meta map[string]string) (string, error) {
	if len(meta) == 0 {
		return "", nil
	}
	b, err := json.Marshal(meta)
	return string(b), err
}

func encodeTags(tags []string) (string, error) {
	if len(tags) == 0 {
		return "", nil
	}
	b, err := json.Marshal(tags)
	return string(b), err
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
		err = s.doUnlessRefused(ctx, func(w *work) error { return w.insert(drafts) })
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
		out[i] = driver.Inserted{ID: drafts[i].id, State: drafts[i].state}
	}
	return out
}

// insertMerged stores the jobs of all plain inserts among the calls as one.
func insertMerged(w *work, calls []*call) error {
	var only *call
	total, count := 0, 0
	for _, c := range calls {
		if c.drafts != nil {
			only = c
			count++
			total += len(c.drafts)
		}
	}
	switch count {
	case 0:
		return nil
	case 1:
		if err := w.insert(only.drafts); err != nil {
			return err
		}
		return w.conclude()
	}
	all := make([]draft, 0, total)
	for _, c := range calls {
		all = append(all, c.drafts...)
	}
	if err := w.insert(all); err != nil {
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
	last, err := w.takeIDs(len(drafts))
	if err != nil {
		return err
	}
	for i := range drafts {
		d := &drafts[i]
		last++
		d.id = last
		runAt := storekit.RunAt(&driver.InsertParams{RunAt: d.runAt, Delay: d.delay}, w.now)
		d.startAt = storekit.Micros(runAt)
		d.state = storekit.FirstState(false, 0, runAt, w.now, false)
	}
	if err := w.resolve(drafts); err != nil {
		return err
	}
	if err := w.insertPayloads(drafts); err != nil {
		return err
	}
	if err := w.insertStates(drafts); err != nil {
		return err
	}
	if err := w.insertDeadlines(drafts); err != nil {
		return err
	}
	return w.insertWaits(drafts)
}

func (w *work) insertPayloads(drafts []draft) error {
	const plainWidth, fullWidth = 2, 17
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
				rows = append(rows, drafts[i].id, drafts[i].args)
			}
			head := []any{first.queue, first.kind, int64(first.priority), first.maxAttempts, first.timeout, w.nowAt}
			err = w.many("insert_plain", head, plainWidth, rows)
		} else {
			rows := make([]any, 0, fullWidth*n)
			for i := range drafts[:n] {
				d := &drafts[i]
				rows = append(rows, d.id, d.queue, d.kind, int64(d.priority), d.maxAttempts, d.timeout, d.flags, w.nowAt,
					d.deadline, d.batchID(), d.afterBatch(), d.parentIDs(), d.recurring, d.title, d.tags, d.meta, d.args)
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
	var ready, scheduled, awaiting, doomed []any
	for i := 0; i < len(drafts); i++ {
		d := &drafts[i]
		switch {
		case d.state == driver.Awaiting:
			awaiting = append(awaiting, d.queue, d.kind, -int64(d.priority), d.id, d.flags, d.startAt, int64(d.wait.pending))
		case d.state == driver.Deleted:
			doomed = append(doomed, d.id, d.flags, d.startAt)
		case d.state == driver.Scheduled:
			w.events.add(driver.Event{Kind: driver.JobsScheduled, Queue: d.queue})
			scheduled = append(scheduled, d.queue, d.kind, -int64(d.priority), d.id, d.flags, d.startAt)
		case d.startAt != w.nowAt:
			w.events.add(driver.Event{Kind: driver.JobsReady, Queue: d.queue})
			ready = append(ready, d.queue, d.kind, -int64(d.priority), d.id, d.flags, d.startAt)
		default:
			first := d.id
			for ; i < len(drafts) && drafts[i].state == driver.Enqueued && drafts[i].startAt == w.nowAt; i++ {
				w.events.add(driver.Event{Kind: driver.JobsReady, Queue: drafts[i].queue})
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
	if err := w.many("insert_scheduled", nil, width, scheduled); err != nil {
		return err
	}
	if err := w.many("insert_awaiting", nil, width+1, awaiting); err != nil {
		return err
	}
	return w.many("insert_doomed", []any{int64(doneDeleted), w.nowAt}, 3, doomed)
}

func (w *work) insertDeadlines(drafts []draft) error {
	var rows []any
	for i := range drafts {
		if drafts[i].flags&flagDeadline != 0 && waits(drafts[i].state) {
			rows = append(rows, drafts[i].deadline, drafts[i].id)
		}
	}
	return w.many("insert_deadline", nil, 2, rows)
}
