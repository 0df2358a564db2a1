package faultstore

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

var (
	_ driver.Store       = (*Store)(nil)
	_ driver.Notifier    = (*Store)(nil)
	_ driver.Transactor  = (*Store)(nil)
	_ driver.Console     = (*Store)(nil)
	_ driver.LimitReader = (*Store)(nil)
	_ driver.Tuner       = (*Store)(nil)
)

var errFault = errors.New("connection reset")

var plain = []driver.InsertParams{{Kind: "mail", Queue: "default", Args: []byte("{}"), MaxAttempts: 1}}

// stored returns how many jobs are ready inside, whatever the wrapper says.
func stored(t *testing.T, inner driver.Store) int64 {
	t.Helper()
	c, err := inner.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.Enqueued
}

// argument makes a value for a parameter of any method.
func argument(t *testing.T, typ reflect.Type) reflect.Value {
	switch typ {
	case reflect.TypeFor[context.Context]():
		return reflect.ValueOf(t.Context())
	case reflect.TypeFor[func(driver.Event)]():
		return reflect.ValueOf(func(driver.Event) {})
	case reflect.TypeFor[func(driver.Writer) error]():
		return reflect.ValueOf(func(w driver.Writer) error {
			_, insertErr := w.Insert(t.Context(), plain)
			_, openErr := w.OpenBatch(t.Context(), driver.NewBatch{})
			return errors.Join(insertErr, openErr, w.SealBatch(t.Context(), 1))
		})
	}
	return reflect.Zero(typ)
}

// TestEveryMethodMeetsTheRule calls every method of every interface once, and once more under a fault.
func TestEveryMethodMeetsTheRule(t *testing.T) {
	var seen []string
	failing := false
	s := Wrap(memstore.New(), func(c Call) Fault {
		if !slices.Contains(seen, c.Method) {
			seen = append(seen, c.Method)
		}
		if failing && c.Method != "InTx" {
			return Fail(errFault)
		}
		if c.Method == "Subscribe" {
			return Lose(errFault) // ends it at once
		}
		return Fault{}
	})
	for _, typ := range []reflect.Type{
		reflect.TypeFor[driver.Store](), reflect.TypeFor[driver.Notifier](), reflect.TypeFor[driver.Transactor](),
		reflect.TypeFor[driver.Console](), reflect.TypeFor[driver.LimitReader](), reflect.TypeFor[driver.OutputReader](),
		reflect.TypeFor[driver.ConsoleBatch](), reflect.TypeFor[driver.BlockFirer](),
		reflect.TypeFor[driver.ProblemReader](), reflect.TypeFor[driver.Explainer](), reflect.TypeFor[driver.HistoryReader](), reflect.TypeFor[driver.StateReader](),
	} {
		for m := range typ.Methods() {
			method := reflect.ValueOf(s).MethodByName(m.Name)
			args := make([]reflect.Value, method.Type().NumIn())
			for i := range args {
				args[i] = argument(t, method.Type().In(i))
			}
			for _, failing = range []bool{false, true} {
				results := method.Call(args)
				err, _ := results[len(results)-1].Interface().(error)
				if failing && !errors.Is(err, errFault) {
					t.Errorf("%s under a fault returns %v", m.Name, err)
				}
				if !failing && errors.Is(err, errFault) && m.Name != "Subscribe" {
					t.Errorf("%s without a fault returns %v", m.Name, err)
				}
			}
		}
	}
	want := slices.Sorted(slices.Values(Methods))
	if slices.Sort(seen); !slices.Equal(seen, want) {
		t.Errorf("rules met %v, Methods says %v", seen, want)
	}
}

