package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Finish implements driver.Worker.
func (s *Store) Finish(ctx context.Context, server string, outs []driver.Outcome) ([]driver.Result, error) {
	if len(outs) == 0 {
		return nil, s.usable(ctx)
	}
	results := make([]driver.Result, len(outs))
	for i := range results {
		results[i] = driver.Stale
	}
	rest, err := s.finishPlain(ctx, server, outs, results)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return results, nil
	}
	if err := s.finishRest(ctx, server, outs, rest, results); err != nil {
		return nil, err
	}
	return results, nil
}

// finishPatience is how long a Finish waits for rows that somebody else holds before its outcomes are Busy.
const finishPatience = 700 * time.Millisecond

// finishRest writes the outcomes that are not plain. When somebody holds a row that they need, it finds out which of them can be
// written without by dividing them.
func (s *Store) finishRest(ctx context.Context, server string, outs []driver.Outcome, which []int, results []driver.Result) error {
	err := s.finishTogether(ctx, server, outs, which, results)
	switch {
	case err == nil || !retriable(err):
		return err
	case len(which) == 1:
		results[which[0]] = driver.Busy
		return nil
	}
	half := len(which) / 2
	if err := s.finishRest(ctx, server, outs, which[:half], results); err != nil {
		return err
	}
	return s.finishRest(ctx, server, outs, which[half:], results)
}

func (s *Store) finishTogether(ctx context.Context, server string, outs []driver.Outcome, which []int, results []driver.Result) error {
	began := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		f := finisher{server: server, outs: outs, which: which, results: make([]driver.Result, len(outs))}
		err := s.once(ctx, func(w *work) error {
			f.work = w
			return f.run()
		})
		if err == nil {
			for _, i := range which {
				results[i] = f.results[i]
			}
			return nil
		}
		if !retriable(err) || time.Since(began) > finishPatience || !pause(ctx, wait) {
			return ended(ctx, err)
		}
	}
}

// finisher writes the outcomes of one Finish call that are not plain.
type finisher struct {
	*work
	server  string
	outs    []driver.Outcome
	which   []int
	results []driver.Result

	// ended are the ids of jobs that move to the archive as they are, by state; leaving those that left an output.
	ended, leaving [doneDeleted + 1][]int64
	// failed, scheduled, enqueued and throttled are jobs that move elsewhere.
	failed, scheduled, enqueued, throttled moves
	// uniques are the jobs of those that give up a unique key, freed the slots of limit keys that they leave.
	uniques []int64
	freed   map[string]int64
	// outputs are what jobs that ended have left.
	outputIDs []int64
	outputs   [][]byte
	// entries are what all of those add to their histories.
	entries []noted
	// single are the outcomes that touch other side tables.
	single []single
}

// moves are jobs on their way to another state, with their attempts and run times then.
type moves struct {
	ids      []int64
	attempts []int32
	runAt    []int64
}

func (m *moves) add(id int64, s *storekit.Settled) {
	m.ids, m.attempts, m.runAt = append(m.ids, id), append(m.attempts, int32(s.Attempt)), append(m.runAt, storekit.Micros(s.RunAt))
}

type single struct {
	index   int
	settled storekit.Settled
}

