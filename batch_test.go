package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
	"github.com/kilnjobs/kiln/memstore"
)

// recorder writes down the calls of a writer, in their order.
type recorder struct {
	driver.TxWriter
	calls []string
}

func (w *recorder) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	for _, j := range jobs {
		w.calls = append(w.calls, fmt.Sprintf("job %s in %d after %d", j.Args, j.BatchID, j.AfterBatch))
	}
	return w.TxWriter.Insert(ctx, jobs)
}

func (w *recorder) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	id, err := w.TxWriter.OpenBatch(ctx, b)
	w.calls = append(w.calls, fmt.Sprintf("open %d %s in %d", id, b.Description, b.Parent))
	return id, err
}

func (w *recorder) SealBatch(ctx context.Context, id int64) error {
	w.calls = append(w.calls, fmt.Sprintf("seal %d", id))
	return w.TxWriter.SealBatch(ctx, id)
}

// family is a batch with everything: jobs, continuations, and batches in it.
func family() *kiln.Batch {
	outer := &kiln.Batch{Description: "outer", Meta: map[string]string{"k": "v"}}
	outer.Add(task{1}, kiln.InBatch(99))
	outer.Add(task{2}, kiln.Needs{0})
	inner := &kiln.Batch{Description: "inner", Parent: 98}
	inner.Add(task{3})
	inner.Then(task{4}, kiln.InBatch(97))
	innermost := &kiln.Batch{Description: "innermost"}
	inner.AddBatch(innermost)
	outer.AddBatch(inner)
	outer.AddBatch(&kiln.Batch{Description: "second"})
	outer.Then(task{5}, kiln.AfterBatch(96))
	outer.Then(task{6}, kiln.Needs{0})
	return outer
}

func TestBatchOrder(t *testing.T) {
	s := memstore.New()
	defer s.Close()
	tx := s.Begin()
	w := &recorder{TxWriter: tx}
	b := family()
	if b.Len() != 2 {
		t.Errorf("Len is %d, want 2: members only", b.Len())
	}
	id, err := kiln.NewClient(s).StartBatchTx(t.Context(), w, b)
	if err != nil || id != 1 {
		t.Fatal(id, err)
	}
	want := []string{
		"open 1 outer in 0", `job {"N":1} in 1 after 0`, `job {"N":2} in 1 after 0`,
		"open 2 inner in 1", `job {"N":3} in 2 after 0`, "open 3 innermost in 2", "seal 3", `job {"N":4} in 1 after 2`, "seal 2",
		"open 4 second in 1", "seal 4",
		`job {"N":5} in 0 after 1`, `job {"N":6} in 0 after 1`, "seal 1",
	}
	if !slices.Equal(w.calls, want) {
		t.Errorf("the calls were\n%s\nwant\n%s", strings.Join(w.calls, "\n"), strings.Join(want, "\n"))
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	got, err := s.Batch(t.Context(), 1)
	if err != nil || got.Total != 3 || got.Nested != 2 || got.NestedFinished != 1 || !got.Sealed || got.Meta["k"] != "v" {
		t.Errorf("the batch is %+v (%v)", got, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A whole tree runs, on a store with transactions and on one without.
func TestBatchRuns(t *testing.T) {
	for name, view := range map[string]func(s *memstore.Store) driver.Store{
		"one transaction": func(s *memstore.Store) driver.Store { return s },
		"step by step":    func(s *memstore.Store) driver.Store { return bareStore{s} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.on(view(r.mem))
				var order []int
				r.handle(func(_ context.Context, j *kiln.Job[task]) error {
					order = append(order, j.Args.N)
					return nil
				})
				id, err := r.client.StartBatch(t.Context(), family())
				if err != nil {
					t.Fatal(err)
				}
				r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
				pass(time.Minute)
				if len(order) != 6 || !slices.Equal(order[4:], []int{5, 6}) {
					t.Errorf("the jobs ran in the order %v; the continuations come last", order)
				}
				if slices.Index(order, 3) > slices.Index(order, 4) || slices.Index(order, 1) > slices.Index(order, 2) {
					t.Errorf("the jobs ran in the order %v, want 1 before 2 and 3 before 4", order)
				}
				if b, err := r.store.Batch(t.Context(), id); err != nil || b.FinishedAt.IsZero() || b.NestedFinished != 2 {
					t.Errorf("the batch is %+v (%v)", b, err)
				}
			})
		})
	}
}

func TestOpenBatch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{})
		b := &kiln.Batch{Description: "open"}
		b.Add(task{})
		inner := &kiln.Batch{}
		inner.Add(task{})
		b.AddBatch(inner)
		b.Then(task{})
		id, err := r.client.OpenBatch(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		got, err := r.store.Batch(ctx, id)
		if err != nil || got.Sealed || got.Total != 1 || got.NestedFinished != 1 {
			t.Errorf("the batch is %+v (%v), want it open and the nested one finished", got, err)
		}
		if _, err := r.client.Enqueue(ctx, task{}, kiln.InBatch(id)); err != nil {
			t.Error(err)
		}
		if _, err := r.client.StartBatch(ctx, &kiln.Batch{Parent: id}); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := r.client.SealBatch(ctx, id); err != nil {
				t.Error(err)
			}
		}
		pass(time.Minute)
		if got, err = r.store.Batch(ctx, id); err != nil || got.FinishedAt.IsZero() || got.Total != 2 || got.Nested != 2 {
			t.Errorf("the batch is %+v (%v), want it finished", got, err)
		}
		if n, err := r.store.Counts(ctx); err != nil || n.Succeeded != 4 {
			t.Errorf("counts %+v (%v)", n, err)
		}
		if _, err := r.client.Enqueue(ctx, task{}, kiln.InBatch(id)); !errors.Is(err, kiln.ErrClosed) {
			t.Errorf("joining a finished batch: %v", err)
		}
		if _, err := r.client.StartBatch(ctx, &kiln.Batch{Parent: id}); !errors.Is(err, kiln.ErrClosed) {
			t.Errorf("nesting in a finished batch: %v", err)
		}
		if err := r.client.SealBatch(ctx, 999); !errors.Is(err, kiln.ErrNotFound) {
			t.Errorf("sealing an unknown batch: %v", err)
		}
	})
}

