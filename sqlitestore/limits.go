package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// shift is what a call changes in the counters of a limit key, active and reserved.
type shift struct{ active, reserved int64 }

// keyTouched notes that the waiting jobs of a key have to be looked at when the call ends: jobs have come to it, its rule is new, or a
// slot is free.
func (w *work) keyTouched(key string) { w.shiftKey(key, shift{}) }

func (w *work) shiftKey(key string, by shift) {
	if w.limits == nil {
		w.limits = map[string]shift{}
	}
	sum := w.limits[key]
	w.limits[key] = shift{sum.active + by.active, sum.reserved + by.reserved}
}

// slotFreed notes that a job with a limit key has left enqueued or processing, or given up its reserved start.
func (w *work) slotFreed(l *located) {
	switch {
	case l.flags&flagLimit == 0:
	case l.state == driver.Enqueued, l.state == driver.Processing:
		w.shiftKey(l.limitKey, shift{active: -1})
	case l.state == driver.Scheduled && l.flags&flagGranted != 0:
		w.shiftKey(l.limitKey, shift{reserved: -1})
	}
}

// limited is what a draft with a limit key brings.
type limited struct {
	key  string
	rule storekit.Rule
}

func draftLimit(p *driver.InsertParams) *limited {
	if p.LimitKey == "" {
		return nil
	}
	return &limited{p.LimitKey, storekit.RuleOf(p)}
}

// setRules writes the rules that new jobs bring, the last one of each key.
func (w *work) setRules(drafts []draft) error {
	rules := map[string]storekit.Rule{}
	for i := range drafts {
		if d := &drafts[i]; d.limited != nil && !d.duplicate() {
			rules[d.limited.key] = d.limited.rule
		}
	}
	if len(rules) == 0 {
		return nil
	}
	rows := make([]any, 0, 5*len(rules))
	for _, key := range slices.Sorted(maps.Keys(rules)) {
		r := rules[key]
		rows = append(rows, key, int64(r.Max), int64(r.Rate), int64(r.Per), int64(r.Burst))
		w.keyTouched(key)
	}
	return w.many("limits_rule", nil, 5, rows)
}

// admitTouched admits what has room now under the limit keys that the call touched.
func (w *work) admitTouched() error {
	if len(w.limits) == 0 {
		return nil
	}
	a := admission{work: w, keys: slices.Sorted(maps.Keys(w.limits)), shifts: w.limits, known: w.known}
	w.limits, w.known = nil, nil
	return a.run()
}

// admission looks at the waiting jobs of some limit keys.
type admission struct {
	*work
	// known are the keys whose waiting jobs are known already, as their rows in the database are.
	known  map[string]waitingKey
	keys   []string
	shifts map[string]shift
	// started and reserved are JSON lists: ids, and pairs of an id and its start. Members are the ids of those that belong to batches.
	started, reserved               []byte
	startedMembers, reservedMembers []byte
	// clocks are the keys whose clocks or marks are to be written.
	clocks []any
}

// waitingKey is a key with waiting jobs.
type waitingKey struct {
	storekit.Limit
	index int
	// more says that there is more to know than Max and Active; marked is known after that was read.
	more, marked bool
	// started counts the jobs that were started with those of other keys.
	started int
}

func (a *admission) run() error {
	waiting, err := a.waiting()
	if err != nil {
		return err
	}
	walks, err := a.startMany(waiting)
	if err != nil {
		return err
	}
	if len(walks) > 0 {
		if err := a.move(); err != nil {
			return err
		}
	}
	for _, k := range walks {
		if err := a.walk(k); err != nil {
			return err
		}
	}
	if err := a.move(); err != nil {
		return err
	}
	if err := a.writeTallies(); err != nil {
		return err
	}
	return a.count()
}

// startMany starts the first waiting jobs of keys without a rate, of all keys with as much room at once: exactly as much where that
// is little. It returns the keys that are left to be walked.
func (a *admission) startMany(waiting []waitingKey) (walks []*waitingKey, err error) {
	const little = 16
	var byRoom [little + 1][]*waitingKey
	least := 0
	for i := range waiting {
		k := &waiting[i]
		switch room := k.Max - k.Active; {
		case k.more || k.Max == 0:
			walks = append(walks, k)
		case room >= little:
			byRoom[little] = append(byRoom[little], k)
			if least == 0 || room < least {
				least = room
			}
		case room > 0:
			byRoom[room] = append(byRoom[room], k)
		}
	}
	for room, keys := range byRoom[:little] {
		if err := a.heads(keys, room); err != nil {
			return nil, err
		}
	}
	if err := a.heads(byRoom[little], least); err != nil {
		return nil, err
	}
	for _, k := range byRoom[little] {
		if k.started == least && k.Room() { // it has more room, and may have more waiting jobs
			walks = append(walks, k)
		}
	}
	return walks, nil
}