func TestFailBeforeAndAfter(t *testing.T) {
	inner := memstore.New()
	s := Wrap(inner, On("Insert", First(Nth(1, Fail(errFault)), Nth(2, Lose(errFault)))))
	for i, want := range []struct {
		err    error
		stored int64
	}{{errFault, 0}, {errFault, 1}, {nil, 2}} {
		got, err := s.Insert(t.Context(), plain)
		if !errors.Is(err, want.err) || stored(t, inner) != want.stored {
			t.Errorf("call %d: %v with %d jobs stored, want %v with %d", i+1, err, stored(t, inner), want.err, want.stored)
		}
		if (err == nil) != (len(got) == 1) {
			t.Errorf("call %d: results %v with error %v", i+1, got, err)
		}
	}
	if n := s.Calls("Insert"); n != 3 {
		t.Errorf("%d calls of Insert, want 3", n)
	}
}

// A wrapper is one server's view: the fault of one is not the other's.
func TestViewsAreSeparate(t *testing.T) {
	inner := memstore.New()
	broken := Wrap(inner, Always(Fail(errFault)))
	sound := Wrap(inner, nil)
	if _, err := broken.Insert(t.Context(), plain); !errors.Is(err, errFault) {
		t.Errorf("the broken view: %v", err)
	}
	if _, err := sound.Insert(t.Context(), plain); err != nil {
		t.Errorf("the sound view: %v", err)
	}
	broken.SetRule(nil)
	if _, err := broken.Insert(t.Context(), plain); err != nil || stored(t, inner) != 2 {
		t.Errorf("the repaired view: %v with %d jobs, want 2", err, stored(t, inner))
	}
}

func TestHangUntilReleased(t *testing.T) {
	for name, c := range map[string]struct {
		fault      func(<-chan struct{}) Fault
		storedHung int64
	}{"before": {Hang, 0}, "after": {HangAfter, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memstore.New()
				release := make(chan struct{})
				s := Wrap(inner, On("Insert", Always(c.fault(release))))
				done := make(chan error, 1)
				go func() {
					_, err := s.Insert(t.Context(), plain)
					done <- err
				}()
				synctest.Wait()
				if n := stored(t, inner); n != c.storedHung {
					t.Errorf("%d jobs stored while it hangs, want %d", n, c.storedHung)
				}
				select {
				case err := <-done:
					t.Errorf("it did not hang: %v", err)
				default:
				}
				close(release)
				if err := <-done; err != nil || stored(t, inner) != 1 {
					t.Errorf("released: %v with %d jobs, want 1", err, stored(t, inner))
				}
			})
		})
	}
}

func TestHangEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		s := Wrap(inner, First(On("Insert", Nth(1, Hang(Never()))), On("Insert", Nth(2, HangAfter(Never())))))
		for i, want := range []int64{0, 1} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			start := time.Now()
			_, err := s.Insert(ctx, plain)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute || stored(t, inner) != want {
				t.Errorf("call %d: %v after %v with %d jobs, want %d", i+1, err, time.Since(start), stored(t, inner), want)
			}
			cancel()
		}
	})
}

func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		s := Wrap(inner, Always(Late(time.Minute)))
		start := time.Now()
		if _, err := s.Insert(t.Context(), plain); err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v, want nil after 1m", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Insert(ctx, plain); !errors.Is(err, context.DeadlineExceeded) || stored(t, inner) != 1 {
			t.Errorf("%v with %d jobs, want a timeout with 1", err, stored(t, inner))
		}
	})
}

func TestTransactionFaults(t *testing.T) {
	inner := memstore.New()
	s := Wrap(inner, nil)
	insert := func(w driver.Writer) error {
		_, err := w.Insert(t.Context(), plain)
		return err
	}
	for i, c := range []struct {
		rule   Rule
		err    error
		stored int64
	}{
		{On("InTx", Always(Fail(errFault))), errFault, 0},
		{On("Tx.Insert", Always(Lose(errFault))), errFault, 0}, // fn fails, so the transaction rolls back
		{On("InTx", Always(Lose(errFault))), errFault, 1},      // committed, but nobody heard
		{On("Insert", Always(Fail(errFault))), nil, 2},         // another method
	} {
		s.SetRule(c.rule)
		if err := s.InTx(t.Context(), insert); !errors.Is(err, c.err) || stored(t, inner) != c.stored {
			t.Errorf("case %d: %v with %d jobs, want %v with %d", i, err, stored(t, inner), c.err, c.stored)
		}
	}
}

func TestSubscriptionBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		cut := make(chan struct{})
		s := Wrap(inner, On("Subscribe", First(Nth(1, Fail(errFault)), Nth(2, Fault{After: Step{Until: cut, Err: errFault}}))))
		if err := s.Subscribe(t.Context(), func(driver.Event) {}); !errors.Is(err, errFault) {
			t.Fatalf("the first: %v", err)
		}
		var got []driver.Event
		done := make(chan error, 1)
		go func() { done <- s.Subscribe(t.Context(), func(e driver.Event) { got = append(got, e) }) }()
		synctest.Wait()
		close(cut)
		if err := <-done; !errors.Is(err, errFault) {
			t.Errorf("the second: %v", err)
		}
		if !slices.Equal(got, []driver.Event{{Kind: driver.Resync}}) {
			t.Errorf("events before the cut: %v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := s.Subscribe(ctx, func(driver.Event) { cancel() }); err != nil {
			t.Errorf("the third: %v", err)
		}
	})
}

// A subscription whose fault would come later ends quietly with its context.
func TestSubscriptionEndsBeforeItsFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Wrap(memstore.New(), Always(Fault{After: Step{Delay: time.Hour, Err: errFault}}))
		ctx, cancel := context.WithCancel(t.Context())
		if err := s.Subscribe(ctx, func(driver.Event) { cancel() }); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// bare hides the optional interfaces of a store.
type bare struct{ driver.Store }

func TestMissingAbilities(t *testing.T) {
	s := Wrap(bare{memstore.New()}, nil)
	_, logsErr := s.Logs(t.Context(), 1, 0, 1)
	_, limitsErr := s.Limits(t.Context(), "", 1)
	_, outputsErr := s.Outputs(t.Context(), nil)
	_, statesErr := s.States(t.Context(), nil)
	_, consolesErr := s.WriteConsoles(t.Context(), nil)
	_, fireErr := s.FireMany(t.Context(), nil)
	for name, err := range map[string]error{
		"Subscribe": s.Subscribe(t.Context(), func(driver.Event) {}), "InTx": s.InTx(t.Context(), nil),
		"WriteConsole": s.WriteConsole(t.Context(), driver.Ref{}, nil, 0), "Logs": logsErr, "Limits": limitsErr,
		"WriteConsoles": consolesErr, "FireMany": fireErr, "Outputs": outputsErr, "States": statesErr,
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.Tuning(); got != (driver.Tuning{}) {
		t.Errorf("Tuning: %+v", got)
	}
	if got := Wrap(memstore.New(), nil).Tuning(); got == (driver.Tuning{}) {
		t.Error("the tuning of the inner store is not passed through")
	}
}

// Rules see each call once and in order, from any number of goroutines.
func TestConcurrentCalls(t *testing.T) {
	const goroutines, each = 8, 50
	var calls []Call
	inner := memstore.New()
	s := Wrap(inner, func(c Call) Fault {
		calls = append(calls, c)
		if c.Number%2 == 0 {
			return Fail(errFault)
		}
		return Fault{}
	})
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				_, _ = s.Insert(t.Context(), plain)
			}
		})
	}
	wg.Wait()
	for i, c := range calls {
		if want := (Call{Method: "Insert", Number: i + 1, Total: i + 1}); c != want {
			t.Fatalf("call %d is %+v, want %+v", i, c, want)
		}
	}
	if n := stored(t, inner); len(calls) != goroutines*each || n != goroutines*each/2 {
		t.Errorf("%d calls and %d jobs, want %d and half of them", len(calls), n, goroutines*each)
	}
}

func TestUnknownMethodPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a rule for a method that does not exist is accepted")
		}
	}()
	On("Clam", nil)
}
