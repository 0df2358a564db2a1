package driver_test

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// graph makes a call of n jobs whose index parents are the edges {child, parent}.
func graph(n int, edges ...[2]int) []driver.InsertParams {
	jobs := make([]driver.InsertParams, n)
	for i := range jobs {
		jobs[i] = valid()
	}
	for _, e := range edges {
		jobs[e[0]].Parents = append(jobs[e[0]].Parents, driver.Parent{Index: e[1], On: driver.OnSucceeded})
	}
	return jobs
}

func TestCheckInsertCycles(t *testing.T) {
	for name, c := range map[string]struct {
		n      int
		edges  [][2]int
		cyclic bool
	}{
		"pair":              {2, [][2]int{{0, 1}, {1, 0}}, true},
		"ring of three":     {3, [][2]int{{0, 1}, {1, 2}, {2, 0}}, true},
		"cycle after a way": {5, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 2}}, true},
		"cycle aside":       {4, [][2]int{{0, 1}, {2, 3}, {3, 2}}, true},
		"chain":             {4, [][2]int{{0, 1}, {1, 2}, {2, 3}}, false},
		"chain backwards":   {4, [][2]int{{3, 2}, {2, 1}, {1, 0}}, false},
		"diamond":           {4, [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 3}}, false},
		"edge twice":        {2, [][2]int{{0, 1}, {0, 1}}, false},
	} {
		err := driver.CheckInsert(graph(c.n, c.edges...))
		if !c.cyclic && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.cyclic && (!errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "form a cycle")) {
			t.Errorf("%s: error %v, want ErrInvalid about a cycle", name, err)
		}
	}
	byID := graph(2, [2]int{0, 1})
	byID[1].Parents = []driver.Parent{{ID: 1, Index: 0, On: driver.OnSucceeded}}
	if err := driver.CheckInsert(byID); err != nil {
		t.Errorf("a parent given by id closes no cycle: %v", err)
	}
}

// A search that called itself once per link would need many times this stack, and end the process.
func TestCheckInsertFollowsLongChains(t *testing.T) {
	const n = 100_000
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	jobs := graph(n)
	parents := make([]driver.Parent, n)
	for i := range jobs {
		parents[i] = driver.Parent{Index: i + 1, On: driver.OnSucceeded}
		jobs[i].Parents = parents[i : i+1 : i+1]
	}
	jobs[n-1].Parents = nil
	done := make(chan error, 2)
	go func() {
		done <- driver.CheckInsert(jobs)
		jobs[n-1].Parents = []driver.Parent{{Index: 0, On: driver.OnSucceeded}}
		done <- driver.CheckInsert(jobs)
	}()
	if err := <-done; err != nil {
		t.Errorf("chain: %v", err)
	}
	if err := <-done; !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("chain closed to a ring: %v", err)
	}
}

// sortable is Kahn's algorithm: it takes jobs without open parents away until none is left, or none can be.
func sortable(jobs []driver.InsertParams) bool {
	open := make([]int, len(jobs))
	children := make([][]int, len(jobs))
	for i := range jobs {
		for _, p := range jobs[i].Parents {
			if p.ID == 0 {
				open[i]++
				children[p.Index] = append(children[p.Index], i)
			}
		}
	}
	var free []int
	for i, n := range open {
		if n == 0 {
			free = append(free, i)
		}
	}
	taken := 0
	for ; len(free) > 0; taken++ {
		job := free[0]
		free = free[1:]
		for _, child := range children[job] {
			if open[child]--; open[child] == 0 {
				free = append(free, child)
			}
		}
	}
	return taken == len(jobs)
}

// reaches reports whether to is among the parents of from, however far.
func reaches(jobs []driver.InsertParams, from, to int) bool {
	seen := make([]bool, len(jobs))
	for look := []int{from}; len(look) > 0; {
		job := look[0]
		look = look[1:]
		for _, p := range jobs[job].Parents {
			if p.ID != 0 || seen[p.Index] {
				continue
			}
			if p.Index == to {
				return true
			}
			seen[p.Index] = true
			look = append(look, p.Index)
		}
	}
	return false
}

func FuzzCheckInsertCycles(f *testing.F) {
	f.Add([]byte{3, 0, 1, 1, 2, 2, 0})
	f.Add([]byte{3, 0, 1, 1, 2, 0, 2})
	f.Add([]byte{2, 0, 1, 129, 0})
	f.Add([]byte{1, 0, 0})
	f.Add([]byte{60, 1, 0, 2, 1, 9, 8, 8, 7, 7, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		n := int(data[0])%64 + 1
		jobs := graph(n)
		for pair := range slices.Chunk(data[1:], 2) {
			if len(pair) < 2 {
				break
			}
			p := driver.Parent{Index: int(pair[1]) % n, On: driver.OnFinished}
			if pair[0] >= 128 {
				p.ID = 7
			}
			child := &jobs[int(pair[0]%128)%n]
			child.Parents = append(child.Parents, p)
		}
		err := driver.CheckInsert(jobs)
		if want := sortable(jobs); (err == nil) != want {
			t.Fatalf("CheckInsert says %v, and that the jobs can be put into an order is %t", err, want)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, driver.ErrInvalid) {
			t.Fatalf("error %v does not wrap ErrInvalid", err)
		}
		var child, ancestor int
		if _, rest, ok := strings.Cut(err.Error(), "the parents of "); ok {
			if _, scanErr := fmt.Sscanf(rest, "job %d form a cycle through job %d", &child, &ancestor); scanErr != nil {
				t.Fatalf("error %q: %v", err, scanErr)
			}
			if !reaches(jobs, child, ancestor) || !reaches(jobs, ancestor, child) {
				t.Errorf("error %q names jobs that are on no cycle", err)
			}
		} else if !strings.Contains(err.Error(), "the job itself") {
			t.Errorf("error %q says nothing of a cycle", err)
		}
	})
}
