package sqlitestore

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func TestTxCommit(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	events := subscribed(t, s)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := s.Tx(tx)
	out, err := w.Insert(ctx, append(plainJobs(2), driver.InsertParams{Kind: "k", Queue: "later", Args: []byte("1"), MaxAttempts: 1, Delay: time.Hour}))
	if err != nil || len(out) != 3 || out[2].State != driver.Scheduled {
		t.Fatal(out, err)
	}
	if _, err := s.Job(ctx, out[0].ID); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("before the commit Job returns %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Notify(ctx); err != nil {
			t.Error(err)
		}
	}
	events.wait(t, driver.Event{Kind: driver.JobsReady, Queue: "default"})
	events.wait(t, driver.Event{Kind: driver.JobsScheduled, Queue: "later"})
	checked(t, s, 2)
}

// TestTxWithoutNotify commits and says nothing: the store sees the new jobs by itself.
func TestTxWithoutNotify(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	events := subscribed(t, s)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tx(tx).Insert(ctx, plainJobs(1)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	events.wait(t, driver.Event{Kind: driver.JobsReady, Queue: "default"})
}

// TestTxBeginsWithAWrite inserts in transactions that were begun as they come, while others write all the time.
func TestTxBeginsWithAWrite(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	db := newPool(t)
	s := newStore(t, db)
	var wg sync.WaitGroup
	writing := make(chan struct{})
	wg.Go(func() {
		for n := 0; n == 0 || ctx.Err() == nil; n++ {
			if _, err := insertOne(s, "noise"); err != nil {
				t.Error(err)
			}
			if n == 0 {
				close(writing)
			}
		}
	})
	<-writing
	for range 50 {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Tx(tx).Insert(ctx, plainJobs(1)); err != nil {
			t.Error(err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
	infos, err := s.Queues(context.Background())
	if err != nil || len(infos) != 2 || infos[0].Enqueued != 50 {
		t.Errorf("the queues are %+v, %v", infos, err)
	}
}

// TestTxReadFirst is the transaction that cannot work: it read, others wrote, now it writes.
func TestTxReadFirst(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRow("select count(*) from kiln_jobs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := insertOne(s, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tx(tx).Insert(ctx, plainJobs(1)); !isBusy(err) || !strings.Contains(err.Error(), "BEGIN IMMEDIATE") {
		t.Errorf("Insert returns %v, want the busy error and what helps", err)
	}
}

func TestTxRollback(t *testing.T) {
	ctx := context.Background()
	db := newPool(t)
	s := newStore(t, db)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := s.Tx(tx)
	out, err := w.Insert(ctx, plainJobs(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := w.Notify(ctx); err != nil {
		t.Error(err)
	}
	checked(t, s, 0)
	if _, err := w.Insert(ctx, plainJobs(1)); err == nil {
		t.Error("an insert in an ended transaction succeeds")
	}
	if id, err := insertOne(s, "a"); err != nil || id <= out[1].ID {
		t.Errorf("after ids up to %d were rolled back the next is %d, %v", out[1].ID, id, err)
	}
}

// TestTxInsertError fails one insert of a transaction that goes on.
func TestTxInsertError(t *testing.T) {
	ctx := context.Background()
	db := newHookedPool(t)
	s := newStore(t, db.DB)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := s.Tx(tx)
	if _, err := w.Insert(ctx, plainJobs(1)); err != nil {
		t.Fatal(err)
	}
	db.set(func(query string) error {
		if strings.Contains(query, "insert into kiln_ready") {
			return full{}
		}
		return nil
	})
	if _, err := w.Insert(ctx, plainJobs(5)); primary(err) != codeFull {
		t.Errorf("the failing insert returns %v", err)
	}
	db.set(nil)
	if _, err := w.Insert(ctx, plainJobs(1)); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	checked(t, s, 2)
}

func TestTxNil(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, newPool(t))
	w := s.Tx(nil)
	if _, err := w.Insert(ctx, plainJobs(1)); !errors.Is(err, driver.ErrNilTx) {
		t.Errorf("Insert returns %v", err)
	}
	if _, err := w.OpenBatch(ctx, driver.NewBatch{}); !errors.Is(err, driver.ErrNilTx) {
		t.Errorf("OpenBatch returns %v", err)
	}
	if err := w.SealBatch(ctx, 1); !errors.Is(err, driver.ErrNilTx) {
		t.Errorf("SealBatch returns %v", err)
	}
	if err := w.Notify(ctx); err != nil {
		t.Errorf("Notify returns %v", err)
	}
}

func TestInTx(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, newPool(t))
	mine := errors.New("mine")
	insert := func(w driver.Writer, n int) {
		t.Helper()
		if _, err := w.Insert(ctx, plainJobs(n)); err != nil {
			t.Error(err)
		}
	}
	var kept driver.Writer
	if err := s.InTx(ctx, func(w driver.Writer) error { kept = w; insert(w, 1); insert(w, 2); return nil }); err != nil {
		t.Error(err)
	}
	checked(t, s, 3)
	if _, err := kept.Insert(ctx, plainJobs(1)); err == nil {
		t.Error("the writer works after InTx has returned")
	}
	if err := s.InTx(ctx, func(w driver.Writer) error { insert(w, 5); return mine }); err != mine {
		t.Errorf("InTx returns %v, want the function's own error", err)
	}
	checked(t, s, 3)
	// An insert that is refused leaves nothing behind, and the transaction goes on.
	err := s.InTx(ctx, func(w driver.Writer) error {
		if _, err := w.Insert(ctx, []driver.InsertParams{plainJobs(1)[0], {}}); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("the refused insert returns %v", err)
		}
		insert(w, 1)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	checked(t, s, 4)
	ended, cancel := context.WithCancel(ctx)
	err = s.InTx(ended, func(w driver.Writer) error { insert(w, 1); cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("InTx with a context that ends returns %v", err)
	}
	checked(t, s, 4)
}

// TestInTxUnwinds lets the function panic, and leave its goroutine: both roll back, and the store goes on.
func TestInTxUnwinds(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, newPool(t))
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("the panic arrives as %v", r)
			}
		}()
		_ = s.InTx(ctx, func(w driver.Writer) error {
			_, _ = w.Insert(ctx, plainJobs(1))
			panic("boom")
		})
	}()
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = s.InTx(ctx, func(w driver.Writer) error {
			_, _ = w.Insert(ctx, plainJobs(1))
			runtime.Goexit()
			return nil
		})
	}()
	<-left
	if _, err := insertOne(s, "a"); err != nil {
		t.Error(err)
	}
	checked(t, s, 1)
}

// TestInTxSelfDeadlock calls the store in the function of InTx, which cannot work and has to say why.
func TestInTxSelfDeadlock(t *testing.T) {
	s := newStore(t, newPool(t))
	err := s.InTx(context.Background(), func(driver.Writer) error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		_, err := s.Insert(ctx, plainJobs(1))
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "calling goroutine itself") {
		t.Errorf("the error is %v, want DeadlineExceeded and a hint at the goroutine's own transaction", err)
	}
}
