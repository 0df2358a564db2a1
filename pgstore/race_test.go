package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// moved runs a part of a transaction and wants it to notice that something has changed under it.
func moved(t *testing.T, s *Store, what string, fn func(w *work) error) {
	t.Helper()
	if err := s.once(context.Background(), fn); !errors.Is(err, errMoved) {
		t.Errorf("%s: got error %v, want %v", what, err, errMoved)
	}
}

// TestHolderMovesWhileItIsJudged pins that a duplicate never gives its values to a job that has been deleted since it was found to
// hold the key: it came back half, in the archive and counted as waiting.
func TestHolderMovesWhileItIsJudged(t *testing.T) {
	ctx := context.Background()
	for _, state := range []driver.State{driver.Enqueued, driver.Scheduled, driver.Awaiting} {
		s := newStore(t)
		job := driver.InsertParams{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1, UniqueKey: []byte("key"), UniqueReplace: true}
		holder := job
		switch state {
		case driver.Scheduled:
			holder.Delay = time.Hour
		case driver.Awaiting:
			parent, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}})
			if err != nil {
				t.Fatal(err)
			}
			holder.Parents = []driver.Parent{{ID: parent[0].ID, On: driver.OnSucceeded}}
		}
		in, err := s.Insert(ctx, []driver.InsertParams{holder})
		if err != nil || in[0].State != state {
			t.Fatalf("the holder: %+v, %v", in, err)
		}
		moved(t, s, "replacing a holder that was "+string(state)+" and is deleted", func(w *work) error {
			drafts, err := draftAll([]driver.InsertParams{job})
			if err != nil {
				return err
			}
			drafts[0].startAt = storekit.Micros(w.now)
			if err := w.meet(drafts); err != nil {
				return err
			}
			if !drafts[0].keyed.merged.Replaced {
				t.Errorf("the holder that is %s is not to be replaced", state)
			}
			if n, err := s.Delete(ctx, driver.Filter{IDs: []int64{in[0].ID}}); n != 1 || err != nil {
				t.Errorf("deleting the holder: %d, %v", n, err)
			}
			return w.takeKeys(drafts)
		})
		if err := s.Check(ctx); err != nil {
			t.Error(err)
		}
	}
}

// TestJobLeavesAsItWasRead pins that a job that has run and come back between two statements keeps its claim number: two runs would
// share one otherwise.
func TestJobLeavesAsItWasRead(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	in, err := s.Insert(ctx, []driver.InsertParams{{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	moved(t, s, "a job that has run and come back", func(w *work) error {
		l, ok, err := w.locate(in[0].ID)
		if err != nil || !ok {
			t.Errorf("locate: %v, %v", ok, err)
		}
		jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"q"}, Limit: 1, Server: "a"})
		if err != nil || len(jobs) != 1 {
			t.Fatalf("Claim: %v, %v", jobs, err)
		}
		if _, err := s.Finish(ctx, "a", []driver.Outcome{{Ref: jobs[0].Ref, State: driver.Enqueued, Refund: true}}); err != nil {
			t.Error(err)
		}
		return w.leave(&l)
	})
	jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"q"}, Limit: 1, Server: "a"})
	if err != nil || len(jobs) != 1 || jobs[0].Claim != 2 {
		t.Errorf("the next claim: %+v, %v; want claim 2", jobs, err)
	}
}

// TestReplacedParent pins that a call may replace a job and wait for it: the job has learnt of its child by the time it is replaced.
func TestReplacedParent(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s := newStore(t)
	holder := driver.InsertParams{Kind: "k", Queue: "q", Args: []byte("1"), MaxAttempts: 1, UniqueKey: []byte("key"), UniqueReplace: true}
	in, err := s.Insert(ctx, []driver.InsertParams{holder})
	if err != nil {
		t.Fatal(err)
	}
	holder.Args = []byte("2")
	child := driver.InsertParams{Kind: "k", Queue: "q", Args: []byte("3"), MaxAttempts: 1, Parents: []driver.Parent{{Index: 0, On: driver.OnSucceeded}}}
	out, err := s.Insert(ctx, []driver.InsertParams{holder, child})
	if err != nil || out[0].ID != in[0].ID || !out[0].Replaced || out[1].State != driver.Awaiting {
		t.Fatalf("a duplicate and a job that waits for it: %+v, %v", out, err)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}
