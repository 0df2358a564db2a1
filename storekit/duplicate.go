package storekit

import (
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Holder is the job that holds a unique key when another one asks for it.
type Holder struct {
	State driver.State
	RunAt time.Time
	// Limited says that the job has a limit key, so that it holds a slot while it is enqueued.
	Limited bool
	// Granted says that it has a reserved start.
	Granted bool
}

// Newcomer is the job that finds its key held.
type Newcomer struct {
	// Replace and Debounce are UniqueReplace and UniqueDebounce.
	Replace  bool
	Debounce time.Duration
	// RunAt is the run time that the job would be stored with, see the function RunAt.
	RunAt time.Time
}

// Merged is the holder afterwards. Without Replaced nothing about it changes.
type Merged struct {
	// Replaced says that the holder takes the newcomer's args, meta, tags, title, priority and deadline.
	Replaced bool
	State    driver.State
	RunAt    time.Time
}

// Merge decides what a duplicate does to the holder of its key.
func Merge(h Holder, n Newcomer, now time.Time) Merged {
	kept := Merged{State: h.State, RunAt: h.RunAt}
	replaced := Merged{Replaced: true, State: h.State, RunAt: h.RunAt}
	if n.Debounce > 0 {
		if h.State != driver.Scheduled || h.Granted {
			return kept
		}
		replaced.RunAt = n.RunAt
		return replaced
	}
	if !n.Replace {
		return kept
	}
	switch h.State {
	case driver.Awaiting:
		replaced.RunAt = n.RunAt
	case driver.Scheduled:
		// One that is due now stays for Promote, which has its limit admitted, too.
		if !h.Granted {
			replaced.RunAt = n.RunAt
		}
	case driver.Throttled, driver.Enqueued:
		slot := h.Granted || h.Limited && h.State == driver.Enqueued
		if !slot && n.RunAt.After(now) {
			replaced.State, replaced.RunAt = driver.Scheduled, n.RunAt
		}
	default:
		return kept
	}
	return replaced
}

// FollowRepeats returns the parents of the jobs of a call in which some are repeats: jobs whose unique key an earlier job of the call
// has, whose position first gives, or below 0. Who waits for a repeat waits for that job. The error is that of driver.CheckInsert for
// jobs that would wait for themselves then.
func FollowRepeats(parents [][]driver.Parent, first func(job int) int) ([][]driver.Parent, error) {
	jobs := make([]driver.InsertParams, len(parents))
	out := make([][]driver.Parent, len(parents))
	for i, named := range parents {
		jobs[i] = driver.InsertParams{Kind: "repeat", Queue: "repeat", Args: []byte("0"), MaxAttempts: 1}
		if first(i) >= 0 {
			continue // it is not inserted
		}
		for _, p := range named {
			if p.ID == 0 {
				if f := first(p.Index); f >= 0 {
					p.Index = f
				}
			}
			out[i] = append(out[i], p)
		}
		jobs[i].Parents = out[i]
	}
	return out, driver.CheckInsert(jobs)
}
