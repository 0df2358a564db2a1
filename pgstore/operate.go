package pgstore

import (
	"maps"
	"slices"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// movers are the jobs of one state on their way to another, as columns.
type movers struct {
	ids          []int64
	flags, ranks []int32
	queues       []string
}

func (m *movers) add(l *located) {
	m.ids = append(m.ids, l.id)
	m.flags = append(m.flags, int32(l.flags))
	if l.state == driver.Enqueued {
		m.queues = append(m.queues, l.queue)
		m.ranks = append(m.ranks, int32(l.rank))
	}
}

// moving are the states that an operator takes jobs out of, in the order in which that is done, each with the statement that deletes
// its jobs and the one that sends them back to their queues.
var moving = []struct {
	state           driver.State
	delete, requeue string
}{
	{driver.Enqueued, "delete_ready", ""},
	{driver.Scheduled, "delete_scheduled", "requeue_scheduled"},
	{driver.Throttled, "delete_throttled", ""},
	{driver.Awaiting, "delete_awaiting", ""},
	{driver.Failed, "delete_failed", "requeue_failed"},
	{driver.Succeeded, "", "requeue_done"},
	{driver.Deleted, "", "requeue_done"},
}

// endAll deletes jobs that are neither processing nor archived, for the reason in the entry: what end does to one.
func (w *work) endAll(list []located, why driver.Entry) error {
	if len(list) == 0 {
		return nil
	}
	from := map[driver.State]*movers{}
	var keyed, late []int64
	entries := make([]noted, len(list))
	for i := range list {
		l := &list[i]
		moversOf(from, l.state).add(l)
		if l.flags&flagDeadline != 0 && waits(l.state) {
			late = append(late, l.id)
		}
		w.memberMoved(l.batch, l.state, driver.Deleted, 1)
		w.slotFreed(l)
		if l.flags&flagChildren != 0 {
			w.jobEnded(l.id, driver.Deleted)
		}
		if l.flags&flagUnique != 0 {
			keyed = append(keyed, l.id)
		}
		why.At, why.State, why.Attempt = w.now, driver.Deleted, int(l.attempt)
		entries[i] = noted{id: l.id, entry: storekit.CleanEntry(why)}
	}
	w.count("", storekit.StatDeleted, int64(len(list)))
	for _, m := range moving {
		if from[m.state] == nil {
			continue
		}
		if err := w.deleteFrom(m.state, m.delete, from[m.state]); err != nil {
			return err
		}
	}
	if len(late) > 0 {
		if err := w.exec("delete_deadlines", late); err != nil {
			return err
		}
	}
	if len(keyed) > 0 {
		if err := w.exec("unique_release_all", keyed); err != nil {
			return err
		}
	}
	return w.noteAll(entries)
}

func (w *work) deleteFrom(state driver.State, statement string, m *movers) error {
	switch state {
	case driver.Enqueued:
		return w.must(len(m.ids), statement, m.ids, m.flags, m.queues, m.ranks, w.nowAt)
	case driver.Awaiting, driver.Failed:
		return w.must(len(m.ids), statement, m.ids, m.flags, w.nowAt)
	}
	return w.must(len(m.ids), statement, m.ids, m.flags, w.nowAt, int32(flagGranted))
}

// requeueAll sends scheduled and ended jobs back to their queues.
func (w *work) requeueAll(list []located, actor string) error {
	if len(list) == 0 {
		return nil
	}
	from := map[driver.State]*movers{}
	var outputs []int64
	raised := map[int32][]int64{}
	var late []int64
	entries := make([]noted, len(list))
	for i := range list {
		l := &list[i]
		moversOf(from, l.state).add(l)
		switch {
		case l.state == driver.Scheduled:
			most := int32(l.attempt) + 1
			raised[most] = append(raised[most], l.id)
		case l.flags&flagDeadline != 0:
			late = append(late, l.id)
		}
		if l.flags&flagOutput != 0 {
			outputs = append(outputs, l.id)
		}
		w.slotFreed(l)
		to := storekit.Ready(w.now, w.now, l.flags&flagLimit != 0)
		w.memberMoved(l.batch, l.state, to, 1)
		if to == driver.Enqueued {
			w.ready(l.queue, l.rank, l.id)
		} else {
			w.keyTouched(l.limitKey)
		}
		entry := driver.Entry{At: w.now, State: to, Attempt: int(l.attempt), Reason: "requeued", Actor: actor}
		entries[i] = noted{id: l.id, entry: storekit.CleanEntry(entry)}
	}
	for _, m := range moving {
		if from[m.state] == nil {
			continue
		}
		if err := w.requeueFrom(m.state, m.requeue, from[m.state]); err != nil {
			return err
		}
	}
	if len(late) > 0 {
		if err := w.exec("requeue_deadlines", late); err != nil {
			return err
		}
	}
	for _, most := range slices.Sorted(maps.Keys(raised)) {
		if err := w.exec("requeue_attempts", raised[most], most); err != nil {
			return err
		}
	}
	if len(outputs) > 0 {
		if err := w.exec("requeue_outputs", outputs); err != nil {
			return err
		}
	}
	return w.noteAll(entries)
}

func (w *work) requeueFrom(state driver.State, statement string, m *movers) error {
	args := []any{m.ids, m.flags, w.nowAt, int32(flagGranted | flagOutput), int32(flagLimit)}
	if state.Archived() { // two states share a table: a job may have gone from one to the other
		args = append(args, doneCode(state))
	}
	n := 0
	_, err := w.one(statement, args, &n)
	if err == nil && n != len(m.ids) {
		err = errMoved
	}
	return err
}

func moversOf(from map[driver.State]*movers, state driver.State) *movers {
	m := from[state]
	if m == nil {
		m = &movers{}
		from[state] = m
	}
	return m
}
