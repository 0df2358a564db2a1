package pgstore

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// laneKey is a queue and a rank in it: the jobs that are started one after the other, by id.
type laneKey struct {
	queue string
	rank  int32
}

// lowestIDs are the lowest ids of jobs that have become ready, by lane.
type lowestIDs map[laneKey]int64

func (l *lowestIDs) note(lane laneKey, id int64) {
	if *l == nil {
		*l = lowestIDs{}
	}
	if at, ok := (*l)[lane]; !ok || id < at {
		(*l)[lane] = id
	}
}

func (l *lowestIDs) noteAll(o lowestIDs) {
	for lane, id := range o {
		l.note(lane, id)
	}
}

// marks remember how far the claims of this process have come, so that they never walk over what they have taken: rows that are
// deleted stay in the index until no transaction can see them, which an idle one can put off for hours.
//
// A mark says that no job at or below it is ready, as far as this process knows. The store lowers it in every call that puts a job
// below it, before the call returns. What other processes do comes with their notifications, and is found at the latest by looking at
// everything from time to time.
type marks struct {
	mu sync.Mutex
	// queues are the marks of claims that ask for the same kinds, by queue.
	kinds map[string]map[string]*queueMarks
	// looking counts the claims under way, and round the times that there were none.
	looking int
	round   uint64
}

// queueMarks are the marks of one queue.
type queueMarks struct {
	lanes map[int32]*laneMark
	// lookedAt is when everything was looked at last, and cost how long that took.
	lookedAt time.Time
	cost     time.Duration
	// before is what the look before that has cost: one that was slow by chance says nothing.
	before time.Duration
}

// laneMark is the highest id that was taken, or seen to be ready for nobody. low is the lowest id that came while claims of a round
// were under way, which may not have seen it.
type laneMark struct {
	at, low int64
	round   uint64
}

const (
	// lookEvery is how often everything is looked at while claims are full.
	lookEvery = 250 * time.Millisecond
	// cheap is what looking at everything may cost to be done whenever a claim comes back short.
	cheap = 10 * time.Millisecond
	// share is the part of the time that looking at everything may take when it is not cheap.
	share = 20
	// mostMarks bounds the sets of kinds and the queues that are remembered.
	mostMarks = 10_000
)

// kindsKey is how marks know a set of kinds, which is sorted.
func kindsKey(kinds []string) string { return strings.Join(kinds, "\x00") }

// line is a lane in the order in which a claim looks at it, and where it begins.
type line struct {
	laneKey
	mark int64
}

// age says how long marks have been trusted.
type age uint8

const (
	// fresh: not long.
	fresh age = iota
	// stale: it is time to look at everything.
	stale
	// old: it should have been looked at everything a while ago.
	old
	// unknown: there are none of a queue.
	unknown
)

// lines says where a claim begins, and how old the marks are.
func (m *marks) lines(kinds string, queues []string, now time.Time) (list []line, trusted age) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looking++
	for _, queue := range queues {
		q := m.kinds[kinds][queue]
		if q == nil {
			trusted = unknown
			continue
		}
		switch since := now.Sub(q.lookedAt); {
		case since > 4*q.interval():
			trusted = max(trusted, old)
		case since > q.interval():
			trusted = max(trusted, stale)
		}
		for _, rank := range q.ranks() {
			list = append(list, line{laneKey{queue, rank}, q.lanes[rank].at})
		}
	}
	return list, trusted
}

func (q *queueMarks) ranks() []int32 {
	ranks := make([]int32, 0, len(q.lanes))
	for rank := range q.lanes {
		ranks = append(ranks, rank)
	}
	slices.Sort(ranks)
	return ranks
}

// interval is how long marks are trusted.
func (q *queueMarks) interval() time.Duration { return max(lookEvery, share*q.cost) }

// worth reports whether a claim that came back short should look at everything: always when that is cheap.
func (m *marks) worth(kinds string, queues []string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, queue := range queues {
		q := m.kinds[kinds][queue]
		if q == nil || q.cost < cheap || now.Sub(q.lookedAt) > share*q.cost {
			return true
		}
	}
	return false
}

