package drivertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func txCases() []testCase {
	cases := []testCase{
		{name: "Commit", pins: "What a transaction wrote is there when InTx returns nil.", run: txCommit},
		{name: "Unseen", pins: "Nobody else sees what a transaction wrote before it is committed.", run: txUnseen},
		{name: "Rollback/job", pins: "An error of fn rolls everything back and is returned.", run: txRollback},
		{name: "InsertError", pins: "An Insert that is refused inside of a transaction leaves nothing of itself; returned by fn, its error rolls back the rest.", run: txInsertError},
		{name: "Serial", pins: "Transactions follow each other; one that was rolled back is in nobody's way.", run: txSerial},
		{name: "Events", pins: "InTx publishes after the commit what its jobs made ready.", run: txEvents},
	}
	for i := range cases {
		cases[i].needs = needsTransactor
	}
	events := &cases[len(cases)-1]
	events.needs = func(e *env) string {
		if reason := needsTransactor(e); reason != "" {
			return reason
		}
		return needsNotifier(e)
	}
	return cases
}

func needsTransactor(e *env) string {
	if _, ok := e.s.(driver.Transactor); !ok {
		return "the store is no Transactor"
	}
	return ""
}

func (e *env) inTx(fn func(w driver.Writer) error) error {
	return e.s.(driver.Transactor).InTx(e.ctx, fn)
}

func txCommit(e *env) {
	var first, second []driver.Inserted
	before := e.now()
	e.must(e.inTx(func(w driver.Writer) (err error) {
		if first, err = w.Insert(e.ctx, []driver.InsertParams{job(), everything()}); err != nil {
			return err
		}
		second, err = w.Insert(e.ctx, []driver.InsertParams{job(withDelay(time.Hour))})
		return err
	}), "InTx")
	after := e.now()
	if len(first) != 2 || len(second) != 1 {
		e.Fatalf("the transaction's inserts returned %+v and %+v, want two results and one", first, second)
	}
	if first[0].ID <= 0 || first[1].ID <= first[0].ID || second[0].ID <= 0 || second[0].ID == first[0].ID || second[0].ID == first[1].ID {
		e.Errorf("ids are %+v and %+v, want them above 0, increasing inside of a call and different", first, second)
	}
	eq(e, "state in the result of a plain job", first[0].State, driver.Enqueued)
	eq(e, "state in the result of a delayed job", second[0].State, driver.Scheduled)
	r := e.inState(first[1].ID, driver.Enqueued)
	e.sameParams("record", r.Job, everything())
	e.between("CreatedAt", r.CreatedAt, before, after)
	e.inState(second[0].ID, driver.Scheduled)
	e.countsAre("after the commit", driver.Counts{Enqueued: 2, Scheduled: 1})
	e.order("jobs that can be claimed", jobIDs(e.claim(10, queue1, "mail")), []int64{first[0].ID, first[1].ID})
	e.must(e.inTx(func(driver.Writer) error { return nil }), "InTx that does nothing")
}

func txUnseen(e *env) {
	seen := func(what string) error {
		ctx, cancel := context.WithTimeout(e.ctx, notice)
		defer cancel()
		c, err := e.s.Counts(ctx)
		if err != nil {
			return fmt.Errorf("Counts beside a transaction, %s: %w", what, err)
		}
		if c != (driver.Counts{}) {
			return fmt.Errorf("Counts beside a transaction, %s: %+v, want nothing to be seen", what, c)
		}
		return nil
	}
	e.must(e.inTx(func(w driver.Writer) error {
		if err := seen("before its first write"); err != nil {
			return err
		}
		if _, err := w.Insert(e.ctx, copies(3)); err != nil {
			return err
		}
		return seen("after it inserted three jobs")
	}), "InTx")
	e.countsAre("after the commit", driver.Counts{Enqueued: 3})
}

func txRollback(e *env) {
	broken := errors.New("changed my mind")
	var res []driver.Inserted
	err := e.inTx(func(w driver.Writer) (err error) {
		if res, err = w.Insert(e.ctx, copies(3)); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		e.Errorf("InTx returned %v, want the error of fn: %v", err, broken)
	}
	for _, r := range res {
		e.gone("a job of a transaction that was rolled back", r.ID)
	}
	e.countsAre("after the rollback", driver.Counts{})
	eq(e, "queues after the rollback", len(e.queues()), 0)
	eq(e, "jobs claimed after the rollback", len(e.claim(10)), 0)
	wrapped := fmt.Errorf("wrapped: %w", driver.ErrNotFound)
	err = e.inTx(func(driver.Writer) error { return wrapped })
	e.wantErr(err, driver.ErrNotFound, "InTx whose fn fails before any write")
}

func txInsertError(e *env) {
	var kept []driver.Inserted
	e.must(e.inTx(func(w driver.Writer) (err error) {
		if kept, err = w.Insert(e.ctx, copies(1)); err != nil {
			return err
		}
		_, err = w.Insert(e.ctx, []driver.InsertParams{job(), job(ofKind(""))})
		e.wantErr(err, driver.ErrInvalid, "Insert of an invalid job in a transaction")
		return nil
	}), "InTx whose fn goes on after a refused insert")
	e.countsAre("afterwards: the insert that was refused left nothing", driver.Counts{Enqueued: 1})
	e.inState(kept[0].ID, driver.Enqueued)

	err := e.inTx(func(w driver.Writer) error {
		if _, err := w.Insert(e.ctx, copies(2)); err != nil {
			return err
		}
		_, err := w.Insert(e.ctx, []driver.InsertParams{job(withArgs("{"))})
		return err
	})
	e.wantErr(err, driver.ErrInvalid, "InTx whose fn returns the error of a refused insert")
	e.countsAre("after the rollback", driver.Counts{Enqueued: 1})
}

func txSerial(e *env) {
	seen := map[int64]bool{}
	note := func(round int, id int64) {
		e.Helper()
		if seen[id] {
			e.Errorf("round %d: id %d is that of a job that was stored before", round, id)
		}
		seen[id] = true
	}
	for round := range 6 {
		commits := round%2 == 1
		var res []driver.Inserted
		err := e.inTx(func(w driver.Writer) (err error) {
			if res, err = w.Insert(e.ctx, copies(2)); err == nil && !commits {
				err = errors.New("no")
			}
			return err
		})
		if (err == nil) != commits {
			e.Fatalf("round %d: InTx returned %v", round, err)
		}
		// The id of a job that was rolled back was never stored, so it may come again.
		for _, r := range res {
			if commits {
				note(round, r.ID)
			}
		}
		note(round, e.insertOne())
		e.countsAre(fmt.Sprintf("after round %d", round), driver.Counts{Enqueued: int64(len(seen))})
	}
}

func txEvents(e *env) {
	s := e.subscribe()
	e.must(e.inTx(func(w driver.Writer) error {
		_, err := w.Insert(e.ctx, []driver.InsertParams{job(inQueue("a")), job(inQueue("b"))})
		return err
	}), "InTx")
	s.hears("a transaction that was committed", ready("a"), ready("b"))
}
