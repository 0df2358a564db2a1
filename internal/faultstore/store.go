package faultstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Methods names every call that a rule can meet. The names with Tx are those of the writer that InTx hands out.
var Methods = []string{
	"Insert", "OpenBatch", "SealBatch",
	"Claim", "Finish", "Heartbeat", "Unregister", "SetMeta",
	"Now", "Lead", "Resign", "Promote", "Orphans", "Sweep", "Prune", "Due", "Fire",
	"Delete", "Requeue", "PauseQueue", "Recurring", "PutRecurring", "RemoveRecurring",
	"Job", "Jobs", "Counts", "Series", "Servers", "Queues", "Recurrings", "Batch", "Batches",
	"Subscribe", "InTx", "Tx.Insert", "Tx.OpenBatch", "Tx.SealBatch", "WriteConsole", "WriteConsoles", "Logs", "Limits", "FireMany", "Outputs",
	"Problems", "Explain", "Runs", "LastErrors", "States",
}

// Store is one server's view of a store. It has every optional interface; what the inner store lacks answers with an error
// wrapping errors.ErrUnsupported, and Tuning with its zero value.
type Store struct {
	inner driver.Store

	mu    sync.Mutex
	rule  Rule
	calls map[string]int
	total int
}

// Wrap returns a view of inner. A nil rule lets everything through.
func Wrap(inner driver.Store, rule Rule) *Store {
	return &Store{inner: inner, rule: rule, calls: make(map[string]int)}
}

// SetRule replaces the rule for the calls that begin from now on.
func (s *Store) SetRule(rule Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rule = rule
}

// Calls returns how many calls of a method have begun.
func (s *Store) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// fault numbers a call and decides what goes wrong with it.
func (s *Store) fault(method string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
	s.total++
	if s.rule == nil {
		return Fault{}
	}
	return s.rule(Call{Method: method, Number: s.calls[method], Total: s.total})
}

// through makes a call that answers with a value.
func through[T any](ctx context.Context, s *Store, method string, call func() (T, error)) (T, error) {
	var zero T
	f := s.fault(method)
	if err := f.Before.pass(ctx); err != nil {
		return zero, err
	}
	v, err := call()
	if lost := f.After.pass(ctx); lost != nil {
		return zero, lost
	}
	return v, err
}

