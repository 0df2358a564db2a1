package sqlitestore

import (
	"database/sql"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

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

// turns is how many of the key's waiting jobs are to be read: those that have room, and one more than a call deals with of a rated key,
// whose jobs may get a later start without any.
func (k *waitingKey) turns() int64 {
	if k.Rated() {
		return storekit.MaxTurns + 1
	}
	return int64(max(k.Max-k.Active, 0))
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
	turns := 0
	var id, flags int64
	var queue interned
	done := false
	err := a.each("limits_turn", []any{key, k.turns()}, func(rows *sql.Rows) error {
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
