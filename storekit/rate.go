package storekit

import (
	"math"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Rule is what a limit key allows. The latest insert that names the key sets it for all jobs of the key.
type Rule struct {
	// Max is how many jobs may be enqueued or processing at once; 0 is no cap.
	Max int
	// Rate is how many jobs may start per Per; 0 is no rate.
	Rate int
	// Per is the period of Rate.
	Per time.Duration
	// Burst is how many jobs may start back to back, at least 1 with a Rate.
	Burst int
}

// RuleOf is the rule that a job brings for its limit key.
func RuleOf(p *driver.InsertParams) Rule {
	return Rule{Max: p.LimitMax, Rate: p.LimitRate, Per: p.LimitPer, Burst: p.LimitBurst}
}

// Rated reports whether the rule spaces starts.
func (r Rule) Rated() bool { return r.Rate > 0 }

// Clocks is what a rated key remembers of its starts: two theoretical arrival times, in nanoseconds since the Unix epoch, 0 when
// unset. They count in nanoseconds, so that the rounding of Per/Rate slows down no rate that a store can reach, and they outlive
// changes of the rule.
type Clocks struct {
	// TAT is where the line of starts ends, reserved ones included.
	TAT int64
	// AdmitTAT is the same for the starts that have happened: when promotions come late it is ahead of what was planned.
	AdmitTAT int64
}

// Past reports whether the clocks say nothing any more: the key's next start would be as free as that of a new key.
func (c Clocks) Past(now time.Time) bool {
	t := now.UnixNano()
	return c.TAT <= t && c.AdmitTAT <= t
}

// longest bounds the arithmetic, in nanoseconds, so that no rule can make it overflow: a hundred years.
const longest = 100 * 365 * 24 * int64(time.Hour)

// interval is the time between two starts in the long run, rounded up, so that no rate is exceeded.
func (r Rule) interval() int64 {
	t := int64(r.Per) / int64(r.Rate)
	if int64(r.Per)%int64(r.Rate) > 0 {
		t++
	}
	return min(t, longest)
}

// tolerance is how much earlier than evenly spaced a start may be: it lets a whole burst start at once.
func (r Rule) tolerance() int64 {
	n, t := int64(r.Burst-1), r.interval()
	if n <= 0 {
		return 0
	}
	if t > longest/n {
		return longest
	}
	return n * t
}

// NextStart is the next free start of a rated key when that is in the future, and the zero time otherwise.
func (r Rule) NextStart(c Clocks, now time.Time) time.Time {
	if !r.Rated() {
		return time.Time{}
	}
	if at := c.TAT - r.tolerance(); at > now.UnixNano() {
		return instantUp(at)
	}
	return time.Time{}
}

// Info is what readers are told of the limit key with this rule.
func (r Rule) Info(key string, c Clocks, now time.Time, active, throttled, reserved int) driver.LimitInfo {
	return driver.LimitInfo{
		Key: key, Max: r.Max, Rate: r.Rate, Burst: r.Burst, Per: r.Per,
		Active: active, Throttled: throttled, Reserved: reserved, NextStart: r.NextStart(c, now),
	}
}

// take gives away the next start and returns it: now, or an instant in the future. Both are in nanoseconds.
func (r Rule) take(c *Clocks, now int64) int64 {
	at := max(now, c.TAT-r.tolerance())
	c.TAT = after(max(c.TAT, at), r.interval())
	return at
}

// onTime reports whether a job may use the start that it has reserved. After a stall many of them are overdue together, and only
// as many as a burst may start at once. Half an interval of grace keeps promotions that are a little late from pushing the rest.
func (r Rule) onTime(c Clocks, now int64) bool {
	return c.AdmitTAT-r.tolerance()-r.interval()/2 <= now
}

// admit notes a start that happens now.
func (r Rule) admit(c *Clocks, now int64) {
	c.AdmitTAT = after(max(c.AdmitTAT, now), r.interval())
	c.TAT = max(c.TAT, c.AdmitTAT)
}

// after is a plus b, or the last instant that there is.
func after(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// instantUp is the first microsecond that is not before an instant in nanoseconds.
func instantUp(nanos int64) time.Time {
	micros := nanos / 1000
	if nanos%1000 > 0 {
		micros++
	}
	return Instant(micros)
}