// do makes a call that answers with an error only.
func do(ctx context.Context, s *Store, method string, call func() error) error {
	_, err := through(ctx, s, method, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func lacks(name string) error {
	return fmt.Errorf("faultstore: the inner store is no %s: %w", name, errors.ErrUnsupported)
}

// Subscribe implements driver.Notifier. A fault's After runs beside the subscription and breaks it.
func (s *Store) Subscribe(ctx context.Context, fn func(driver.Event)) error {
	f := s.fault("Subscribe")
	n, ok := s.inner.(driver.Notifier)
	if !ok {
		return lacks("Notifier")
	}
	if err := f.Before.pass(ctx); err != nil {
		return err
	}
	if f.After == (Step{}) {
		return n.Subscribe(ctx, fn)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	broken := make(chan error, 1)
	go func() {
		broken <- f.After.pass(running)
		stop()
	}()
	err := n.Subscribe(running, fn)
	stop()
	if lost := <-broken; lost != nil && ctx.Err() == nil {
		return lost
	}
	return err
}

// Tuning implements driver.Tuner.
func (s *Store) Tuning() driver.Tuning {
	if t, ok := s.inner.(driver.Tuner); ok {
		return t.Tuning()
	}
	return driver.Tuning{}
}

// InTx implements driver.Transactor. The writer's calls meet the rule too, under names with Tx.
func (s *Store) InTx(ctx context.Context, fn func(w driver.Writer) error) error {
	t, ok := s.inner.(driver.Transactor)
	if !ok {
		return lacks("Transactor")
	}
	return do(ctx, s, "InTx", func() error {
		return t.InTx(ctx, func(w driver.Writer) error { return fn(writer{s, w, "Tx."}) })
	})
}

// WriteConsole implements driver.Console.
func (s *Store) WriteConsole(ctx context.Context, ref driver.Ref, lines []string, progress int) error {
	c, ok := s.inner.(driver.Console)
	if !ok {
		return lacks("Console")
	}
	return do(ctx, s, "WriteConsole", func() error { return c.WriteConsole(ctx, ref, lines, progress) })
}

// Logs implements driver.Console.
func (s *Store) Logs(ctx context.Context, id, after int64, limit int) ([]driver.LogLine, error) {
	c, ok := s.inner.(driver.Console)
	if !ok {
		return nil, lacks("Console")
	}
	return through(ctx, s, "Logs", func() ([]driver.LogLine, error) { return c.Logs(ctx, id, after, limit) })
}

// Limits implements driver.LimitReader.
func (s *Store) Limits(ctx context.Context, after string, limit int) ([]driver.LimitInfo, error) {
	l, ok := s.inner.(driver.LimitReader)
	if !ok {
		return nil, lacks("LimitReader")
	}
	return through(ctx, s, "Limits", func() ([]driver.LimitInfo, error) { return l.Limits(ctx, after, limit) })
}

// Outputs implements driver.OutputReader.
func (s *Store) Outputs(ctx context.Context, ids []int64) (map[int64][]byte, error) {
	l, ok := s.inner.(driver.OutputReader)
	if !ok {
		return nil, lacks("OutputReader")
	}
	return through(ctx, s, "Outputs", func() (map[int64][]byte, error) { return l.Outputs(ctx, ids) })
}

// States implements driver.StateReader.
func (s *Store) States(ctx context.Context, ids []int64) (map[int64]driver.State, error) {
	r, ok := s.inner.(driver.StateReader)
	if !ok {
		return nil, lacks("StateReader")
	}
	return through(ctx, s, "States", func() (map[int64]driver.State, error) { return r.States(ctx, ids) })
}

// Runs implements driver.HistoryReader.
func (s *Store) Runs(ctx context.Context, id int64) ([]driver.Run, error) {
	r, ok := s.inner.(driver.HistoryReader)
	if !ok {
		return nil, lacks("HistoryReader")
	}
	return through(ctx, s, "Runs", func() ([]driver.Run, error) { return r.Runs(ctx, id) })
}

// LastErrors implements driver.HistoryReader.
func (s *Store) LastErrors(ctx context.Context, ids []int64) (map[int64]string, error) {
	r, ok := s.inner.(driver.HistoryReader)
	if !ok {
		return nil, lacks("HistoryReader")
	}
	return through(ctx, s, "LastErrors", func() (map[int64]string, error) { return r.LastErrors(ctx, ids) })
}

// Problems implements driver.ProblemReader.
func (s *Store) Problems(ctx context.Context, limit int) (driver.Problems, error) {
	r, ok := s.inner.(driver.ProblemReader)
	if !ok {
		return driver.Problems{}, lacks("ProblemReader")
	}
	return through(ctx, s, "Problems", func() (driver.Problems, error) { return r.Problems(ctx, limit) })
}

// Explain implements driver.Explainer.
func (s *Store) Explain(ctx context.Context, id int64) (driver.Explanation, error) {
	x, ok := s.inner.(driver.Explainer)
	if !ok {
		return driver.Explanation{}, lacks("Explainer")
	}
	return through(ctx, s, "Explain", func() (driver.Explanation, error) { return x.Explain(ctx, id) })
}

// writer is the writing side, of the store itself or of a transaction.
type writer struct {
	store  *Store
	inner  driver.Writer
	prefix string
}

func (w writer) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	return through(ctx, w.store, w.prefix+"Insert", func() ([]driver.Inserted, error) { return w.inner.Insert(ctx, jobs) })
}

func (w writer) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	return through(ctx, w.store, w.prefix+"OpenBatch", func() (int64, error) { return w.inner.OpenBatch(ctx, b) })
}

func (w writer) SealBatch(ctx context.Context, id int64) error {
	return do(ctx, w.store, w.prefix+"SealBatch", func() error { return w.inner.SealBatch(ctx, id) })
}

// Insert implements driver.Writer.
func (s *Store) Insert(ctx context.Context, jobs []driver.InsertParams) ([]driver.Inserted, error) {
	return writer{s, s.inner, ""}.Insert(ctx, jobs)
}

// OpenBatch implements driver.Writer.
func (s *Store) OpenBatch(ctx context.Context, b driver.NewBatch) (int64, error) {
	return writer{s, s.inner, ""}.OpenBatch(ctx, b)
}

// SealBatch implements driver.Writer.
func (s *Store) SealBatch(ctx context.Context, id int64) error {
	return writer{s, s.inner, ""}.SealBatch(ctx, id)
}

// Now implements driver.Coordinator.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return through(ctx, s, "Now", func() (time.Time, error) { return s.inner.Now(ctx) })
}

// WriteConsoles implements driver.ConsoleBatch.
func (s *Store) WriteConsoles(ctx context.Context, writes []driver.ConsoleWrite) ([]error, error) {
	c, ok := s.inner.(driver.ConsoleBatch)
	if !ok {
		return nil, lacks("ConsoleBatch")
	}
	return through(ctx, s, "WriteConsoles", func() ([]error, error) { return c.WriteConsoles(ctx, writes) })
}

// FireMany implements driver.BlockFirer.
func (s *Store) FireMany(ctx context.Context, fires []driver.Fire) ([]driver.FireResult, error) {
	b, ok := s.inner.(driver.BlockFirer)
	if !ok {
		return nil, lacks("BlockFirer")
	}
	return through(ctx, s, "FireMany", func() ([]driver.FireResult, error) { return b.FireMany(ctx, fires) })
}