func (f *finisher) run() error {
	if err := f.settle(); err != nil {
		return err
	}
	if len(f.outputIDs) > 0 {
		if err := f.exec("outputs_put", f.outputIDs, f.outputs); err != nil {
			return err
		}
	}
	if err := f.archive(); err != nil {
		return err
	}
	for _, to := range []struct {
		name string
		*moves
		args []any
	}{
		{"finish_failed", &f.failed, []any{f.nowAt}},
		{"finish_scheduled", &f.scheduled, []any{f.scheduled.runAt}},
		{"finish_ready", &f.enqueued, []any{f.enqueued.runAt}},
		{"finish_throttled", &f.throttled, []any{f.throttled.runAt}},
	} {
		if len(to.ids) == 0 {
			continue
		}
		if err := f.must(len(to.ids), to.name, append([]any{to.ids, to.attempts}, to.args...)...); err != nil {
			return err
		}
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

// archive writes the jobs that move to the archive as they are.
func (f *finisher) archive() error {
	for flags, states := range map[int32]*[doneDeleted + 1][]int64{0: &f.ended, flagOutput: &f.leaving} {
		for state, ids := range states {
			if len(ids) == 0 {
				continue
			}
			if err := f.must(len(ids), "finish_done", ids, int16(state), f.nowAt, flags); err != nil {
				return err
			}
		}
	}
	return nil
}

// leased is a lease that an outcome names.
type leased struct {
	id             int64
	claim, attempt int32
	attemptedAt    int64
	flags          int32
	cancel         bool
	server, queue  string
	rank           int32
	batch          int64
	limitKey       string
}

// settle locks and reads the leases that the outcomes name and decides what each of those does.
func (f *finisher) settle() error {
	ids := make([]int64, 0, len(f.which))
	for _, i := range f.which {
		ids = append(ids, f.outs[i].ID)
		f.results[i] = driver.Stale
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	found := make(map[int64]*leased, len(ids))
	err := f.each("finish_read", []any{ids}, func(rows rows) error {
		l := &leased{}
		err := rows.Scan(&l.id, &l.claim, &l.attempt, &l.attemptedAt, &l.flags, &l.cancel, &l.server, &l.queue, &l.rank, &l.batch, &l.limitKey)
		found[l.id] = l
		return err
	})
	if err != nil {
		return err
	}
	held, err := f.heldElsewhere(ids, found)
	if err != nil {
		return err
	}
	answered := make(map[int64]bool, len(ids))
	for _, i := range f.which {
		out := &f.outs[i]
		if claim, ok := held[out.ID]; ok && claim == out.Claim && !answered[out.ID] {
			answered[out.ID] = true
			f.results[i] = driver.Busy
			continue
		}
		l := found[out.ID]
		if l == nil || l.claim != out.Claim || answered[out.ID] {
			continue
		}
		answered[out.ID] = true // what comes for the same job after this is stale
		f.decide(i, l)
	}
	return nil
}

// heldElsewhere finds the leases that somebody else has locked.
func (f *finisher) heldElsewhere(ids []int64, found map[int64]*leased) (map[int64]int32, error) {
	if len(found) == len(ids) {
		return nil, nil
	}
	var missing []int64
	for _, id := range ids {
		if found[id] == nil {
			missing = append(missing, id)
		}
	}
	held := map[int64]int32{}
	err := f.each("finish_held", []any{missing}, func(rows rows) error {
		var id int64
		var claim int32
		err := rows.Scan(&id, &claim)
		held[id] = claim
		return err
	})
	return held, err
}

// decide notes what one outcome does to its job.
func (f *finisher) decide(i int, l *leased) {
	out := &f.outs[i]
	settled, ok := storekit.Settle(out, storekit.Running{
		Attempt: int(l.attempt), StartedAt: storekit.Instant(l.attemptedAt), Server: l.server, Cancel: l.cancel, Limited: l.flags&flagLimit != 0,
	}, f.now)
	if !ok {
		f.results[i] = driver.Rejected
		return
	}
	f.results[i] = driver.Applied
	f.count(f.server, settled.Stat, 1)
	if !f.collect(l, &settled) {
		f.single = append(f.single, single{i, settled})
		return
	}
	f.memberMoved(l.batch, driver.Processing, settled.State, 1)
	if l.flags&flagChildren != 0 && settled.State.Final() {
		f.jobEnded(l.id, settled.State)
	}
}

// collect notes an outcome that can be written together with others, and is false for one that cannot.
func (f *finisher) collect(l *leased, s *storekit.Settled) bool {
	switch {
	case s.State.Archived():
		if s.Attempt != int(l.attempt) {
			return false
		}
		code := doneCode(s.State)
		if s.Output == nil {
			f.ended[code] = append(f.ended[code], l.id)
			break
		}
		f.leaving[code] = append(f.leaving[code], l.id)
		f.outputIDs, f.outputs = append(f.outputIDs, l.id), append(f.outputs, s.Output)
	case s.State == driver.Failed:
		f.failed.add(l.id, s)
	case l.flags&flagDeadline != 0:
		return false
	case s.State == driver.Scheduled:
		f.scheduled.add(l.id, s)
		f.work.scheduled(l.queue)
	case s.State == driver.Enqueued:
		f.enqueued.add(l.id, s)
		f.ready(l.queue, l.rank, l.id)
	case s.State == driver.Throttled:
		f.throttled.add(l.id, s)
	default:
		return false
	}
	if s.HasEntry {
		f.entries = append(f.entries, noted{l.id, s.Entry, storekit.Micros(s.StartedAt)})
	}
	if l.flags&flagUnique != 0 && s.State.Final() {
		f.uniques = append(f.uniques, l.id)
	}
	if l.flags&flagLimit != 0 {
		if f.freed == nil {
			f.freed = map[string]int64{}
		}
		f.freed[l.limitKey]++
	}
	return true
}

// giveBack frees the unique keys and the slots of the jobs that are written together.
func (f *finisher) giveBack() error {
	if len(f.uniques) > 0 {
		if err := f.exec("unique_release_all", f.uniques); err != nil {
			return err
		}
	}
	return f.freeSlots(f.freed)
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
