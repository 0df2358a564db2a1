package drivertest

import (
	"errors"

	"github.com/kilnjobs/kiln/driver"
)

func txFlowCases() []testCase {
	cases := []testCase{
		{name: "OwnWrites/parents", pins: "A transaction sees the jobs that it inserted itself: later ones may wait for them.", run: txOwnParents},
		{name: "Batch", pins: "A batch opened, filled and sealed in one transaction is there when that commits, and releases what waits for it.", run: txBatch},
		{name: "NestedBatch", pins: "Batches nest inside of one transaction, and in a batch from before.", run: txNestedBatch},
		{name: "Rollback/batch", pins: "A rollback leaves no batch, no member, no seal and no dependency.", run: txRollbackBatch},
		{name: "BatchError", pins: "A batch that is missing or has finished is refused inside of a transaction as outside, and the transaction can go on.", run: txBatchError},
	}
	for i := range cases {
		cases[i].needs = needsTransactor
	}
	return cases
}

func txOwnParents(e *env) {
	before := e.running(inQueue("before"))
	var first, second []driver.Inserted
	e.must(e.inTx(func(w driver.Writer) (err error) {
		if first, err = w.Insert(e.ctx, []driver.InsertParams{job(), job(after(driver.OnSucceeded, before.ID))}); err != nil {
			return err
		}
		second, err = w.Insert(e.ctx, []driver.InsertParams{job(after(driver.OnSucceeded, first[0].ID, first[1].ID))})
		if err != nil {
			return err
		}
		_, err = w.Insert(e.ctx, []driver.InsertParams{job(after(driver.OnSucceeded, second[0].ID+1000))})
		e.wantErr(err, driver.ErrNotFound, "Insert with a parent that does not exist, in a transaction")
		return nil
	}), "InTx")
	eq(e, "state in the result", second[0].State, driver.Awaiting)
	e.awaits(second[0].ID, 2)
	e.awaits(first[1].ID, 1)
	eq(e, "Children", e.record(first[0].ID).Children, []int64{second[0].ID})
	e.runNext(queue1, first[0].ID, driver.Succeeded)
	e.end(before, driver.Succeeded)
	e.runNext(queue1, first[1].ID, driver.Succeeded)
	e.released(second[0].ID, driver.Enqueued)
}

func txBatch(e *env) {
	var b int64
	var members, then []driver.Inserted
	e.must(e.inTx(func(w driver.Writer) (err error) {
		if b, err = w.OpenBatch(e.ctx, driver.NewBatch{Description: "in a transaction"}); err != nil {
			return err
		}
		if members, err = w.Insert(e.ctx, copies(2, inQueue("members"), inBatch(b))); err != nil {
			return err
		}
		if then, err = w.Insert(e.ctx, []driver.InsertParams{job(inQueue("then"), afterBatch(b))}); err != nil {
			return err
		}
		return w.SealBatch(e.ctx, b)
	}), "InTx")
	got := e.batch(b)
	if got.Total != 2 || !got.Sealed || !got.FinishedAt.IsZero() || got.Description != "in a transaction" {
		e.Errorf("the batch is %+v, want it sealed, unfinished and with two members", got)
	}
	e.awaits(then[0].ID, 1)
	e.endAllAs(e.claimExactly(2, "members"), driver.Succeeded)
	e.finished("after its members", b)
	e.released(then[0].ID, driver.Enqueued)
	e.inState(members[0].ID, driver.Succeeded)

	// A batch from before, sealed in a transaction that also joins it.
	b = e.openBatch(driver.NewBatch{})
	e.insertOne(inQueue("waits"), afterBatch(b))
	e.must(e.inTx(func(w driver.Writer) error { return w.SealBatch(e.ctx, b) }), "InTx that seals")
	e.finished("after it was sealed in a transaction", b)
	eq(e, "jobs released", len(e.claim(2, "waits")), 1)
}

