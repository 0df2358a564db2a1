package storekit

import (
	"strconv"

	"github.com/kilnjobs/kiln/driver"
)

// Pruned is how a parent ends that is removed while others still wait for it: a failed job whose retention has passed. No job
// is ever in this state.
const Pruned driver.State = "pruned"

// Verdict is what a parent's end means for one that waits for it.
type Verdict uint8

// The verdicts.
const (
	// Stay: the parent has not ended, or failed and may be requeued.
	Stay Verdict = iota
	// Resolve: there is one thing less to wait for.
	Resolve
	// Doom: what is waited for will never happen, so the job is deleted.
	Doom
)

// Judge says what a parent's state means for a job that waits for the outcomes in on.
func Judge(on driver.Mask, parent driver.State) Verdict {
	switch {
	case on.Has(parent), parent == Pruned && on.Has(driver.Deleted):
		return Resolve
	case parent.Archived(), parent == Pruned:
		return Doom
	}
	return Stay
}

// DoomReason is the reason in the history of a job that its parent's end has doomed.
func DoomReason(parent int64, end driver.State) string {
	return "parent " + strconv.FormatInt(parent, 10) + " " + string(end)
}

// Dep is one job that another waits for.
type Dep struct {
	Parent int64
	On     driver.Mask
	// Open says that it counts among what its job still waits for.
	Open bool
}

// Deps are the jobs that a new job waits for, each once, in the order in which they were named.
type Deps struct {
	List []Dep
	at   map[int64]int
}

// Add names a parent. The masks of one that is named several times are joined.
func (d *Deps) Add(parent int64, on driver.Mask) {
	on &= driver.OnFinished
	if dep := d.Of(parent); dep != nil {
		dep.On |= on
		return
	}
	d.List = append(d.List, Dep{Parent: parent, On: on})
	if d.at != nil {
		d.at[parent] = len(d.List) - 1
	}
}

// Of returns the entry of a parent, nil when there is none. It looks through a short list and has an index of a long one.
func (d *Deps) Of(parent int64) *Dep {
	const short = 8
	if d.at == nil && len(d.List) >= short {
		d.at = make(map[int64]int, 2*short)
		for i := range d.List {
			d.at[d.List[i].Parent] = i
		}
	}
	if d.at != nil {
		if i, ok := d.at[parent]; ok {
			return &d.List[i]
		}
		return nil
	}
	for i := range d.List {
		if d.List[i].Parent == parent {
			return &d.List[i]
		}
	}
	return nil
}

// Settle looks at every parent once: it opens those that are still to be waited for, counts them, and returns the reason of the
// first that dooms the job, empty when none does. Nothing is open for a doomed job.
func (d *Deps) Settle(state func(parent int64) driver.State) (pending int, doom string) {
	for i := range d.List {
		dep := &d.List[i]
		parent := state(dep.Parent)
		switch Judge(dep.On, parent) {
		case Doom:
			for k := range d.List {
				d.List[k].Open = false
			}
			return 0, DoomReason(dep.Parent, parent)
		case Stay:
			dep.Open = true
			pending++
		default:
			dep.Open = false
		}
	}
	return pending, ""
}

// IDs lists the parents.
func (d *Deps) IDs() []int64 {
	if len(d.List) == 0 {
		return nil
	}
	ids := make([]int64, len(d.List))
	for i := range d.List {
		ids[i] = d.List[i].Parent
	}
	return ids
}

// ParentsFirst orders the jobs of a call so that each comes after the jobs of the call that it waits for. It is nil when the
// order of the call is such an order already. parents returns those of the job at a position. The call has passed
// driver.CheckInsert, so that there is no cycle.
func ParentsFirst(jobs int, parents func(job int) []driver.Parent) []int {
	if inOrder(jobs, parents) {
		return nil
	}
	order := make([]int, 0, jobs)
	entered := make([]bool, jobs)
	type frame struct{ job, next int }
	var stack []frame
	for start := range jobs {
		if entered[start] {
			continue
		}
		entered[start] = true
		stack = append(stack[:0], frame{job: start})
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			named := parents(top.job)
			if top.next == len(named) {
				order = append(order, top.job)
				stack = stack[:len(stack)-1]
				continue
			}
			p := named[top.next]
			top.next++
			if p.ID == 0 && !entered[p.Index] {
				entered[p.Index] = true
				stack = append(stack, frame{job: p.Index})
			}
		}
	}
	return order
}

func inOrder(jobs int, parents func(job int) []driver.Parent) bool {
	for i := range jobs {
		for _, p := range parents(i) {
			if p.ID == 0 && p.Index > i {
				return false
			}
		}
	}
	return true
}

// Progress is what decides whether a batch has finished.
type Progress struct {
	// Sealed says that its creator adds no more.
	Sealed bool
	// Finished says that it has finished before.
	Finished bool
	// Live counts its members that are neither succeeded nor deleted.
	Live int64
	// Nested counts the batches nested in it, NestedFinished those of them that have finished.
	Nested, NestedFinished int64
}

// Finishes reports whether the batch finishes now, which happens once.
func (p Progress) Finishes() bool {
	return p.Sealed && !p.Finished && p.Live == 0 && p.Nested == p.NestedFinished
}
