package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// family inserts a parent and n jobs that wait for it, and claims the parent.
func family(t *testing.T, s *Store, n int, edit func(i int, p *driver.InsertParams)) driver.Ref {
	t.Helper()
	jobs := plainJobs(n + 1)
	for i := range jobs {
		if i > 0 {
			jobs[i].Queue = "children"
			jobs[i].Parents = []driver.Parent{{On: driver.OnSucceeded}}
		}
		if edit != nil {
			edit(i, &jobs[i])
		}
	}
	if _, err := s.Insert(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), driver.ClaimQuery{Queues: []string{"default"}, Limit: 1, Server: "a"})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	return claimed[0].Ref
}

func awaiting(t *testing.T, s *Store) int64 {
	t.Helper()
	n, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n.Awaiting
}

func finishOne(t *testing.T, s *Store, ref driver.Ref, state driver.State) {
	t.Helper()
	if res, err := s.Finish(t.Context(), "a", []driver.Outcome{{Ref: ref, State: state}}); err != nil || res[0] != driver.Applied {
		t.Fatal(res, err)
	}
}

// Wide fan-outs are settled in steps, and a process that ends between them loses none: the next one goes on.
func TestWideFanOut(t *testing.T) {
	const children = 99_000
	for _, end := range []driver.State{driver.Succeeded, driver.Deleted} {
		path := filepath.Join(t.TempDir(), "jobs.db")
		s := newStore(t, openPool(t, path))
		ref := family(t, s, children, nil)
		finishOne(t, s, ref, end)
		left := awaiting(t, s)
		if left != children-settleAtMost {
			t.Errorf("%s: one call left %d of %d waiting", end, left, children)
		}
		var longest time.Duration
		for steps := 0; left > 0; steps++ {
			if steps%40 == 20 {
				s.Close()
				s = newStore(t, openPool(t, path))
			}
			begun := time.Now()
			n, err := s.Sweep(t.Context(), 1000)
			longest = max(longest, time.Since(begun))
			before := left
			if left = awaiting(t, s); err != nil || n != 1000 || before-left != 1000 {
				t.Fatalf("%s: Sweep of 1000 did %d (%v), from %d to %d", end, n, err, before, left)
			}
		}
		t.Logf("%s: the longest sweep of 1000 dependents took %s", end, longest)
		if n, err := s.Sweep(t.Context(), 1000); err != nil || n != 0 {
			t.Errorf("%s: Sweep did %d at the end (%v)", end, n, err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		// The edges of a parent go in steps, too.
		for n := -1; n != 0; {
			if _, err := s.Prune(t.Context(), driver.PruneParams{Limit: 50_000}); err != nil {
				t.Fatal(err)
			}
			var err error
			if n, err = s.Sweep(t.Context(), 10_000); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestLongChain(t *testing.T) {
	const long = 10_000
	s := newStore(t, newPool(t))
	jobs := plainJobs(long)
	for i := range jobs[1:] {
		jobs[i+1].Parents = []driver.Parent{{Index: i, On: driver.OnSucceeded}}
	}
	out, err := s.Insert(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), driver.Filter{IDs: []int64{out[0].ID}}); err != nil {
		t.Fatal(err)
	}
	var longest time.Duration
	for left := awaiting(t, s); left > 0; left = awaiting(t, s) {
		begun := time.Now()
		n, err := s.Sweep(t.Context(), 1000)
		longest = max(longest, time.Since(begun))
		if err != nil || n == 0 || n > 1000 {
			t.Fatalf("Sweep did %d with %d left (%v)", n, left, err)
		}
	}
	t.Logf("the longest sweep of 1000 links took %s", longest)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	last, err := s.Job(t.Context(), out[long-1].ID)
	if want := fmt.Sprintf("parent %d deleted", out[long-2].ID); err != nil || len(last.History) != 1 || last.History[0].Reason != want {
		t.Errorf("the last of the chain has the history %+v (%v)", last.History, err)
	}
}

// TestSweepRepairs breaks what only somebody else can break, sees Check name it, and has Sweep put it right.
func TestSweepRepairs(t *testing.T) {
	for _, c := range []struct {
		what, sql, check string
		want             driver.State
	}{
		{"a parent's end that nobody heard of", "update kiln_awaiting set pending = 1", "", driver.Awaiting},
		{"a parent that is gone", "delete from kiln_lease; delete from kiln_jobs where id = 1", "which has ended or is gone", driver.Deleted},
		{"a count that is too high", "update kiln_awaiting set pending = 5", "another number of things", driver.Awaiting},
		{"a job that waits for nothing", "update kiln_awaiting set pending = 0; update kiln_deps set open = 0", "another number of things", driver.Enqueued},
		{"a dependency that was dropped", "delete from kiln_deps", "another number of things", driver.Enqueued},
	} {
		t.Run(c.what, func(t *testing.T) {
			db := newPool(t)
			s := newStore(t, db)
			family(t, s, 3, nil)
			if _, err := db.Exec(c.sql); err != nil {
				t.Fatal(err)
			}
			if err := s.Check(t.Context()); c.check != "" && (err == nil || !strings.Contains(err.Error(), c.check)) {
				t.Errorf("Check says %v, want %q", err, c.check)
			}
			changed := 0
			for range 3 {
				n, err := s.Sweep(t.Context(), 1000)
				if err != nil {
					t.Fatal(err)
				}
				changed += n
			}
			if (changed > 0) != (c.check != "") {
				t.Errorf("sweeps changed %d rows", changed)
			}
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("Check after the sweeps: %v", err)
			}
			for id := int64(2); id <= 4; id++ {
				if r, err := s.Job(t.Context(), id); err != nil || r.State != c.want {
					t.Errorf("job %d is %s (%v), want %s", id, r.State, err, c.want)
				}
			}
		})
	}
	// A sealed batch that nothing finished.
	db := newPool(t)
	s := newStore(t, db)
	id, err := s.OpenBatch(t.Context(), driver.NewBatch{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("update kiln_batches set sealed = 1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil {
		t.Error("Check finds nothing")
	}
	if n, err := s.Sweep(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("Sweep did %d, %v", n, err)
	}
	if b, err := s.Batch(t.Context(), id); err != nil || b.FinishedAt.IsZero() {
		t.Errorf("the batch is %+v (%v)", b, err)
	}
}

// A refused call in a merged transaction costs its siblings nothing.
func TestRefusedBeside(t *testing.T) {
	s := newStore(t, newPool(t))
	const callers = 30
	errs := make(chan error, callers)
	for i := range callers {
		go func() {
			jobs := plainJobs(2)
			if i%3 == 0 {
				jobs[1].Parents = []driver.Parent{{ID: 1 << 40, On: driver.OnSucceeded}}
			}
			_, err := s.Insert(context.Background(), jobs)
			if i%3 == 0 != errors.Is(err, driver.ErrNotFound) {
				err = fmt.Errorf("caller %d: %w", i, err)
			} else {
				err = nil
			}
			errs <- err
		}()
	}
	for range callers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n, err := s.Counts(t.Context()); err != nil || n.Enqueued != callers*2*2/3 {
		t.Errorf("counts %+v, %v", n, err)
	}
}