// waiting finds the keys that have waiting jobs which may get on: those that the call knows, and those that it reads now.
func (a *admission) waiting() ([]waitingKey, error) {
	var waiting []waitingKey
	unknown := a.keys
	if len(a.known) > 0 {
		unknown = nil
		for i, key := range a.keys {
			k, ok := a.known[key]
			if !ok {
				unknown = append(unknown, key)
				continue
			}
			k.index = i
			k.Active += int(a.shifts[key].active)
			waiting = append(waiting, k)
		}
		if len(unknown) == 0 {
			return waiting, nil
		}
	}
	text, err := jsonText(unknown)
	if err != nil {
		return nil, err
	}
	err = a.each("limits_waiting", []any{text}, func(rows *sql.Rows) error {
		var k waitingKey
		err := rows.Scan(&k.index, &k.Max, &k.Active, &k.more)
		if len(unknown) < len(a.keys) {
			k.index, _ = slices.BinarySearch(a.keys, unknown[k.index])
		}
		k.Active += int(a.shifts[a.keys[k.index]].active)
		waiting = append(waiting, k)
		return err
	})
	return waiting, err
}

// walk takes the waiting jobs of one key in order, until one has to wait.
func (a *admission) walk(k *waitingKey) error {
	key := a.keys[k.index]
	if k.more {
		if _, err := a.one("limits_clocks_of", []any{key}, &k.Rate, &k.Per, &k.Burst, &k.TAT, &k.AdmitTAT, &k.marked); err != nil {
			return err
		}
	}
	before, more := k.Limit, false
	limit := int64(storekit.MaxTurns) + 1
	if !k.Rated() {
		limit = -1
	}
	turns := 0
	var id, flags int64
	var queue interned
	done := false
	err := a.each("limits_turn", []any{key, limit}, func(rows *sql.Rows) error {
		if done {
			return nil
		}
		if err := rows.Scan(&id, &queue, &flags); err != nil {
			return err
		}
		if k.Rated() && turns == storekit.MaxTurns {
			done, more = true, true
			return nil
		}
		turn, start := k.Next(flags&flagGranted != 0, a.now)
		turns++
		switch turn {
		case storekit.Wait:
			done = true
		case storekit.Start:
			a.start(k.index, id, flags, string(queue))
		case storekit.Reserve:
			a.reserve(k.index, id, storekit.Micros(start), flags, string(queue))
		}
		return nil
	})
	if k.Clocks != before.Clocks || k.marked != more {
		a.clocks = append(a.clocks, []any{key, k.TAT, k.AdmitTAT, more})
	}
	return err
}

// heads starts the first waiting jobs of several keys, up to as many of each.
func (a *admission) heads(of []*waitingKey, most int) error {
	if len(of) == 0 {
		return nil
	}
	keys := make([]string, len(of))
	for i, k := range of {
		keys[i] = a.keys[k.index]
	}
	text, err := jsonText(keys)
	if err != nil {
		return err
	}
	var i int
	var id, flags int64
	var queue interned
	return a.each("limits_heads", []any{text, int64(most)}, func(rows *sql.Rows) error {
		if err := rows.Scan(&i, &id, &queue, &flags); err != nil {
			return err
		}
		of[i].Active++
		of[i].started++
		a.start(of[i].index, id, flags, string(queue))
		return nil
	})
}

func (a *admission) start(index int, id, flags int64, queue string) {
	a.started = appendID(a.started, id)
	if flags&flagBatch != 0 {
		a.startedMembers = appendID(a.startedMembers, id)
	}
	a.shift(index, shift{active: 1})
	a.ready(queue)
	a.admitted++
}

