package storekit

import "github.com/kilnjobs/kiln/driver"

// Tally is what a call changes of one batch, written as one update.
type Tally struct {
	// Total counts those that joined, States the members in each group of states.
	Total  int64
	States [TallyGroups]int64
	// Nested and Finished count batches nested in it, opened and finished.
	Nested, Finished int64
	Sealed           bool
	// Look asks only whether it finishes now.
	Look bool
}

// The groups of states that a batch counts, in the order of its columns. Enqueued and processing jobs are one group, so that a
// claim changes no batch.
const (
	TallyAwaiting = iota
	TallyScheduled
	TallyThrottled
	TallyActive
	TallyFailed
	TallySucceeded
	TallyDeleted
	TallyGroups
)

// TallyGroup is the group that a state belongs to.
func TallyGroup(state driver.State) int {
	switch state {
	case driver.Awaiting:
		return TallyAwaiting
	case driver.Scheduled:
		return TallyScheduled
	case driver.Throttled:
		return TallyThrottled
	case driver.Failed:
		return TallyFailed
	case driver.Succeeded:
		return TallySucceeded
	case driver.Deleted:
		return TallyDeleted
	}
	return TallyActive
}

// Add adds another change to this one.
func (t *Tally) Add(o *Tally) {
	t.Total += o.Total
	for i := range t.States {
		t.States[i] += o.States[i]
	}
	t.Nested += o.Nested
	t.Finished += o.Finished
	t.Sealed = t.Sealed || o.Sealed
	t.Look = t.Look || o.Look
}

// Tallies are tallies by batch. Batch 0 is none, and nothing is counted of it. The zero value is empty.
type Tallies map[int64]*Tally

// Of is the tally of a batch, made if there is none.
func (t *Tallies) Of(batch int64) *Tally {
	if *t == nil {
		*t = Tallies{}
	}
	of := (*t)[batch]
	if of == nil {
		of = &Tally{}
		(*t)[batch] = of
	}
	return of
}

// Joined counts a new member.
func (t *Tallies) Joined(batch int64, state driver.State) {
	if batch == 0 {
		return
	}
	of := t.Of(batch)
	of.Total++
	of.States[TallyGroup(state)]++
}

// Counted counts n members that came into a state, or left it.
func (t *Tallies) Counted(batch int64, state driver.State, n int64) {
	if batch != 0 {
		t.Of(batch).States[TallyGroup(state)] += n
	}
}

// Moved counts n members that went from one state to another.
func (t *Tallies) Moved(batch int64, from, to driver.State, n int64) {
	t.Counted(batch, from, -n)
	t.Counted(batch, to, n)
}

// Clone is a copy that stays as it is when t grows.
func (t Tallies) Clone() Tallies { return cloneEach(t) }
