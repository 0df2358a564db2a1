package kiln_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// The continuation of a batch runs once, after the seal and after every member, however the members come in while others end,
// those that running members add included. A batch that nobody seals stays open and says so.
func TestCaseB049(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		const producers, each = 8, 250
		var mu sync.Mutex
		var ended, continued []time.Time
		var batch int64
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			if j.Args.N%10 == 0 { // a member that adds one
				client, _ := kiln.ClientFrom(ctx)
				if _, err := client.Enqueue(ctx, task{N: 1}, kiln.InBatch(j.BatchID)); err != nil {
					return err
				}
			}
			<-time.After(time.Duration(j.Args.N%7) * 10 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, time.Now())
			return nil
		})
		kiln.Handle(r.mux, func(context.Context, *kiln.Job[SendSummary]) error {
			mu.Lock()
			defer mu.Unlock()
			continued = append(continued, time.Now())
			return nil
		})
		b := &kiln.Batch{}
		b.Then(SendSummary{})
		batch, err := r.client.OpenBatch(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.start(kiln.ServerConfig{Pools: []kiln.Pool{{Queues: []string{"default"}, Workers: 20}}})
		}
		var adders sync.WaitGroup
		for range producers {
			adders.Go(func() {
				for n := range each {
					<-time.After(50 * time.Millisecond)
					if _, err := r.client.Enqueue(t.Context(), task{N: n}, kiln.InBatch(batch)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		adders.Wait()
		pass(time.Minute)
		if got, err := r.store.Batch(t.Context(), batch); err != nil || got.Sealed || !got.FinishedAt.IsZero() || len(continued) != 0 {
			t.Fatalf("before the seal the batch is %+v (%v), and its continuation ran %d times", got, err, len(continued))
		}
		sealed := time.Now()
		if err := r.client.SealBatch(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if len(continued) != 1 || continued[0].Before(sealed) {
			t.Errorf("the continuation ran at %v, the seal was at %v", continued, sealed)
		}
		for _, at := range ended {
			if len(continued) > 0 && at.After(continued[0]) {
				t.Errorf("a member ended at %s, after the continuation", at)
			}
		}
		if got, err := r.store.Batch(t.Context(), batch); err != nil || got.Total != producers*each*11/10 || got.Counts[kiln.Succeeded] != got.Total {
			t.Errorf("the batch is %+v (%v)", got, err)
		}
	})
}

// No batch stays open for ever: not an empty one, not one whose last two members end at once, not a large one, and not one whose
// members' results are written by calls that fail.
func TestCaseB050(t *testing.T) {
	sizes := []int{0, 1, 2, 3000}
	for range 200 {
		sizes = append(sizes, 2)
	}
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if j.Attempt == 1 && j.Args.N%5 == 0 {
				return errDown
			}
			return nil
		}, kiln.Constant(time.Second))
		for n := range 2 {
			faulty := faultstore.Wrap(r.mem, faultstore.On("Finish", func(c faultstore.Call) faultstore.Fault {
				return []faultstore.Fault{{}, faultstore.Fail(errDown), faultstore.Lose(errDown)}[(c.Number+n)%3]
			}))
			r.startOn(kiln.NewClient(faulty), kiln.ServerConfig{})
		}
		for _, size := range sizes {
			b := &kiln.Batch{Description: fmt.Sprint(size)}
			for n := range size {
				b.Add(task{N: n})
			}
			b.Then(task{N: 1})
			if _, err := r.client.StartBatch(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Hour)
		for id := range int64(len(sizes)) {
			got, err := r.store.Batch(t.Context(), id+1)
			if err != nil || got.FinishedAt.IsZero() {
				t.Errorf("the batch of %s is %+v (%v)", got.Description, got, err)
			}
		}
		if n, err := r.store.Counts(t.Context()); err != nil || n.Awaiting != 0 || n.Succeeded != 3000+1+2*201+int64(len(sizes)) {
			t.Errorf("counts %+v (%v)", n, err)
		}
	})
}

// A job that is attached to a parent that ends at that moment runs once, after the parent.
func TestCaseB052(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		ended, children := map[int64]time.Time{}, map[int64]int{}
		kiln.Handle(r.mux, func(_ context.Context, j *kiln.Job[FetchData]) error {
			<-time.After(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			ended[j.ID] = time.Now()
			return nil
		})
		kiln.Handle(r.mux, func(_ context.Context, j *kiln.Job[ProcessData]) error {
			mu.Lock()
			defer mu.Unlock()
			children[j.ID]++
			if len(j.Parents) != 1 || ended[j.Parents[0]].IsZero() {
				t.Errorf("job %d ran before its parent %v", j.ID, j.Parents)
			}
			return nil
		})
		r.start(kiln.ServerConfig{})
		var attached []int64
		for range 500 {
			parent, err := r.client.Enqueue(t.Context(), FetchData{})
			if err != nil {
				t.Fatal(err)
			}
			for range 4 { // one of them meets the parent's end
				child, err := r.client.Enqueue(t.Context(), ProcessData{}, kiln.After{parent})
				if err != nil {
					t.Fatal(err)
				}
				attached = append(attached, child)
				<-time.After(400 * time.Microsecond)
			}
		}
		pass(time.Minute)
		for _, id := range attached {
			r.want(id, kiln.Succeeded)
			if children[id] != 1 {
				t.Errorf("job %d ran %d times", id, children[id])
			}
		}
	})
}

// A released job keeps the run time that it was given, and no list takes the time that it waited for its parents for time in the
// queue: it gets into the queue when they have ended, and starts then.
func TestCaseB053(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var started time.Time
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if j.Args.N == 1 {
				<-time.After(10 * time.Minute)
			} else {
				started = time.Now()
			}
			return nil
		})
		var flow kiln.Flow
		first := flow.Add(task{1})
		flow.Add(task{2}, kiln.Needs{first}, kiln.Priority(1))
		out, err := r.client.EnqueueMany(t.Context(), flow...)
		if err != nil {
			t.Fatal(err)
		}
		due := r.job(out[1].ID).RunAt
		r.start(kiln.ServerConfig{})
		pass(time.Hour)
		parent, child := r.want(out[0].ID, kiln.Succeeded), r.want(out[1].ID, kiln.Succeeded)
		if wait := started.Sub(parent.FinalizedAt); wait < 0 || wait > 100*time.Millisecond {
			t.Errorf("the child started %s after its parent's end", wait)
		}
		if !child.RunAt.Equal(due) {
			t.Errorf("its run time was %v and is %v", due, child.RunAt)
		}
	})
}
