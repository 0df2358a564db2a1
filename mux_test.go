package kiln_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

func mustPanic(t *testing.T, name, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		v := recover()
		if v == nil {
			t.Errorf("%s: no panic", name)
			return
		}
		if s, _ := v.(string); !strings.Contains(s, text) {
			t.Errorf("%s: panic %q does not contain %q", name, v, text)
		}
	}()
	f()
}

func nothing(context.Context, *kiln.RawJob) error { return nil }

func TestMuxRefuses(t *testing.T) {
	mustPanic(t, "nil handler", `"k" is nil`, func() { kiln.NewMux().HandleFunc("k", nil) })
	mustPanic(t, "nil typed handler", "is nil", func() { kiln.Handle[email](kiln.NewMux(), nil) })
	mustPanic(t, "invalid kind", `Kind "a b"`, func() { kiln.NewMux().HandleFunc("a b", nothing) })
	mustPanic(t, "pointer", "*kiln_test.email", func() {
		kiln.Handle(kiln.NewMux(), func(context.Context, *kiln.Job[*email]) error { return nil })
	})
	mustPanic(t, "interface", "kiln.Args", func() {
		kiln.Handle(kiln.NewMux(), func(context.Context, *kiln.Job[kiln.Args]) error { return nil })
	})
	mustPanic(t, "duplicate", "has a handler already", func() {
		m := kiln.NewMux()
		m.HandleFunc("k", nothing)
		m.HandleFunc("k", nothing)
	})
	store := memstore.New()
	defer store.Close()
	m := &kiln.Mux{}
	m.HandleFunc("k", nothing)
	for range 2 {
		if _, err := kiln.NewServer(kiln.NewClient(store), m, kiln.ServerConfig{}); err != nil {
			t.Fatalf("a frozen mux serves several servers: %v", err)
		}
	}
	mustPanic(t, "frozen", "takes no more", func() { m.HandleFunc("other", nothing) })
	mustPanic(t, "frozen Use", "takes no more", func() { m.Use() })
}

func TestJobBuiltByHand(t *testing.T) {
	j := &kiln.Job[email]{ID: 7, Args: email{To: "ann"}}
	if j.Output() != nil {
		t.Errorf("output before SetOutput: %s", j.Output())
	}
	if ok, err := j.Param("step", new(int)); ok || err != nil {
		t.Errorf("missing param: %v %v", ok, err)
	}
	if err := j.SetParam(t.Context(), "step", 3); err != nil {
		t.Fatal(err)
	}
	var step int
	if ok, err := j.Param("step", &step); !ok || err != nil || step != 3 {
		t.Errorf("param: %v %v %d", ok, err, step)
	}
	if !reflect.DeepEqual(j.Meta, map[string]string{"step": "3"}) {
		t.Errorf("meta: %v", j.Meta)
	}
	j.Meta["broken"] = "{"
	if ok, err := j.Param("broken", &step); !ok || err == nil {
		t.Errorf("param that does not decode: %v %v", ok, err)
	}
	if err := j.SetParam(t.Context(), "f", func() {}); err == nil {
		t.Error("a function was kept as a param")
	}
	if err := j.SetOutput(map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if err := j.SetOutput(make(chan int)); err == nil {
		t.Error("a channel was taken as output")
	}
	if got := string(j.Output()); got != `{"a":1}` {
		t.Errorf("output: %s", got)
	}
	if err := j.SetOutput(json.RawMessage("[2]")); err != nil || string(j.Output()) != "[2]" {
		t.Errorf("the last output counts: %s %v", j.Output(), err)
	}
}

func TestContextsWithoutAJob(t *testing.T) {
	if _, ok := kiln.ClientFrom(t.Context()); ok {
		t.Error("a client came out of an empty context")
	}
	if _, ok := kiln.JobFrom(t.Context()); ok {
		t.Error("a job came out of an empty context")
	}
}

func TestClientChecksBeforeTheStore(t *testing.T) {
	c, _ := capture(t)
	ctx := t.Context()
	if n, err := c.Delete(ctx); n != 0 || err != nil {
		t.Errorf("Delete() = %d, %v", n, err)
	}
	if n, err := c.Requeue(ctx); n != 0 || err != nil {
		t.Errorf("Requeue() = %d, %v", n, err)
	}
	for name, call := range map[string]func() error{
		"DeleteWhere without ids or state": func() error { _, err := c.DeleteWhere(ctx, kiln.Filter{Queue: "q"}); return err },
		"RequeueWhere, unknown state":      func() error { _, err := c.RequeueWhere(ctx, kiln.Filter{State: "done"}); return err },
		"List, no state":                   func() error { _, err := c.List(ctx, kiln.JobQuery{}); return err },
		"List, unknown state":              func() error { _, err := c.List(ctx, kiln.JobQuery{State: "done"}); return err },
		"PauseQueue, bad name":             func() error { return c.PauseQueue(ctx, "Bad") },
		"ResumeQueue, empty name":          func() error { return c.ResumeQueue(ctx, "") },
	} {
		if err := call(); !errors.Is(err, kiln.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Get(ctx, 1); !errors.Is(err, kiln.ErrNotFound) {
		t.Errorf("Get of nothing: %v", err)
	}
}

func TestEnqueueMiddleware(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	var order []string
	wrap := func(name string) kiln.EnqueueMiddleware {
		return func(next kiln.EnqueueFunc) kiln.EnqueueFunc {
			return func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]kiln.Inserted, error) {
				order = append(order, name)
				jobs[0].Tags = append(jobs[0].Tags, name)
				return next(ctx, w, jobs)
			}
		}
	}
	c := kiln.NewClient(store, wrap("outer"), nil, wrap("inner"))
	id, err := c.Enqueue(t.Context(), email{})
	if err != nil {
		t.Fatal(err)
	}
	tx := store.Begin()
	if _, err := c.EnqueueTx(t.Context(), tx, email{}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"outer", "inner", "outer", "inner"}; !reflect.DeepEqual(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if r, _ := c.Get(t.Context(), id); !reflect.DeepEqual(r.Tags, []string{"outer", "inner"}) {
		t.Errorf("the middleware's change was not stored: %v", r.Tags)
	}
	short := kiln.NewClient(store, func(kiln.EnqueueFunc) kiln.EnqueueFunc {
		return func(context.Context, driver.Writer, []driver.InsertParams) ([]kiln.Inserted, error) { return nil, nil }
	})
	if _, err := short.Enqueue(t.Context(), email{}); err == nil || !strings.Contains(err.Error(), "1 jobs came back with 0") {
		t.Errorf("a middleware that swallows results: %v", err)
	}
}
