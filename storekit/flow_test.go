package storekit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		parent driver.State
		// resolves are the masks that the state satisfies, and otherwise is the verdict on all others.
		resolves  driver.Mask
		otherwise Verdict
	}{
		{driver.Awaiting, 0, Stay}, {driver.Scheduled, 0, Stay}, {driver.Throttled, 0, Stay}, {driver.Enqueued, 0, Stay},
		{driver.Processing, 0, Stay},
		{driver.Succeeded, driver.OnSucceeded, Doom}, {driver.Failed, driver.OnFailed, Stay}, {driver.Deleted, driver.OnDeleted, Doom},
		{Pruned, driver.OnDeleted, Doom},
	} {
		for on := driver.Mask(1); on <= driver.OnFinished; on++ {
			want := c.otherwise
			if on&c.resolves != 0 {
				want = Resolve
			}
			if got := Judge(on, c.parent); got != want {
				t.Errorf("Judge(%d, %s) is %d, want %d", on, c.parent, got, want)
			}
		}
	}
}

func TestDoomReason(t *testing.T) {
	if got := DoomReason(42, driver.Deleted); got != "parent 42 deleted" {
		t.Errorf("got %q", got)
	}
	if got := DoomReason(7, Pruned); got != "parent 7 pruned" {
		t.Errorf("got %q", got)
	}
}

func TestDepsAdd(t *testing.T) {
	var d Deps
	for id := int64(30); id > 0; id-- {
		d.Add(id, driver.OnSucceeded|8)
	}
	for id := int64(1); id <= 30; id += 2 {
		d.Add(id, driver.OnFailed)
	}
	if len(d.List) != 30 {
		t.Fatalf("%d parents, want 30", len(d.List))
	}
	for i, dep := range d.List {
		want := driver.OnSucceeded
		if dep.Parent%2 == 1 {
			want |= driver.OnFailed
		}
		if dep.Parent != int64(30-i) || dep.On != want {
			t.Errorf("parent %d is %+v, want id %d and mask %d", i, dep, 30-i, want)
		}
	}
	if ids := d.IDs(); len(ids) != 30 || ids[0] != 30 || ids[29] != 1 {
		t.Errorf("ids are %v", ids)
	}
	if ids := (&Deps{}).IDs(); ids != nil {
		t.Errorf("ids of nobody are %v", ids)
	}
}

func TestDepsSettle(t *testing.T) {
	states := map[int64]driver.State{1: driver.Succeeded, 2: driver.Processing, 3: driver.Failed, 4: driver.Deleted}
	state := func(id int64) driver.State { return states[id] }
	make := func(parents ...Dep) *Deps {
		d := &Deps{}
		for _, p := range parents {
			d.Add(p.Parent, p.On)
		}
		return d
	}
	for _, c := range []struct {
		what    string
		deps    *Deps
		pending int
		doom    string
		open    []int64
	}{
		{"nothing", make(), 0, "", nil},
		{"resolved", make(Dep{Parent: 1, On: 1}), 0, "", nil},
		{"open", make(Dep{Parent: 2, On: 1}, Dep{Parent: 1, On: 1}), 1, "", []int64{2}},
		{"failed, wanted succeeded", make(Dep{Parent: 3, On: 1}), 1, "", []int64{3}},
		{"failed, wanted failed", make(Dep{Parent: 3, On: 2}), 0, "", nil},
		{"two open", make(Dep{Parent: 2, On: 1}, Dep{Parent: 3, On: 5}), 2, "", []int64{2, 3}},
		{"doomed", make(Dep{Parent: 4, On: 1}), 0, "parent 4 deleted", nil},
		{"doomed over open", make(Dep{Parent: 2, On: 1}, Dep{Parent: 1, On: 6}), 0, "parent 1 succeeded", nil},
		{"the first doom", make(Dep{Parent: 4, On: 3}, Dep{Parent: 1, On: 4}), 0, "parent 4 deleted", nil},
	} {
		pending, doom := c.deps.Settle(state)
		var open []int64
		for _, dep := range c.deps.List {
			if dep.Open {
				open = append(open, dep.Parent)
			}
		}
		if pending != c.pending || doom != c.doom || !slices.Equal(open, c.open) {
			t.Errorf("%s: %d pending, doom %q, open %v; want %d, %q, %v", c.what, pending, doom, open, c.pending, c.doom, c.open)
		}
	}
}

func TestParentsFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := 1 + rng.IntN(12)
		// A hidden order makes sure that there is no cycle.
		hidden := rng.Perm(n)
		jobs := make([]driver.InsertParams, n)
		backwards := false
		for range rng.IntN(3 * n) {
			a, b := rng.IntN(n), rng.IntN(n)
			if a == b {
				continue
			}
			parent, child := hidden[min(a, b)], hidden[max(a, b)]
			jobs[child].Parents = append(jobs[child].Parents, driver.Parent{Index: parent, On: 1}, driver.Parent{ID: 99, Index: child, On: 1})
			backwards = backwards || parent > child
		}
		order := ParentsFirst(len(jobs), func(i int) []driver.Parent { return jobs[i].Parents })
		if (order != nil) != backwards {
			t.Fatalf("order %v, though a parent behind its child is %v: %+v", order, backwards, jobs)
		}
		if order == nil {
			continue
		}
		place := make([]int, n)
		for i := range place {
			place[i] = -1
		}
		for at, job := range order {
			place[job] = at
		}
		if len(order) != n || slices.Contains(place, -1) {
			t.Fatalf("order %v does not hold each of %d jobs once", order, n)
		}
		for i := range jobs {
			for _, p := range jobs[i].Parents {
				if p.ID == 0 && place[p.Index] > place[i] {
					t.Fatalf("order %v has job %d before its parent %d", order, i, p.Index)
				}
			}
		}
	}
}

func TestParentsFirstLong(t *testing.T) {
	jobs := make([]driver.InsertParams, 200_000)
	for i := range len(jobs) - 1 {
		jobs[i].Parents = []driver.Parent{{Index: i + 1, On: 1}}
	}
	order := ParentsFirst(len(jobs), func(i int) []driver.Parent { return jobs[i].Parents })
	if len(order) != len(jobs) || order[0] != len(jobs)-1 || order[len(order)-1] != 0 {
		t.Errorf("a chain of %d jobs came back as %d, from %d to %d", len(jobs), len(order), order[0], order[len(order)-1])
	}
}

func TestFinishes(t *testing.T) {
	done := Progress{Sealed: true, Nested: 2, NestedFinished: 2}
	if !done.Finishes() {
		t.Error("a sealed batch with nothing live does not finish")
	}
	for what, change := range map[string]func(*Progress){
		"open":     func(p *Progress) { p.Sealed = false },
		"finished": func(p *Progress) { p.Finished = true },
		"live":     func(p *Progress) { p.Live = 1 },
		"nested":   func(p *Progress) { p.NestedFinished = 1 },
	} {
		p := done
		change(&p)
		if p.Finishes() {
			t.Errorf("it finishes though it is %s", what)
		}
	}
}
