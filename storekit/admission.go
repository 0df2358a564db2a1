package storekit

import "time"

// MaxTurns is how many waiting jobs of a rated key one call deals with. Those behind them are left to later calls: a store marks
// the key, and Promote and Sweep go on with it.
const MaxTurns = 1000

// Turn is what becomes of the waiting job whose turn it is.
type Turn uint8

const (
	// Wait leaves the job throttled, and all those behind it.
	Wait Turn = iota
	// Start enqueues the job. It holds a slot of Max until it leaves enqueued and processing, and its reservation is used up.
	Start
	// Reserve schedules the job for the start that it was given, which it holds without a slot of Max.
	Reserve
)

// Limit is a limit key while its waiting jobs are looked at one by one, by priority, highest first, then by id.
type Limit struct {
	Rule
	Clocks
	// Active is how many jobs of the key are enqueued or processing.
	Active int
}

// Room reports whether one more job of the key may be enqueued as far as Max is concerned.
func (l *Limit) Room() bool { return l.Max == 0 || l.Active < l.Max }

// Next decides about the waiting job that comes next, and changes the limit accordingly. granted says that the job waits with a
// reserved start that has come. For Reserve it returns the start. After Wait the caller stops.
func (l *Limit) Next(granted bool, now time.Time) (Turn, time.Time) {
	if !l.Rated() {
		if !l.Room() {
			return Wait, time.Time{}
		}
		l.Active++
		return Start, time.Time{}
	}
	t := now.UnixNano()
	if granted && l.onTime(l.Clocks, t) || !granted && l.TAT-l.tolerance() <= t {
		if !l.Room() {
			return Wait, time.Time{}
		}
		if !granted {
			l.take(&l.Clocks, t)
		}
		l.admit(&l.Clocks, t)
		l.Active++
		return Start, time.Time{}
	}
	return Reserve, instantUp(l.take(&l.Clocks, t))
}
