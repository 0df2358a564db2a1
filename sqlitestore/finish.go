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

	// plain are the ids of jobs that only move to the archive, by state.
	plain [doneDeleted + 1][]int64
	// single are the outcomes that take more than that.
	single []single
}

type single struct {
	index   int
	settled storekit.Settled
}

func (f *finisher) run(rejected map[int]bool) error {
	if err := f.settle(rejected); err != nil {
		return err
	}
	for state, ids := range f.plain {
		if err := f.archive(int64(state), ids); err != nil {
			return err
		}
	}
	for i := range f.single {
		if err := f.move(&f.single[i]); err != nil {
			return err
		}
	}
	return nil
}

// settle reads the leases that the outcomes name and decides what each outcome does.
func (f *finisher) settle(rejected map[int]bool) error {
	list := make([]byte, 0, 8*len(f.outs)+2)
	for i := range f.outs {
		list = appendID(list, f.outs[i].ID)
	}
	answered := make(map[int64]bool, len(f.outs))
	var index int
	var claim, attempt, flags int64
	var cancel bool
	var server string
	var name sql.RawBytes
	err := f.each("finish_read", []any{closeIDs(list)}, func(rows *sql.Rows) error {
		if err := rows.Scan(&index, &claim, &attempt, &flags, &cancel, &name); err != nil {
			return err
		}
		if server != string(name) {
			server = string(name)
		}
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
			Attempt: int(attempt), Server: server, Cancel: cancel, Limited: flags&flagLimit != 0,
		}, f.now)
		f.results[index] = driver.Applied
		f.count(f.server, settled.Stat, 1)
		if plainEnd(&settled, attempt, flags) {
			code := doneCode(settled.State)
			f.plain[code] = append(f.plain[code], out.ID)
		} else {
			f.single = append(f.single, single{index, settled})
		}
		return nil
	})
	return err
}

// plainEnd reports whether an outcome only moves its job to the archive, without touching any side table.
func plainEnd(s *storekit.Settled, attempt, flags int64) bool {
	const settles = flagUnique | flagLimit | flagChildren | flagBatch
	return s.State.Archived() && !s.HasEntry && s.Output == nil && int64(s.Attempt) == attempt && flags&settles == 0
}

func (f *finisher) archive(state int64, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	list := encodeIDs(ids)
	if err := f.exec("finish_done", list, state, f.nowAt); err != nil {
		return err
	}
	return f.exec("finish_lease", list)
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
		return f.note(l.id, s.settled.Entry)
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
		merged := decodeMeta([]byte(old))
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, meta)
		text, err := encodeMeta(merged)
		if err != nil {
			return err
		}
		if err := w.exec("meta_put", ref.ID, text); err != nil {
			return err
		}
		return w.exec("lease_flags", flags|flagMeta, ref.ID)
	})
	if err == nil && lost {
		return fmt.Errorf("%w: job %d is not processing under claim %d", driver.ErrLost, ref.ID, ref.Claim)
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
