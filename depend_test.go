package kiln_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// seen collects the jobs that a client stores.
func seen(s driver.Store) (*kiln.Client, *[]driver.InsertParams) {
	var all []driver.InsertParams
	return kiln.NewClient(s, func(next kiln.EnqueueFunc) kiln.EnqueueFunc {
		return func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]driver.Inserted, error) {
			all = append(all, jobs...)
			return next(ctx, w, jobs)
		}
	}), &all
}

func TestDependencyOptions(t *testing.T) {
	s := memstore.New()
	defer s.Close()
	c, stored := seen(s)
	ctx := t.Context()
	for range 4 {
		if _, err := c.Enqueue(ctx, task{}); err != nil {
			t.Fatal(err)
		}
	}
	*stored = nil
	id, err := c.Enqueue(ctx, task{}, kiln.After{1, 2}, kiln.AfterFinished{3}, kiln.AfterFailed{1}, kiln.AfterDeleted{4}, kiln.After{3}, kiln.InBatch(0), kiln.AfterBatch(0))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint([]driver.Parent{{ID: 1, On: 1}, {ID: 2, On: 1}, {ID: 3, On: 7}, {ID: 1, On: 2}, {ID: 4, On: 4}, {ID: 3, On: 1}})
	if got := fmt.Sprint((*stored)[0].Parents); got != want {
		t.Errorf("parents %s, want %s", got, want)
	}
	if rec, err := c.Get(ctx, id); err != nil || rec.State != kiln.Awaiting || rec.PendingDeps != 4 {
		t.Errorf("the job is %+v (%v)", rec, err)
	}
	for _, c := range []struct {
		opt  kiln.InsertOption
		want error
		text string
	}{
		{kiln.After{1, 0}, kiln.ErrInvalid, "After has the id 0"}, {kiln.AfterFinished{-1}, kiln.ErrInvalid, "AfterFinished has the id -1"},
		{kiln.AfterFailed{-7}, kiln.ErrInvalid, "AfterFailed has the id -7"}, {kiln.AfterDeleted{0}, kiln.ErrInvalid, "AfterDeleted has the id 0"},
		{kiln.AfterBatch(-1), kiln.ErrInvalid, "AfterBatch -1"}, {kiln.InBatch(-2), kiln.ErrInvalid, "InBatch -2"},
		{kiln.Needs{0}, kiln.ErrInvalid, "alone"}, {kiln.Needs{-1}, kiln.ErrInvalid, "position -1"},
		{kiln.After{99}, kiln.ErrNotFound, "99"}, {kiln.InBatch(99), kiln.ErrNotFound, "99"}, {kiln.AfterBatch(99), kiln.ErrNotFound, "99"},
	} {
		_, err := kiln.NewClient(s).Enqueue(ctx, task{}, c.opt)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%T%v: %v, want %v with %q", c.opt, c.opt, err, c.want, c.text)
		}
	}
	if _, err := c.EnqueueTx(ctx, s.Begin(), task{}, kiln.Needs{0}); !errors.Is(err, kiln.ErrInvalid) {
		t.Errorf("EnqueueTx with Needs: %v", err)
	}
	if n, err := s.Counts(ctx); err != nil || n.Enqueued != 4 || n.Awaiting != 1 {
		t.Errorf("counts %+v (%v): a refused job was stored", n, err)
	}
}

func TestFlow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var order []int
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			order = append(order, j.Args.N)
			return nil
		})
		var flow kiln.Flow
		first := flow.Add(task{1})
		left := flow.Add(task{2}, kiln.Needs{first}, kiln.Priority(1))
		right := flow.Add(task{3}, kiln.Needs{first})
		flow.Add(task{4}, kiln.Needs{left, right})
		out, err := r.client.EnqueueMany(t.Context(), flow...)
		if err != nil || len(out) != 4 {
			t.Fatal(out, err)
		}
		for i, want := range []kiln.State{kiln.Enqueued, kiln.Awaiting, kiln.Awaiting, kiln.Awaiting} {
			if out[i].State != want {
				t.Errorf("job %d is %s, want %s", i, out[i].State, want)
			}
		}
		r.start(kiln.ServerConfig{Queues: map[string]int{"default": 1}})
		pass(time.Minute)
		if fmt.Sprint(order) != "[1 2 3 4]" {
			t.Errorf("the jobs ran in the order %v", order)
		}
		if rec := r.want(out[3].ID, kiln.Succeeded); fmt.Sprint(rec.Parents) != fmt.Sprint([]int64{out[1].ID, out[2].ID}) {
			t.Errorf("parents %v", rec.Parents)
		}
	})
}

func TestFlowRefusals(t *testing.T) {
	s := memstore.New()
	defer s.Close()
	c := kiln.NewClient(s)
	for what, flow := range map[string]kiln.Flow{
		"a position behind the call": {{Args: task{}}, {Args: task{}, Options: []kiln.InsertOption{kiln.Needs{2}}}},
		"its own position":           {{Args: task{}, Options: []kiln.InsertOption{kiln.Needs{0}}}},
		"a circle":                   {{Args: task{}, Options: []kiln.InsertOption{kiln.Needs{1}}}, {Args: task{}, Options: []kiln.InsertOption{kiln.Needs{0}}}},
	} {
		if _, err := c.EnqueueMany(t.Context(), flow...); !errors.Is(err, kiln.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	if n, err := s.Counts(t.Context()); err != nil || n != (driver.Counts{}) {
		t.Errorf("counts %+v (%v) after all refused calls", n, err)
	}
}

// bareStore has no optional interface.
type bareStore struct{ driver.Store }

func TestParentOutputs(t *testing.T) {
	for name, view := range map[string]func(s *memstore.Store) driver.Store{
		"in one query": func(s *memstore.Store) driver.Store { return s },
		"one by one":   func(s *memstore.Store) driver.Store { return bareStore{s} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.on(view(r.mem))
				var got map[int64]json.RawMessage
				r.handle(func(ctx context.Context, j *kiln.Job[task]) (err error) {
					switch j.Args.N {
					case 1, 2:
						return j.SetOutput(j.Args.N * 10)
					case 3:
						return nil
					case 4:
						return kiln.Cancel(errors.New("no"))
					}
					got, err = j.ParentOutputs(ctx)
					return err
				})
				var flow kiln.Flow
				for n := 1; n <= 3; n++ {
					flow.Add(task{n})
				}
				out, err := r.client.EnqueueMany(t.Context(), flow...)
				if err != nil {
					t.Fatal(err)
				}
				gone, err := r.client.Enqueue(t.Context(), task{4})
				if err != nil {
					t.Fatal(err)
				}
				_, err = r.client.Enqueue(t.Context(), task{5}, kiln.After{out[0].ID, out[1].ID, out[2].ID}, kiln.AfterFinished{gone})
				if err != nil {
					t.Fatal(err)
				}
				r.start(kiln.ServerConfig{})
				pass(time.Minute)
				if len(got) != 2 || string(got[out[0].ID]) != "10" || string(got[out[1].ID]) != "20" {
					t.Errorf("the outputs are %v", got)
				}
			})
		})
	}
	byHand := &kiln.Job[task]{Parents: []int64{1, 2}}
	if got, err := byHand.ParentOutputs(t.Context()); err != nil || got == nil || len(got) != 0 {
		t.Errorf("the outputs of a job built by hand are %v, %v; want an empty map", got, err)
	}
}
