package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Finish implements driver.Worker.
func (s *Store) Finish(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
	if len(outs) == 0 {
		return nil, s.usable(ctx)
	}
	outs = slices.Clone(outs)
	for i := range outs {
		outs[i].Output = slices.Clone(outs[i].Output)
	}
	rejected := rejectedOutcomes(outs)
	var results []driver.Result
	err := s.do(ctx, func(w *work) error {
		f := finisher{work: w, server: server, outs: outs, results: make([]driver.Result, len(outs))}
		for i := range outs {
			f.results[i] = driver.Stale
		}
		if err := f.run(rejected); err != nil {
			return err
		}
		results = f.results
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// rejectedOutcomes finds the outcomes that could not be stored for any job; nil when there are none.
func rejectedOutcomes(outs []driver.Outcome) map[int]bool {
	var bad map[int]bool
	for i := range outs {
		if _, ok := storekit.Settle(&outs[i], storekit.Running{}, storekit.Instant(1)); !ok {
			if bad == nil {
				bad = map[int]bool{}
			}
			bad[i] = true
		}
	}
	return bad
}

// finisher writes the outcomes of one Finish call.
type finisher struct {
	*work
	server  string
	outs    []driver.Outcome
	results []driver.Result

	// ended are the ids of jobs that move to the archive as they are, by state.
	ended [doneDeleted + 1][]int64
	// failed, scheduled, enqueued and throttled are JSON lists of [id, run time, attempt].
	failed, scheduled, enqueued, throttled []byte
	// uniques are the jobs of those that give up a unique key, limited those that leave a slot of their limit.
	uniques, limited []int64
	// entries are what all of those add to their histories.
	entries []noted
	// single are the outcomes that touch other side tables.
	single []single
}

type single struct {
	index   int
	settled storekit.Settled
}

func (f *finisher) run(rejected map[int]bool) error {
	rest, err := f.plain()
	if err != nil {
		return err
	}
	if err := f.settle(rest, rejected); err != nil {
		return err
	}
	for state, ids := range f.ended {
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		list := encodeIDs(ids)
		if err := f.exec("finish_done", list, int64(state), f.nowAt); err != nil {
			return err
		}
		if err := f.exec("finish_lease", list); err != nil {
			return err
		}
	}
	if err := f.moveAll(); err != nil {
		return err
	}
	if err := f.giveBack(); err != nil {
		return err
	}
	for i := range f.single {
		if err := f.move(&f.single[i]); err != nil {
			return err
		}
	}
	return f.noteAll(f.entries)
}

// settle reads the leases that some of the outcomes name and decides what each of those does.
func (f *finisher) settle(which []int, rejected map[int]bool) error {
	if len(which) == 0 {
		return nil
	}
	list := make([]byte, 0, 8*len(which)+2)
	for _, index := range which {
		list = appendID(list, f.outs[index].ID)
	}
	answered := make(map[int64]bool, len(which))
	var index int
	var claim, attempt, attemptedAt, flags, batch int64
	var cancel bool
	var server, queue interned
	return f.each("finish_read", []any{closeIDs(list), int64(flagBatch)}, func(rows *sql.Rows) error {
		if err := rows.Scan(&index, &claim, &attempt, &attemptedAt, &flags, &cancel, &server, &queue, &batch); err != nil {
			return err
		}
		index = which[index]
		out := &f.outs[index]
		if int64(out.Claim) != claim || answered[out.ID] {
			return nil
		}
		answered[out.ID] = true // what comes for the same job after this is stale
		if rejected[index] {
			f.results[index] = driver.Rejected
			return nil
		}
		settled, _ := storekit.Settle(out, storekit.Running{
			Attempt: int(attempt), StartedAt: storekit.Instant(attemptedAt), Server: string(server), Cancel: cancel, Limited: flags&flagLimit != 0,
		}, f.now)
		f.results[index] = driver.Applied
		f.count(f.server, settled.Stat, 1)
		if !f.collect(out.ID, &settled, attempt, flags, string(queue)) {
			f.single = append(f.single, single{index, settled})
			return nil
		}
		f.memberMoved(batch, driver.Processing, settled.State, 1)
		if flags&flagChildren != 0 && settled.State.Final() {
			f.jobEnded(out.ID, settled.State)
		}
		return nil
	})
}

// interned is a text column that is the same in most rows of a query.
type interned string

// Scan implements sql.Scanner.
func (s *interned) Scan(src any) error {
	switch v := src.(type) {
	case string:
		if string(*s) != v {
			*s = interned(v)
		}
	case []byte:
		if string(*s) != string(v) {
			*s = interned(v)
		}
	default:
		return fmt.Errorf("text is %T", src)
	}
	return nil
}

// collect notes an outcome that can be written together with others, and is false for one that cannot.
func (f *finisher) collect(id int64, s *storekit.Settled, attempt, flags int64, queue string) bool {
	if s.Output != nil {
		return false
	}
	switch {
	case s.State.Archived():
		if int64(s.Attempt) != attempt {
			return false
		}
		code := doneCode(s.State)
		f.ended[code] = append(f.ended[code], id)
	case s.State == driver.Failed:
		f.failed = appendMove(f.failed, id, s)
	case flags&flagDeadline != 0:
		return false
	case s.State == driver.Scheduled:
		f.scheduled = appendMove(f.scheduled, id, s)
		f.event(driver.Event{Kind: driver.JobsScheduled, Queue: queue})
	case s.State == driver.Enqueued:
		f.enqueued = appendMove(f.enqueued, id, s)
		f.event(driver.Event{Kind: driver.JobsReady, Queue: queue})
	case s.State == driver.Throttled:
		f.throttled = appendMove(f.throttled, id, s)
	default:
		return false
	}
	if s.HasEntry {
		f.entries = append(f.entries, noted{id, s.Entry, storekit.Micros(s.StartedAt)})
	}
	if flags&flagUnique != 0 && s.State.Final() {
		f.uniques = append(f.uniques, id)
	}
	if flags&flagLimit != 0 {
		f.limited = append(f.limited, id)
	}
	return true
}

// giveBack frees the unique keys and the slots of the jobs that were written together.
func (f *finisher) giveBack() error {
	if len(f.uniques) > 0 {
		if err := f.exec("unique_release_all", encodeIDs(f.uniques)); err != nil {
			return err
		}
	}
	if len(f.limited) == 0 {
		return nil
	}
	return f.freeSlots(f.limited)
}

// appendMove adds [id, run time, attempt] to a list.
func appendMove(list []byte, id int64, s *storekit.Settled) []byte {
	if len(list) == 0 {
		list = append(list, "[["...)
	} else {
		list = append(list, ",["...)
	}
	list = strconv.AppendInt(list, id, 10)
	list = strconv.AppendInt(append(list, ','), storekit.Micros(s.RunAt), 10)
	list = strconv.AppendInt(append(list, ','), int64(s.Attempt), 10)
	return append(list, ']')
}

// moveAll writes the jobs that fail or come back.
func (f *finisher) moveAll() error {
	for _, to := range []struct {
		name string
		list []byte
		args []any
	}{
		{"finish_failed", f.failed, []any{f.nowAt}},
		{"finish_scheduled", f.scheduled, nil},
		{"finish_ready", f.enqueued, nil},
		{"finish_throttled", f.throttled, nil},
	} {
		if len(to.list) == 0 {
			continue
		}
		list := closeIDs(to.list)
		if err := f.exec(to.name, append([]any{list}, to.args...)...); err != nil {
			return err
		}
		if err := f.exec("finish_moved", list); err != nil {
			return err
		}
	}
	return nil
}

// move writes one outcome with everything that belongs to it.
func (f *finisher) move(s *single) error {
	l, ok, err := f.locate(f.outs[s.index].ID)
	if err != nil || !ok {
		return err
	}
	if err := f.leave(&l); err != nil {
		return err
	}
	l.attempt = int64(s.settled.Attempt)
	if !s.settled.RunAt.IsZero() {
		l.runAt = storekit.Micros(s.settled.RunAt)
	}
	if err := f.keepOutput(&l, s.settled.Output); err != nil {
		return err
	}
	if err := f.enter(&l, s.settled.State); err != nil {
		return err
	}
	if s.settled.HasEntry {
		f.entries = append(f.entries, noted{l.id, s.settled.Entry, storekit.Micros(s.settled.StartedAt)})
	}
	return nil
}

// SetMeta implements driver.Worker.
func (s *Store) SetMeta(ctx context.Context, ref driver.Ref, meta map[string]string) error {
	if err := driver.CheckMeta(meta); err != nil {
		return err
	}
	meta = maps.Clone(meta)
	lost := false
	err := s.do(ctx, func(w *work) error {
		var flags int64
		var old string
		found, err := w.one("meta_of", []any{ref.ID, int64(ref.Claim)}, &flags, &old)
		lost = !found
		if err != nil || lost || len(meta) == 0 {
			return err
		}
		merged := storekit.DecodeMeta([]byte(old))
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, meta)
		text, err := storekit.EncodeMeta(merged)
		if err != nil {
			return err
		}
		if err := w.exec("meta_put", ref.ID, text); err != nil {
			return err
		}
		return w.exec("lease_flags", flags|flagMeta, ref.ID)
	})
	if err == nil && lost {
		return storekit.Lost(ref)
	}
	return err
}

// Lists of ids travel as JSON text.

func appendID(list []byte, id int64) []byte {
	if len(list) == 0 {
		list = append(list, '[')
	} else {
		list = append(list, ',')
	}
	return strconv.AppendInt(list, id, 10)
}

func appendPair(list []byte, a, b int64) []byte {
	if len(list) == 0 {
		list = append(list, "[["...)
	} else {
		list = append(list, ",["...)
	}
	list = append(strconv.AppendInt(list, a, 10), ',')
	return append(strconv.AppendInt(list, b, 10), ']')
}

func closeIDs(list []byte) string {
	if len(list) == 0 {
		return "[]"
	}
	return string(append(list, ']'))
}

func encodeIDs(ids []int64) string {
	list := make([]byte, 0, 8*len(ids)+2)
	for _, id := range ids {
		list = appendID(list, id)
	}
	return closeIDs(list)
}
