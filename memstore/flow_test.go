package memstore_test

import (
	"testing"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// fanOut inserts a parent with n children and claims it.
func fanOut(t *testing.T, s *memstore.Store, n int) driver.Ref {
	t.Helper()
	jobs := make([]driver.InsertParams, n+1)
	for i := range jobs {
		jobs[i] = driver.InsertParams{Kind: "k", Queue: "children", Args: []byte("1"), MaxAttempts: 1, Parents: []driver.Parent{{On: driver.OnSucceeded}}}
	}
	jobs[0].Queue, jobs[0].Parents = "parents", nil
	if _, err := s.Insert(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), driver.ClaimQuery{Queues: []string{"parents"}, Limit: 1, Server: "a"})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	return claimed[0].Ref
}

// awaiting is how many jobs wait.
func awaiting(t *testing.T, s *memstore.Store) int64 {
	t.Helper()
	n, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n.Awaiting
}

// sound checks the store, whatever is left to do.
func sound(t *testing.T, s *memstore.Store) {
	t.Helper()
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A hundred thousand dependents are released and doomed some thousand per call: by sweeps, and by whatever else is written.
func TestWideFanOut(t *testing.T) {
	const children, most = 90_000, 5000
	for _, end := range []driver.State{driver.Succeeded, driver.Deleted} {
		s := memstore.New()
		defer s.Close()
		ref := fanOut(t, s, children)
		if _, err := s.Finish(t.Context(), "a", []driver.Outcome{{Ref: ref, State: end}}); err != nil {
			t.Fatal(err)
		}
		left := awaiting(t, s)
		if left != children-most {
			t.Errorf("%s: one call left %d of %d waiting", end, left, children)
		}
		sound(t, s)
		for steps := 0; left > 0; steps++ {
			if steps%2 == 0 {
				if n, err := s.Sweep(t.Context(), 1000); err != nil || n != 1000 {
					t.Fatalf("%s: Sweep of 1000 did %d with %d left (%v)", end, n, left, err)
				}
			} else if _, err := s.Promote(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			before := left
			if left = awaiting(t, s); before-left > most || left >= before {
				t.Fatalf("%s: from %d to %d in one call", end, before, left)
			}
		}
		if n, err := s.Sweep(t.Context(), 1000); err != nil || n != 0 {
			t.Errorf("%s: Sweep did %d at the end (%v)", end, n, err)
		}
		sound(t, s)
	}
}

// A chain of ten thousand is doomed to its end, some thousand per call.
func TestLongChain(t *testing.T) {
	const long = 10_000
	s := memstore.New()
	defer s.Close()
	jobs := make([]driver.InsertParams, long)
	for i := range jobs {
		jobs[i] = driver.InsertParams{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}
		if i > 0 {
			jobs[i].Parents = []driver.Parent{{Index: i - 1, On: driver.OnSucceeded}}
		}
	}
	out, err := s.Insert(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), driver.Filter{IDs: []int64{out[0].ID}}); err != nil {
		t.Fatal(err)
	}
	if left := awaiting(t, s); left == 0 {
		t.Error("one call doomed all of it")
	}
	sound(t, s)
	for range long / 1000 {
		if _, err := s.Sweep(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	if left := awaiting(t, s); left != 0 {
		t.Errorf("%d still wait", left)
	}
}