// A continuation of a batch that is nested by its Parent belongs to that parent.
func TestBatchParentContinuation(t *testing.T) {
	s := memstore.New()
	defer s.Close()
	c, stored := seen(s)
	outer, err := c.OpenBatch(t.Context(), &kiln.Batch{})
	if err != nil {
		t.Fatal(err)
	}
	b := &kiln.Batch{Parent: outer}
	b.Add(task{})
	b.Then(task{})
	id, err := c.StartBatch(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if got := *stored; len(got) != 2 || got[0].BatchID != id || got[1].BatchID != outer || got[1].AfterBatch != id {
		t.Errorf("stored %+v", got)
	}
}

// Everything is checked before anything is written.
func TestBatchRefusals(t *testing.T) {
	twice, itself := &kiln.Batch{Description: "twice"}, &kiln.Batch{Description: "itself"}
	outer := &kiln.Batch{}
	outer.AddBatch(twice)
	outer.AddBatch(twice)
	itself.AddBatch(itself)
	with := func(change func(b *kiln.Batch)) *kiln.Batch {
		b := &kiln.Batch{}
		b.Add(task{})
		inner := &kiln.Batch{}
		change(inner)
		b.AddBatch(inner)
		return b
	}
	s := memstore.New()
	defer s.Close()
	view := faultstore.Wrap(s, nil)
	c := kiln.NewClient(bareStore{view})
	for what, c2 := range map[string]struct {
		b    *kiln.Batch
		want error
		text string
	}{
		"nil":                      {nil, kiln.ErrInvalid, "nil"},
		"a nil batch in it":        {with(func(b *kiln.Batch) { b.AddBatch(nil) }), kiln.ErrInvalid, "nil"},
		"one batch twice":          {outer, kiln.ErrInvalid, `"twice"`},
		"a batch in itself":        {itself, kiln.ErrInvalid, `"itself"`},
		"nil args":                 {with(func(b *kiln.Batch) { b.Add(nil) }), kiln.ErrInvalid, "job 0 of 1"},
		"a bad continuation":       {with(func(b *kiln.Batch) { b.Then(task{}, kiln.Queue("A")) }), kiln.ErrInvalid, "continuation 0 of 1"},
		"a need outside":           {with(func(b *kiln.Batch) { b.Add(task{}, kiln.Needs{1}) }), kiln.ErrInvalid, "parent index 1"},
		"a need of a continuation": {with(func(b *kiln.Batch) { b.Add(task{}); b.Then(task{}, kiln.Needs{1}) }), kiln.ErrInvalid, "parent index 1"},
		"an empty meta key":        {with(func(b *kiln.Batch) { b.Meta = map[string]string{"": "v"} }), kiln.ErrInvalid, "Meta"},
		"too much meta":            {with(func(b *kiln.Batch) { b.Meta = map[string]string{"k": strings.Repeat("v", 16<<10)} }), kiln.ErrTooLarge, "Meta"},
		"a bad description":        {with(func(b *kiln.Batch) { b.Description = "a\xff" }), kiln.ErrInvalid, "Description"},
		"a negative parent":        {&kiln.Batch{Parent: -1}, kiln.ErrInvalid, "Parent -1"},
	} {
		for name, call := range map[string]func(context.Context, *kiln.Batch) (int64, error){"StartBatch": c.StartBatch, "OpenBatch": c.OpenBatch} {
			if _, err := call(t.Context(), c2.b); !errors.Is(err, c2.want) || !strings.Contains(err.Error(), c2.text) {
				t.Errorf("%s with %s: %v, want %v with %q", name, what, err, c2.want, c2.text)
			}
		}
	}
	if n := view.Calls("OpenBatch") + view.Calls("Insert"); n != 0 {
		t.Errorf("%d calls reached the store", n)
	}
	if _, err := c.StartBatchTx(t.Context(), nil, &kiln.Batch{}); !errors.Is(err, driver.ErrNilTx) {
		t.Errorf("StartBatchTx without a writer: %v", err)
	}
	if _, err := c.StartBatch(t.Context(), &kiln.Batch{Parent: 99}); !errors.Is(err, kiln.ErrNotFound) {
		t.Errorf("an unknown parent: %v", err)
	}
}

var errFull = errors.New("disk full")

// A store without transactions is left without jobs that wait for what will never come.
func TestBatchCleansUp(t *testing.T) {
	for at := 1; at <= 9; at++ {
		bubble(t, func(t *testing.T, r *rig) {
			calls := 0
			faulty := faultstore.Wrap(r.mem, func(c faultstore.Call) faultstore.Fault {
				switch c.Method {
				case "Insert", "OpenBatch", "SealBatch":
					if calls++; calls == at {
						return faultstore.Fail(errFull)
					}
				}
				return faultstore.Fault{}
			})
			ctx, cancel := context.WithCancel(t.Context())
			if at%2 == 0 {
				cancel()
			}
			defer cancel()
			b := family()
			_, err := kiln.NewClient(bareStore{faulty}).StartBatch(context.WithoutCancel(ctx), b)
			if !errors.Is(err, errFull) {
				t.Fatalf("failing at call %d: %v", at, err)
			}
			n, err := r.mem.Counts(t.Context())
			if err != nil || n.Enqueued+n.Awaiting+n.Scheduled != 0 {
				t.Errorf("failing at call %d leaves %+v (%v)", at, n, err)
			}
			page, err := r.mem.Batches(t.Context(), driver.BatchQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range page.Batches {
				if b.FinishedAt.IsZero() {
					t.Errorf("failing at call %d leaves batch %q open: %+v", at, b.Description, b)
				}
			}
		})
	}
}

// On a store with transactions an error leaves nothing at all.
func TestBatchRollsBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		faulty := faultstore.Wrap(r.mem, faultstore.On("Tx.SealBatch", func(c faultstore.Call) faultstore.Fault {
			if c.Number == 3 {
				return faultstore.Fail(errFull)
			}
			return faultstore.Fault{}
		}))
		if _, err := kiln.NewClient(faulty).StartBatch(t.Context(), family()); !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		page, err := r.mem.Batches(t.Context(), driver.BatchQuery{})
		n, countErr := r.mem.Counts(t.Context())
		if err != nil || countErr != nil || len(page.Batches) != 0 || n != (driver.Counts{}) {
			t.Errorf("left are %d batches and %+v (%v, %v)", len(page.Batches), n, err, countErr)
		}
	})
}

// EnqueueMiddleware sees members and continuations like every other job.
func TestBatchThroughMiddleware(t *testing.T) {
	s := memstore.New()
	defer s.Close()
	c, stored := seen(s)
	if _, err := c.StartBatch(t.Context(), family()); err != nil {
		t.Fatal(err)
	}
	if len(*stored) != 6 {
		t.Errorf("the middleware saw %d of 6 jobs", len(*stored))
	}
}
