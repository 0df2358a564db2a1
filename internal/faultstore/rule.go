package faultstore

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Call says which call is about to be made.
type Call struct {
	// Method is the method's name, one of Methods.
	Method string
	// Number counts the calls of this method on this wrapper, from 1.
	Number int
	// Total counts all calls on this wrapper, from 1.
	Total int
}

// Rule decides what goes wrong with a call; the zero Fault lets it through. The calls of one wrapper are numbered and decided
// one at a time, so a rule may keep state without a lock as long as one wrapper uses it.
type Rule func(Call) Fault

// Fault is what goes wrong with one call.
type Fault struct {
	// Before happens before the call reaches the store: an error in it means that nothing was done.
	Before Step
	// After happens after the store did its work: an error in it replaces the answer. For Subscribe it breaks a running
	// subscription.
	After Step
}

// Step is what happens at one side of the store, in this order.
type Step struct {
	// Delay is waited first.
	Delay time.Duration
	// Until, if not nil, is waited for until it is closed or yields.
	Until <-chan struct{}
	// Err, if not nil, is what the caller gets.
	Err error
}

// Fail makes a call fail without reaching the store.
func Fail(err error) Fault { return Fault{Before: Step{Err: err}} }

// Lose lets a call do its work and loses the answer: the caller gets err.
func Lose(err error) Fault { return Fault{After: Step{Err: err}} }

// Late delays a call on its way to the store.
func Late(d time.Duration) Fault { return Fault{Before: Step{Delay: d}} }

// Hang holds a call before it reaches the store until released is closed; if its context ends first, nothing was done.
func Hang(released <-chan struct{}) Fault { return Fault{Before: Step{Until: released}} }

// HangAfter holds a call's answer until released is closed. The work is done all the same.
func HangAfter(released <-chan struct{}) Fault { return Fault{After: Step{Until: released}} }

// Never returns a channel for Hang and HangAfter that nothing releases: the call ends with its context. It is a new channel
// each time, so that it belongs to the synctest bubble of the caller.
func Never() <-chan struct{} { return make(chan struct{}) }

// On applies a rule to one method only. It panics for a name that is not in Methods, which would never match.
func On(method string, rule Rule) Rule {
	if !slices.Contains(Methods, method) {
		panic(fmt.Sprintf("faultstore: no method is called %q", method))
	}
	return func(c Call) Fault {
		if c.Method != method {
			return Fault{}
		}
		return rule(c)
	}
}

// Always answers every call with the same fault.
func Always(f Fault) Rule { return func(Call) Fault { return f } }

// Nth answers the nth call of a method, counted from 1, with a fault.
func Nth(n int, f Fault) Rule {
	return func(c Call) Fault {
		if c.Number != n {
			return Fault{}
		}
		return f
	}
}

// First asks rules in order and takes the first fault.
func First(rules ...Rule) Rule {
	return func(c Call) Fault {
		for _, rule := range rules {
			if f := rule(c); f != (Fault{}) {
				return f
			}
		}
		return Fault{}
	}
}

// pass goes through a step and returns the error that the caller must get.
func (s Step) pass(ctx context.Context) error {
	if s.Delay > 0 {
		timer := time.NewTimer(s.Delay)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
	if s.Until != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Until:
		}
	}
	return s.Err
}
