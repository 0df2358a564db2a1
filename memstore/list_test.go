package memstore

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestListAgainstModel compares the list with a sorted slice under random changes, long enough for blocks to split and vanish.
func TestListAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var l list
	var model []key
	compare := func(a, b key) int {
		switch {
		case a.less(b):
			return -1
		case b.less(a):
			return 1
		}
		return 0
	}
	for step := range 40_000 {
		k := key{rng.Int64N(40), rng.Int64N(200)}
		at, found := slices.BinarySearchFunc(model, k, compare)
		if grow := step < 15_000 || step%3 == 0; grow && !found {
			l.add(k, &row{})
			model = slices.Insert(model, at, k)
		} else if removed := l.remove(k); removed != found {
			t.Fatalf("step %d: remove %v is %t, want %t", step, k, removed, found)
		} else if found {
			model = slices.Delete(model, at, at+1)
		}
		if l.len != len(model) {
			t.Fatalf("step %d: %d entries, want %d", step, l.len, len(model))
		}
		if first, ok := l.first(); ok != (len(model) > 0) || ok && first.key != model[0] {
			t.Fatalf("step %d: first is %v, want %v", step, first.key, model[:min(1, len(model))])
		}
		if step%500 != 0 {
			continue
		}
		at, _ = slices.BinarySearchFunc(model, k, compare)
		var up, down []key
		l.ascend(k, func(e entry) bool { up = append(up, e.key); return true })
		l.descend(k, func(e entry) bool { down = append(down, e.key); return true })
		slices.Reverse(down)
		if !slices.Equal(up, model[at:]) || !slices.Equal(down, model[:at]) {
			t.Fatalf("step %d: walks from %v give %d up and %d down, want %d and %d", step, k, len(up), len(down), len(model)-at, at)
		}
	}
	if len(model) == 0 || len(l.blocks) < 2 {
		t.Fatalf("the test ended with %d entries in %d blocks and shows nothing", len(model), len(l.blocks))
	}
}
