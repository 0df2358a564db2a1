package pgstore

import (
	"bytes"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// keyed is what a draft with a unique key brings.
type keyed struct {
	key      []byte
	window   time.Duration
	newcomer storekit.Newcomer
	// first is the position of the earlier draft of the same call that has the same key, below 0 if there is none.
	first int
	// duplicate says that the job is not inserted: the draft then has the id and the state of the job that holds the key, and merged
	// says what becomes of that.
	duplicate bool
	merged    storekit.Merged
	// holder is that job as it was read. When somebody has moved it since then it is judged anew.
	holder located
	// former is the job that stands beside the key and does not hold it any more, 0 for none.
	former int64
}

func draftKey(p *driver.InsertParams) *keyed {
	if len(p.UniqueKey) == 0 {
		return nil
	}
	return &keyed{
		key: slices.Clone(p.UniqueKey), window: p.UniqueFor,
		newcomer: storekit.Newcomer{Replace: p.UniqueReplace, Debounce: p.UniqueDebounce}, first: -1,
	}
}

// duplicate reports whether another job holds the draft's key, so that nothing is written for it.
func (d *draft) duplicate() bool { return d.keyed != nil && d.keyed.duplicate }

// keyHolder is a row of the table of unique keys.
type keyHolder struct{ id, expires int64 }

// held reports whether a key is still held by a row. That of a job that has ended without giving its key back is not; whoever asks
// has to look at the job.
func (h keyHolder) held(now int64) bool { return h.id != 0 && (h.expires == 0 || h.expires > now) }

// meet finds the duplicates among the drafts of a call. It writes nothing.
func (w *work) meet(drafts []draft) error {
	var keys [][]byte
	firsts := map[string]int{}
	for i := range drafts {
		d := &drafts[i]
		if d.keyed == nil {
			continue
		}
		first, ok := firsts[string(d.keyed.key)]
		d.keyed.first, d.keyed.duplicate, d.keyed.merged = -1, ok, storekit.Merged{}
		if ok {
			d.keyed.first = first
		} else {
			firsts[string(d.keyed.key)] = i
			keys = append(keys, d.keyed.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	holders, err := w.keyHolders(keys)
	if err != nil || len(holders) == 0 {
		return err
	}
	for i := range drafts {
		d := &drafts[i]
		if d.keyed == nil || d.keyed.first >= 0 {
			continue
		}
		h := holders[string(d.keyed.key)]
		d.keyed.former = h.id
		if h.held(w.nowAt) {
			if err := w.collide(d, h); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) keyHolders(keys [][]byte) (map[string]keyHolder, error) {
	holders := map[string]keyHolder{}
	var key []byte
	err := w.each("unique_holders", []any{keys}, func(rows rows) error {
		var h keyHolder
		err := rows.Scan(&key, &h.id, &h.expires)
		holders[string(key)] = h
		return err
	})
	return holders, err
}

// collide settles a draft whose key another job holds.
func (w *work) collide(d *draft, h keyHolder) error {
	l, ok, err := w.locate(h.id)
	if err != nil {
		return err
	}
	if h.expires == 0 && (!ok || l.state.Final()) {
		return nil // its job is gone, and so is its claim to the key
	}
	k := d.keyed
	k.duplicate = true
	d.id, d.state = h.id, ""
	if !ok {
		return nil // the window outlives the job
	}
	k.holder = l
	k.newcomer.RunAt = storekit.Instant(d.startAt)
	k.merged = storekit.Merge(storekit.Holder{
		State: l.state, RunAt: storekit.Instant(l.runAt), Limited: l.flags&flagLimit != 0, Granted: l.flags&flagGranted != 0,
	}, k.newcomer, w.now)
	d.state, k.holder = k.merged.State, l
	return nil
}

// takeKeys takes the keys of new jobs and gives the values of duplicates to the holders that take them, in the order of the keys, which
// is the same for everybody: two transactions that want the same keys wait for each other and never in a circle. A job that is born
// deleted takes none.
func (w *work) takeKeys(drafts []draft) error {
	var list []*draft
	for i := range drafts {
		if d := &drafts[i]; d.takesKey() || d.replaces() {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *draft) int { return bytes.Compare(a.keyed.key, b.keyed.key) })
	for len(list) > 0 {
		n := 0
		for n < len(list) && list[n].takesKey() {
			n++
		}
		if n > 0 {
			if err := w.insertKeys(list[:n]); err != nil {
				return err
			}
			list = list[n:]
			continue
		}
		if err := w.replaceHolder(list[0]); err != nil {
			return err
		}
		list = list[1:]
	}
	return nil
}

func (d *draft) takesKey() bool { return d.keyed != nil && !d.keyed.duplicate && !d.state.Final() }
func (d *draft) replaces() bool { return d.keyed != nil && d.keyed.merged.Replaced }

// replaceHolder gives the values of a duplicate to the job that holds its key.
func (w *work) replaceHolder(d *draft) error {
	l, ok, err := w.locate(d.id)
	if err != nil {
		return err
	}
	if !ok || !l.as(&d.keyed.holder) {
		return errMoved // released, claimed or ended since, and another decision is due
	}
	return w.replace(&l, d, d.keyed.merged)
}

// as reports whether a job is as it was read before, but for what it may have learnt of children, those of this very call for instance.
func (l *located) as(before *located) bool {
	return l.state == before.state && l.claim == before.claim && l.runAt == before.runAt &&
		l.flags&^flagChildren == before.flags&^flagChildren
}

// replace gives the holder of a key the values of a duplicate.
func (w *work) replace(l *located, d *draft, to storekit.Merged) error {
	if l.flags&flagMeta != 0 {
		if err := w.exec("meta_drop", l.id); err != nil {
			return err
		}
	}
	if l.state == driver.Awaiting { // that one stays where it is
		if err := w.must(1, "awaiting_hold", l.id, l.flags); err != nil {
			return err
		}
	} else {
		w.memberCounted(l.batch, l.state, -1)
		if err := w.leaveState(l); err != nil {
			return err
		}
	}
	if err := w.dropDeadline(l); err != nil {
		return err
	}
	const brought = flagDetails | flagDeadline
	details := d.flags & flagDetails
	if l.recurring != "" {
		details = flagDetails
	}
	l.flags = l.flags&^(flagMeta|brought) | d.flags&flagDeadline | details
	l.rank, l.deadline, l.runAt = d.rank(), d.deadline, storekit.Micros(to.RunAt)
	err := w.must(1, "unique_values", l.id, d.args, textOrNull(&d.meta), textOrNull(&d.tags), textOrNull(&d.title), d.priority, idOrNull(&d.deadline), l.flags)
	if err != nil {
		return err
	}
	if l.state == driver.Awaiting {
		if err := w.putDeadline(l); err != nil {
			return err
		}
		return w.must(1, "unique_awaiting", l.id, l.rank, l.flags, l.runAt)
	}
	return w.enter(l, to.State)
}

// repeats gives drafts whose key an earlier one of the call has what became of that one.
func repeats(drafts []draft) {
	for i := range drafts {
		d := &drafts[i]
		if d.keyed != nil && d.keyed.first >= 0 {
			first := &drafts[d.keyed.first]
			d.id, d.state = first.id, first.state
		}
	}
}

// followDuplicates works out what the jobs of a call wait for: who waits for a duplicate waits for the job that holds the key.
func followDuplicates(drafts []draft) error {
	parents := make([][]driver.Parent, len(drafts))
	for i := range drafts {
		if drafts[i].wait != nil {
			parents[i] = drafts[i].wait.parents
		}
	}
	if slices.ContainsFunc(drafts, func(d draft) bool { return d.duplicate() }) {
		var err error
		parents, err = storekit.FollowRepeats(parents, func(i int) int {
			if drafts[i].keyed == nil {
				return -1
			}
			return drafts[i].keyed.first
		})
		if err != nil {
			return err
		}
		for _, named := range parents {
			for k := range named {
				if p := &named[k]; p.ID == 0 && drafts[p.Index].duplicate() {
					p.ID = drafts[p.Index].id
				}
			}
		}
	}
	for i := range drafts {
		if drafts[i].wait != nil {
			drafts[i].wait.named = parents[i]
		}
	}
	return nil
}

// insertKeys takes the keys of new jobs, which come sorted. When somebody else has taken one meanwhile, the call is made again and finds
// a duplicate.
func (w *work) insertKeys(taken []*draft) error {
	keys := make([][]byte, len(taken))
	ids, expires, former := make([]int64, len(taken)), make([]int64, len(taken)), make([]int64, len(taken))
	for i, d := range taken {
		keys[i], ids[i], former[i] = d.keyed.key, d.id, d.keyed.former
		if d.keyed.window > 0 {
			expires[i] = storekit.Micros(storekit.Later(w.now, d.keyed.window))
		}
	}
	return w.must(len(taken), "insert_uniques", keys, ids, expires, former)
}

// keyReleased frees the unique key of a job that has just succeeded, failed or been deleted, if it holds one while it is live.
func (w *work) keyReleased(l *located, state driver.State) error {
	return w.exec("unique_release", l.id)
}

// retake gives a job that starts over its unique key back, and is false when another job holds that.
func (w *work) retake(l *located) (bool, error) {
	if l.flags&flagUnique == 0 || !l.state.Final() {
		return true, nil
	}
	var key []byte
	var h keyHolder
	found, err := w.one("unique_of", []any{l.id}, &key, &h.id, &h.expires)
	if err != nil || !found {
		return err == nil, err
	}
	if h.held(w.nowAt) {
		other, ok, err := w.locate(h.id)
		if err != nil || h.expires > 0 || ok && !other.state.Final() {
			return false, err
		}
	}
	return true, w.must(1, "insert_uniques", [][]byte{key}, []int64{l.id}, []int64{0}, []int64{h.id})
}