func txNestedBatch(e *env) {
	before := e.openBatch(driver.NewBatch{})
	var outer, inner int64
	e.must(e.inTx(func(w driver.Writer) (err error) {
		if outer, err = w.OpenBatch(e.ctx, driver.NewBatch{Parent: before}); err != nil {
			return err
		}
		if inner, err = w.OpenBatch(e.ctx, driver.NewBatch{Parent: outer}); err != nil {
			return err
		}
		if _, err = w.Insert(e.ctx, []driver.InsertParams{job(inBatch(inner)), job(inBatch(outer), afterBatch(inner))}); err != nil {
			return err
		}
		return errors.Join(w.SealBatch(e.ctx, inner), w.SealBatch(e.ctx, outer))
	}), "InTx")
	e.seal(before)
	e.end(e.claimOne(), driver.Succeeded)
	e.finished("after its only job", inner)
	e.unfinished("with a continuation as a member", outer, before)
	e.end(e.claimOne(), driver.Succeeded)
	e.finished("after the continuation", outer, before)
}

func txRollbackBatch(e *env) {
	kept := e.openBatch(driver.NewBatch{})
	parent := e.running(inQueue("parents"))
	broken := errors.New("no")
	var b int64
	err := e.inTx(func(w driver.Writer) (err error) {
		if b, err = w.OpenBatch(e.ctx, driver.NewBatch{Parent: kept}); err != nil {
			return err
		}
		if _, err = w.Insert(e.ctx, []driver.InsertParams{job(inBatch(b), after(driver.OnSucceeded, parent.ID)), job(inBatch(kept))}); err != nil {
			return err
		}
		return errors.Join(w.SealBatch(e.ctx, b), w.SealBatch(e.ctx, kept), broken)
	})
	if !errors.Is(err, broken) {
		e.Errorf("InTx returned %v, want the error of fn", err)
	}
	_, err = e.s.Batch(e.ctx, b)
	e.wantErr(err, driver.ErrNotFound, "Batch of a batch that was rolled back")
	if got := e.batch(kept); got.Sealed || got.Total != 0 || got.Nested != 0 {
		e.Errorf("the batch from before is %+v, want it as it was", got)
	}
	eq(e, "Children of the parent", len(e.record(parent.ID).Children), 0)
	e.countsAre("after the rollback", driver.Counts{Processing: 1})
	e.seal(kept)
	e.finished("the batch from before", kept)
}

func txBatchError(e *env) {
	closed := e.openBatch(driver.NewBatch{})
	e.seal(closed)
	var b int64
	e.must(e.inTx(func(w driver.Writer) (err error) {
		refused := func(want error, what string, jobs ...driver.InsertParams) {
			_, err := w.Insert(e.ctx, jobs)
			e.wantErr(err, want, "Insert into a batch that %s, in a transaction", what)
		}
		refused(driver.ErrClosed, "has finished", job(), job(inBatch(closed)))
		refused(driver.ErrNotFound, "does not exist", job(), job(inBatch(closed+1000)))
		_, err = w.OpenBatch(e.ctx, driver.NewBatch{Parent: closed})
		e.wantErr(err, driver.ErrClosed, "OpenBatch in a parent that has finished, in a transaction")
		e.wantErr(w.SealBatch(e.ctx, closed+1000), driver.ErrNotFound, "SealBatch of a batch that does not exist, in a transaction")
		if b, err = w.OpenBatch(e.ctx, driver.NewBatch{}); err != nil {
			return err
		}
		if err := w.SealBatch(e.ctx, b); err != nil {
			return err
		}
		refused(driver.ErrClosed, "the transaction itself has finished", job(inBatch(b)))
		_, err = w.Insert(e.ctx, []driver.InsertParams{job(afterBatch(b))})
		return err
	}), "InTx")
	e.finished("an empty batch that its own transaction sealed", b)
	e.countsAre("afterwards", driver.Counts{Enqueued: 1})
}