func (a *admission) reserve(index int, id, at, flags int64, queue string) {
	a.reserved = appendPair(a.reserved, id, at)
	if flags&flagBatch != 0 {
		a.reservedMembers = appendID(a.reservedMembers, id)
	}
	a.shift(index, shift{reserved: 1})
	a.scheduled(queue)
	a.admitted++
}

func (a *admission) shift(index int, by shift) {
	sum := a.shifts[a.keys[index]]
	a.shifts[a.keys[index]] = shift{sum.active + by.active, sum.reserved + by.reserved}
}

// move writes the jobs that start or get a reserved start.
func (a *admission) move() error {
	for _, to := range []struct {
		list, members []byte
		state         driver.State
		put, taken    string
	}{
		{a.started, a.startedMembers, driver.Enqueued, "limits_start", "limits_started"},
		{a.reserved, a.reservedMembers, driver.Scheduled, "limits_reserve", "limits_reserved"},
	} {
		if len(to.list) == 0 {
			continue
		}
		if len(to.members) > 0 {
			err := a.membersCounted("batch_members", []any{closeIDs(to.members)}, func(batch, n int64) {
				a.memberMoved(batch, driver.Throttled, to.state, n)
			})
			if err != nil {
				return err
			}
		}
		list := closeIDs(to.list)
		if err := a.exec(to.put, list, int64(flagGranted)); err != nil {
			return err
		}
		if err := a.exec(to.taken, list); err != nil {
			return err
		}
	}
	a.started, a.reserved, a.startedMembers, a.reservedMembers = nil, nil, nil, nil
	return nil
}

// count writes the counters and the clocks that have changed. A slot that one job has left to the next changes nothing.
func (a *admission) count() error {
	var shifts []any
	for _, key := range a.keys {
		if s := a.shifts[key]; s != (shift{}) {
			shifts = append(shifts, []any{key, s.active, s.reserved})
		}
	}
	for _, change := range []struct {
		name string
		rows []any
	}{{"limits_shift", shifts}, {"limits_clocks", a.clocks}} {
		if len(change.rows) == 0 {
			continue
		}
		text, err := jsonText(change.rows)
		if err != nil {
			return err
		}
		if err := a.exec(change.name, text); err != nil {
			return err
		}
	}
	return nil
}

// touchMarked touches up to limit keys that are marked.
func (w *work) touchMarked(limit int) error {
	return w.each("limits_marked", []any{int64(limit)}, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		w.keyTouched(key)
		return err
	})
}

// freeSlots notes that jobs have left processing. The slots of keys without waiting jobs, for which nothing else is to be done, are
// given back at once.
func (w *work) freeSlots(ids []int64) error {
	list := encodeIDs(ids)
	wanted, waiting := 0, 0
	if _, err := w.one("limits_any", nil, &waiting); err != nil {
		return err
	}
	if waiting != 0 {
		if w.known == nil {
			w.known = map[string]waitingKey{}
		}
		err := w.each("limits_wanted", []any{list}, func(rows *sql.Rows) error {
			var key string
			var n int
			var k waitingKey
			err := rows.Scan(&key, &n, &k.Max, &k.Active, &k.more)
			w.known[key] = k
			w.shiftKey(key, shift{active: -int64(n)})
			wanted += n
			return err
		})
		if err != nil || wanted == len(ids) {
			return err
		}
	}
	return w.exec("limits_free", list, int64(waiting))
}

// keysOf lists the limit keys of jobs, each once.
func (w *work) keysOf(ids string) (keys []string, err error) {
	err = w.each("limits_of", []any{ids}, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		keys = append(keys, key)
		return err
	})
	return keys, err
}

// Limits implements driver.LimitReader.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	var infos []driver.LimitInfo
	err := s.read(ctx, func(r *reader) error {
		infos = nil
		return r.each("limits_list", []any{after, int64(storekit.OrDefault(limit, 100))}, func(rows *sql.Rows) error {
			var i driver.LimitInfo
			var clocks storekit.Clocks
			err := rows.Scan(&i.Key, &i.Max, &i.Rate, &i.Per, &i.Burst, &i.Active, &i.Reserved, &clocks.TAT, &i.Throttled)
			i.NextStart = storekit.Rule{Max: i.Max, Rate: i.Rate, Per: i.Per, Burst: i.Burst}.NextStart(clocks, r.now)
			infos = append(infos, i)
			return err
		})
	})
	return infos, err
}

func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
