package storekit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Bounds of what Problems reads, so that it costs much the same however large a store is.
const (
	// MaxLanes is how many lanes of ready jobs are looked at: of one queue and priority, or of one queue, kind and priority.
	MaxLanes = 1000
	// MaxHeldKeys is how many limit keys with waiting jobs are looked at.
	MaxHeldKeys = 500
	// HeldFront is among how many of a key's first waiting jobs the one that waits longest is looked for.
	HeldFront = 100
	// MaxFailedKinds is how many kinds with failed jobs are looked at.
	MaxFailedKinds = 1000
	// FailedCap is where counts of failed jobs of one kind stop.
	FailedCap = 10_000
	// MaxRecurring is how many recurring jobs are looked at for a last job that failed.
	MaxRecurring = 5000
	// MaxProblemError is how many bytes of a failed job's error Problems returns.
	MaxProblemError = 500
)

// ReadyStretch is how many of the first jobs of each lane are looked at: a thousand, and fewer of each when there are many lanes.
func ReadyStretch(lanes int) int { return share(5000, lanes, 10, 1000) }

// CountStretch is how far the ready jobs of each of some queues are counted.
func CountStretch(queues int) int { return share(10_000, queues, 500, 10_000) }

// HeldStretch is how far the waiting jobs of each limit key are counted.
func HeldStretch(keys int) int { return share(50_000, keys, 50, 10_000) }

// share divides what is read in all among several, within bounds.
func share(all, among, least, most int) int { return min(max(all/max(among, 1), least), most) }

// Silent reports whether a server counts as silent in what people are shown.
func Silent(server *driver.ServerInfo, now time.Time) bool {
	return now.Sub(server.HeartbeatAt) > driver.SilentAfter
}

// Late reports whether a recurring job's next run is late.
func Late(paused bool, next, now time.Time) bool {
	return !paused && !next.IsZero() && now.Sub(next) > driver.SilentAfter
}

// LateBefore is the instant before which the next run of a recurring job is late, and a server silent that was last heard of.
func LateBefore(now time.Time) time.Time { return now.Add(-driver.SilentAfter) }

// ProblemError is how much of a failed job's error Problems returns.
func ProblemError(text string) string { return Cut(text, MaxProblemError) }

// Served says which queues live servers work on, and which kinds they handle there.
type Served map[string]map[string]bool

// anyKind stands for the kinds of a server that names none and takes all. No job has it.
const anyKind = ""

// ServedBy sums up what servers work on, the silent ones left out.
func ServedBy(servers []driver.ServerInfo, now time.Time) Served {
	s := Served{}
	for i := range servers {
		server := &servers[i]
		if Silent(server, now) {
			continue
		}
		for _, queue := range server.Queues {
			if s[queue] == nil {
				s[queue] = map[string]bool{}
			}
			if len(server.Kinds) == 0 {
				s[queue][anyKind] = true
			}
			for _, kind := range server.Kinds {
				if kind != anyKind {
					s[queue][kind] = true
				}
			}
		}
	}
	return s
}

// Queue reports whether a live server works on a queue.
func (s Served) Queue(queue string) bool { return s[queue] != nil }

// Kind reports whether a live server of the queue handles a kind.
func (s Served) Kind(queue, kind string) bool { return s[queue][anyKind] || s[queue][kind] }

// ReadyFront is what a store has found of one kind at the front of a queue's ready jobs. There may be several of one queue and kind.
type ReadyFront struct {
	Queue, Kind string
	// Since is when the job that waits longest became due, and Job its id.
	Since time.Time
	Job   int64
	// Ready counts those that were found, and Capped says that not all were looked at.
	Ready  int64
	Capped bool
}

// QueueProblems fills in what servers, pauses and ready jobs amount to: Unserved, Unhandled, Oldest, Silent and Paused. How many
// jobs are ready in a queue is left to SetReady. At is set before.
func QueueProblems(p *driver.Problems, servers []driver.ServerInfo, paused []driver.PausedQueue, front []ReadyFront, limit int) {
	served := ServedBy(servers, p.At)
	isPaused := map[string]bool{}
	for _, q := range paused {
		isPaused[q.Queue] = true
	}
	for _, q := range readyQueues(front) {
		if !served.Queue(q.Queue) {
			p.Unserved = append(p.Unserved, q)
		}
		if !isPaused[q.Queue] {
			p.Oldest = append(p.Oldest, q)
		}
	}
	for _, k := range readyKinds(front) {
		if served.Queue(k.Queue) && !served.Kind(k.Queue, k.Kind) {
			p.Unhandled = append(p.Unhandled, k)
		}
	}
	for i := range servers {
		if Silent(&servers[i], p.At) {
			p.Silent = append(p.Silent, servers[i])
		}
	}
	slices.SortFunc(p.Silent, func(a, b driver.ServerInfo) int {
		return cmp.Or(a.HeartbeatAt.Compare(b.HeartbeatAt), strings.Compare(a.ID, b.ID))
	})
	p.Paused = slices.SortedFunc(slices.Values(paused), func(a, b driver.PausedQueue) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Queue, b.Queue))
	})
	p.Unserved, p.Unhandled, p.Oldest = First(p.Unserved, limit), First(p.Unhandled, limit), First(p.Oldest, limit)
	p.Silent, p.Paused = First(p.Silent, limit), First(p.Paused, limit)
}

