package memstore

import (
	"context"
	"errors"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

func enqueued(t *testing.T, s *Store) int64 {
	t.Helper()
	c, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.Enqueued
}

func TestTxIsInvisibleUntilCommit(t *testing.T) {
	s, _ := open(t)
	tx := s.Begin()
	id := insert(t, tx, params(3)...)[0]
	if n := enqueued(t, s); n != 0 {
		t.Errorf("%d jobs show before the commit", n)
	}
	if _, err := s.Job(t.Context(), id); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("Job before the commit: %v", err)
	}
	if jobs := claim(t, s, 10); len(jobs) != 0 {
		t.Errorf("claimed %d jobs before the commit", len(jobs))
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := enqueued(t, s); n != 3 {
		t.Errorf("%d jobs after the commit, want 3", n)
	}
	if err := tx.Notify(t.Context()); err != nil {
		t.Errorf("Notify after the commit: %v", err)
	}
}

func TestTxRollback(t *testing.T) {
	s, _ := open(t)
	tx := s.Begin()
	burnt := insert(t, tx, params(2)...)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if n := enqueued(t, s); n != 0 {
		t.Errorf("%d jobs after the rollback", n)
	}
	if id := insert(t, s, params(1)...)[0]; id <= burnt[1] {
		t.Errorf("id %d was given out before", id)
	}
	if err := tx.Notify(t.Context()); err != nil {
		t.Errorf("Notify after the rollback: %v", err)
	}
}

func TestFinishedTxRefuses(t *testing.T) {
	s, _ := open(t)
	for name, end := range map[string]func(*Tx) error{"Commit": (*Tx).Commit, "Rollback": (*Tx).Rollback} {
		tx := s.Begin()
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
		_, insertErr := tx.Insert(t.Context(), params(1))
		_, openErr := tx.OpenBatch(t.Context(), driver.NewBatch{})
		for call, err := range map[string]error{
			"Insert": insertErr, "OpenBatch": openErr, "SealBatch": tx.SealBatch(t.Context(), 1),
			"Commit": tx.Commit(), "Rollback": tx.Rollback(),
		} {
			if !errors.Is(err, errTxDone) {
				t.Errorf("%s after %s: %v", call, name, err)
			}
		}
	}
}

func TestInTx(t *testing.T) {
	s, _ := open(t)
	boom := errors.New("boom")
	err := s.InTx(t.Context(), func(w driver.Writer) error {
		insert(t, w, params(1)...)
		// The store is usable meanwhile.
		insert(t, s, params(1)...)
		return boom
	})
	if !errors.Is(err, boom) || enqueued(t, s) != 1 {
		t.Errorf("after an error: %v, %d jobs, want boom and 1", err, enqueued(t, s))
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = s.InTx(ctx, func(w driver.Writer) error {
		insert(t, w, params(1)...)
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || enqueued(t, s) != 1 {
		t.Errorf("after a cancel: %v, %d jobs, want Canceled and 1", err, enqueued(t, s))
	}
	var kept driver.Writer
	err = s.InTx(t.Context(), func(w driver.Writer) error {
		kept = w
		insert(t, w, params(2)...)
		return nil
	})
	if err != nil || enqueued(t, s) != 3 {
		t.Errorf("after a commit: %v, %d jobs, want 3", err, enqueued(t, s))
	}
	if _, err := kept.Insert(t.Context(), params(1)); !errors.Is(err, errTxDone) {
		t.Errorf("the writer works after InTx: %v", err)
	}
}

func TestInTxRollsBackOnPanic(t *testing.T) {
	s, _ := open(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.InTx(t.Context(), func(w driver.Writer) error {
			insert(t, w, params(1)...)
			panic("boom")
		})
	}()
	if n := enqueued(t, s); n != 0 {
		t.Errorf("%d jobs after the panic", n)
	}
}