// look begins a look at everything: from the beginning of the lanes that were found, and of no others.
func (m *marks) look(kinds string, queues []string, now time.Time, lines []line) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kinds) > mostMarks {
		m.kinds = nil
	}
	if m.kinds == nil {
		m.kinds = map[string]map[string]*queueMarks{}
	}
	of := m.kinds[kinds]
	if of == nil || len(of) > mostMarks {
		of = map[string]*queueMarks{}
		m.kinds[kinds] = of
	}
	for _, queue := range queues {
		q := of[queue]
		if q == nil {
			q = &queueMarks{lanes: map[int32]*laneMark{}}
			of[queue] = q
		}
		q.lookedAt = now
		for rank, l := range q.lanes {
			if l.low == 0 || l.round != m.round {
				delete(q.lanes, rank) // nothing is ready there
			}
		}
	}
	for _, l := range lines {
		q := of[l.queue]
		if known := q.lanes[l.rank]; known != nil {
			known.at = l.mark
		} else {
			q.lanes[l.rank] = &laneMark{at: l.mark}
		}
	}
}

// trust trusts the marks of queues for as long as if everything had just been looked at, since somebody is about to.
func (m *marks) trust(kinds string, queues []string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, queue := range queues {
		if q := m.kinds[kinds][queue]; q != nil {
			q.lookedAt = now
		}
	}
}

// renew puts marks back to where lanes begin that were looked at beside the claims.
func (m *marks) renew(kinds string, lines []line) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range lines {
		q := m.kinds[kinds][l.queue]
		if q == nil {
			continue
		}
		if known := q.lanes[l.rank]; known != nil {
			known.at = min(known.at, l.mark)
		} else {
			q.lanes[l.rank] = &laneMark{at: l.mark}
		}
	}
}

// looked notes what a look at everything has cost.
func (m *marks) looked(kinds string, queues []string, cost time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, queue := range queues {
		if q := m.kinds[kinds][queue]; q != nil {
			q.cost, q.before = min(cost, q.before), cost
		}
	}
}

// reached moves a mark after a claim: up to the highest id that it took, or that there was when it found no more. One that has
// looked at everything may also move it back.
func (m *marks) reached(kinds string, lane laneKey, at int64, all bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.kinds[kinds][lane.queue]
	if q == nil {
		return
	}
	l := q.lanes[lane.rank]
	if l == nil {
		l = &laneMark{}
		q.lanes[lane.rank] = l
	}
	if l.low != 0 && l.round == m.round {
		at = min(at, l.low-1)
	}
	if all {
		l.at = at
	} else {
		l.at = max(l.at, at)
	}
}

// left ends a claim.
func (m *marks) left() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.looking--; m.looking == 0 {
		m.round++
	}
}

// lower notes jobs that have become ready, by the lowest id of each lane.
func (m *marks) lower(lowest lowestIDs) {
	if len(lowest) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for lane, id := range lowest {
		for _, of := range m.kinds {
			q := of[lane.queue]
			if q == nil {
				continue
			}
			l := q.lanes[lane.rank]
			if l == nil {
				l = &laneMark{at: id - 1}
				q.lanes[lane.rank] = l
			}
			l.at = min(l.at, id-1)
			if l.low == 0 || l.round != m.round || id < l.low {
				l.low, l.round = id, m.round
			}
		}
	}
}

// forget makes the next claims look at everything.
func (m *marks) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, of := range m.kinds {
		for _, q := range of {
			q.lookedAt = time.Time{}
		}
	}
}

// heed forgets the marks when jobs may be ready that claims have passed over: those of a queue that was paused then, or any.
func (m *marks) heed(events []driver.Event) {
	for _, e := range events {
		if e.Kind == driver.QueueChanged || e.Kind == driver.Resync {
			m.forget()
			return
		}
	}
}