// readyQueues sums up the fronts by queue, the longest waiting first.
func readyQueues(front []ReadyFront) []driver.ReadyQueue {
	var queues []driver.ReadyQueue
	at := map[string]int{}
	for _, f := range front {
		i, known := at[f.Queue]
		if !known {
			at[f.Queue] = len(queues)
			queues = append(queues, driver.ReadyQueue{Queue: f.Queue, Since: f.Since, Job: f.Job})
			continue
		}
		if q := &queues[i]; waitsLonger(f.Since, f.Job, q.Since, q.Job) {
			q.Since, q.Job = f.Since, f.Job
		}
	}
	slices.SortFunc(queues, func(a, b driver.ReadyQueue) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Job, b.Job))
	})
	return queues
}

// readyKinds sums up the fronts by queue and kind, the longest waiting first.
func readyKinds(front []ReadyFront) []driver.ReadyKind {
	type lane struct{ queue, kind string }
	var kinds []driver.ReadyKind
	at := map[lane]int{}
	for _, f := range front {
		i, known := at[lane{f.Queue, f.Kind}]
		if !known {
			at[lane{f.Queue, f.Kind}] = len(kinds)
			kinds = append(kinds, driver.ReadyKind(f))
			continue
		}
		k := &kinds[i]
		if waitsLonger(f.Since, f.Job, k.Since, k.Job) {
			k.Since, k.Job = f.Since, f.Job
		}
		k.Ready, k.Capped = k.Ready+f.Ready, k.Capped || f.Capped
	}
	slices.SortFunc(kinds, func(a, b driver.ReadyKind) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Job, b.Job))
	})
	return kinds
}

func waitsLonger(since time.Time, job int64, than time.Time, thanJob int64) bool {
	return cmp.Or(since.Compare(than), cmp.Compare(job, thanJob)) < 0
}

// ReadyNames lists the queues whose ready jobs a store has to count, each once, by name.
func ReadyNames(p *driver.Problems) []string {
	var names []string
	for _, q := range slices.Concat(p.Unserved, p.Oldest) {
		names = append(names, q.Queue)
	}
	for _, q := range p.Paused {
		names = append(names, q.Queue)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SetReady fills in how many jobs are ready in the queues, which were counted up to most.
func SetReady(p *driver.Problems, ready map[string]int64, most int64) {
	for _, list := range [][]driver.ReadyQueue{p.Unserved, p.Oldest} {
		for i := range list {
			q := &list[i]
			q.Ready, q.Capped = ready[q.Queue], ready[q.Queue] >= most
		}
	}
	for i := range p.Paused {
		q := &p.Paused[i]
		q.Ready, q.Capped = ready[q.Queue], ready[q.Queue] >= most
	}
}

// SortHeld orders limit keys by the jobs that they hold back, the most first.
func SortHeld(keys []driver.HeldKey, limit int) []driver.HeldKey {
	slices.SortFunc(keys, func(a, b driver.HeldKey) int {
		return cmp.Or(cmp.Compare(b.Throttled, a.Throttled), strings.Compare(a.Key, b.Key))
	})
	return First(keys, limit)
}

// SortFailures orders kinds by their newest failure, the latest first.
func SortFailures(kinds []driver.KindFailures, limit int) []driver.KindFailures {
	slices.SortFunc(kinds, func(a, b driver.KindFailures) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.Newest, a.Newest))
	})
	return First(kinds, limit)
}

// SetFailures fills in what was read of a kind's failed jobs, with counts that went on to one above FailedCap.
func SetFailures(f *driver.KindFailures, failed, lastHour, hourBefore int64, first time.Time, text string) {
	f.Failed, f.Capped = min(failed, FailedCap), failed > FailedCap
	f.LastHour, f.HourBefore = min(lastHour, FailedCap), min(hourBefore, FailedCap)
	f.First, f.Error = first, ProblemError(text)
}

// SortRecurring orders recurring jobs that are late or whose last job failed, each taken once: late ones first, the latest of all
// first, then by their failures, the newest first.
func SortRecurring(list []driver.RecurringProblem, limit int) []driver.RecurringProblem {
	slices.SortFunc(list, func(a, b driver.RecurringProblem) int {
		switch {
		case a.Late && b.Late:
			return cmp.Or(a.NextRunAt.Compare(b.NextRunAt), strings.Compare(a.ID, b.ID))
		case a.Late:
			return -1
		case b.Late:
			return 1
		}
		return cmp.Or(b.FailedAt.Compare(a.FailedAt), strings.Compare(a.ID, b.ID))
	})
	list = slices.CompactFunc(list, func(a, b driver.RecurringProblem) bool { return a.ID == b.ID })
	return First(list, limit)
}

// First is at most the first n of a list, nil when there are none.
func First[T any](list []T, n int) []T {
	if len(list) == 0 {
		return nil
	}
	return list[:min(len(list), n)]
}
