package pgstore

import (
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// admission looks at the waiting jobs of some limit keys.
type admission struct {
	*work
	keys   []string
	shifts map[string]shift
	// started and reserved are ids, starts the reserved starts. Members are the ids of those that belong to batches.
	started, reserved, starts       []int64
	startedMembers, reservedMembers []int64
	// clocks are the keys whose clocks or marks are to be written.
	clocks keyClocks
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
	if err := a.lockKeys(a.keys); err != nil {
		return err
	}
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

// waiting finds the keys that have waiting jobs which may get on.
func (a *admission) waiting() ([]waitingKey, error) {
	var waiting []waitingKey
	err := a.each("limits_waiting", []any{a.keys}, func(rows rows) error {
		var k waitingKey
		err := rows.Scan(&k.index, &k.Max, &k.Active, &k.more)
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
	var id int64
	var flags, rank int32
	var queue string
	done := false
	err := a.each("limits_turn", []any{key, k.turns()}, func(rows rows) error {
		if done {
			return nil
		}
		if err := rows.Scan(&id, &queue, &rank, &flags); err != nil {
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
			a.start(k.index, id, flags, queue, rank)
		case storekit.Reserve:
			a.reserve(k.index, id, storekit.Micros(start), flags, queue)
		}
		return nil
	})
	if k.Clocks != before.Clocks || k.marked != more {
		a.clocks.add(key, k.TAT, k.AdmitTAT, more)
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
	var i int
	var id int64
	var flags, rank int32
	var queue string
	return a.each("limits_heads", []any{keys, int64(most)}, func(rows rows) error {
		if err := rows.Scan(&i, &id, &queue, &rank, &flags); err != nil {
			return err
		}
		of[i].Active++
		of[i].started++
		a.start(of[i].index, id, flags, queue, rank)
		return nil
	})
}

func (a *admission) start(index int, id int64, flags int32, queue string, rank int32) {
	a.started = append(a.started, id)
	if flags&flagBatch != 0 {
		a.startedMembers = append(a.startedMembers, id)
	}
	a.shift(index, shift{active: 1})
	a.ready(queue, rank, id)
	a.admitted++
}

func (a *admission) reserve(index int, id, at int64, flags int32, queue string) {
	a.reserved, a.starts = append(a.reserved, id), append(a.starts, at)
	if flags&flagBatch != 0 {
		a.reservedMembers = append(a.reservedMembers, id)
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
		ids, members []int64
		state        driver.State
		name         string
		args         []any
	}{
		{a.started, a.startedMembers, driver.Enqueued, "limits_start", nil},
		{a.reserved, a.reservedMembers, driver.Scheduled, "limits_reserve", []any{a.starts}},
	} {
		if len(to.ids) == 0 {
			continue
		}
		if len(to.members) > 0 {
			err := a.membersCounted("batch_members", []any{to.members}, func(batch, n int64) {
				a.memberMoved(batch, driver.Throttled, to.state, n)
			})
			if err != nil {
				return err
			}
		}
		if err := a.must(len(to.ids), to.name, append([]any{to.ids, int32(flagGranted)}, to.args...)...); err != nil {
			return err
		}
	}
	a.started, a.reserved, a.starts, a.startedMembers, a.reservedMembers = nil, nil, nil, nil, nil
	return nil
}

// keyClocks are the clocks and marks of limit keys.
type keyClocks struct {
	keys       []string
	tat, admit []int64
	marked     []bool
}

func (c *keyClocks) add(key string, tat, admit int64, marked bool) {
	c.keys, c.tat, c.admit, c.marked = append(c.keys, key), append(c.tat, tat), append(c.admit, admit), append(c.marked, marked)
}

// count writes the counters and the clocks that have changed. A slot that one job has left to the next changes nothing.
func (a *admission) count() error {
	var keys []string
	var active, reserved []int64
	for _, key := range a.keys {
		if s := a.shifts[key]; s != (shift{}) {
			keys, active, reserved = append(keys, key), append(active, s.active), append(reserved, s.reserved)
		}
	}
	if len(keys) > 0 {
		if err := a.exec("limits_shift", keys, active, reserved); err != nil {
			return err
		}
	}
	if c := &a.clocks; len(c.keys) > 0 {
		return a.exec("limits_clocks", c.keys, c.tat, c.admit, c.marked)
	}
	return nil
}
