package pgstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// takenIn is how many arrivals, and how many tallies, one transaction takes in.
const takenIn = 1000

// arrivals is what a transaction of an application brings that has to be looked at once it is committed.
type arrivals struct {
	// children are new jobs that name others as their parents, which have to know.
	children []int64
	rules    map[string]storekit.Rule
}

func (a *arrivals) ruled() map[string]storekit.Rule {
	if a.rules == nil {
		a.rules = map[string]storekit.Rule{}
	}
	return a.rules
}

// leaveBehind writes down what is to be settled after the commit. It only adds rows, and so waits for nobody.
func (w *work) leaveBehind() error {
	// Batches that it has opened itself nobody else knows yet.
	if err := w.settleEnded(); err != nil {
		return err
	}
	var jobs, per []*int64
	var most, rate, burst []*int32
	var keys []*string
	add := func(job *int64, key *string, r *storekit.Rule) {
		jobs, keys = append(jobs, job), append(keys, key)
		if r == nil {
			most, rate, burst, per = append(most, nil), append(rate, nil), append(burst, nil), append(per, nil)
			return
		}
		a, b, c, d := int32(r.Max), int32(r.Rate), int32(r.Burst), int64(r.Per)
		most, rate, burst, per = append(most, &a), append(rate, &b), append(burst, &c), append(per, &d)
	}
	for i := range w.arrivals.children {
		add(&w.arrivals.children[i], nil, nil)
	}
	for _, key := range slices.Sorted(maps.Keys(w.arrivals.rules)) {
		rule := w.arrivals.rules[key]
		add(nil, &key, &rule)
	}
	for _, key := range slices.Sorted(maps.Keys(w.limits)) {
		if _, ruled := w.arrivals.rules[key]; !ruled {
			add(nil, &key, nil)
		}
	}
	if len(jobs) > 0 {
		w.left = true
		if err := w.exec("arrivals_add", jobs, keys, most, rate, burst, per); err != nil {
			return err
		}
	}
	w.arrivals, w.limits = arrivals{}, nil
	return nil
}

// noteTally writes down what a transaction of an application changes of a batch.
func (w *work) noteTally(id int64, t *storekit.Tally) error {
	args := []any{id, t.Total}
	for _, n := range t.States {
		args = append(args, n)
	}
	w.left = true
	return w.exec("tallies_add", append(args, t.Nested, t.Finished, t.Sealed)...)
}

// takeIn settles what transactions of applications have left behind, and finishes batches that could not be finished before. It
// reports whether there may be more.
func (w *work) takeIn() (more bool, err error) {
	there := false
	if _, err := w.one("arrivals_any", nil, &there); err != nil || !there {
		return false, err
	}
	if err := w.exec("lock_arrivals", w.store.schema); err != nil {
		return false, err
	}
	n, err := w.takeArrivals()
	if err != nil {
		return false, err
	}
	tallies, err := w.takeTallies()
	if err != nil {
		return false, err
	}
	if _, err := w.sweepIdle(takenIn); err != nil {
		return false, err
	}
	return n == takenIn || tallies == takenIn, nil
}

func (w *work) takeArrivals() (n int, err error) {
	type arrival struct {
		seq      int64
		job, per *int64
		key      *string
		rule     [3]*int32
	}
	var list []arrival
	err = w.each("arrivals_take", []any{int64(takenIn)}, func(rows rows) error {
		var a arrival
		err := rows.Scan(&a.seq, &a.job, &a.key, &a.rule[0], &a.rule[1], &a.rule[2], &a.per)
		list = append(list, a)
		return err
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	slices.SortFunc(list, func(a, b arrival) int { return int(a.seq - b.seq) })
	var children []int64
	rules := map[string]storekit.Rule{}
	for _, a := range list {
		switch {
		case a.job != nil:
			children = append(children, *a.job)
		case a.rule[0] != nil:
			rules[*a.key] = storekit.Rule{Max: int(*a.rule[0]), Rate: int(*a.rule[1]), Burst: int(*a.rule[2]), Per: time.Duration(*a.per)}
		default:
			w.keyTouched(*a.key)
		}
	}
	// Jobs before limits, as everywhere.
	if err := w.meetParents(children); err != nil {
		return 0, err
	}
	if len(rules) > 0 {
		err = w.writeRules(rules)
	}
	return len(list), err
}

// meetParents tells the jobs that new ones wait for that they do, and settles with those that have ended before they could be told.
func (w *work) meetParents(children []int64) error {
	if len(children) == 0 {
		return nil
	}
	r := resolver{work: w, states: map[int64]driver.State{}, flags: map[int64]int32{}}
	type dep struct {
		parent, child int64
		waits         bool
	}
	var deps []dep
	var parents []int64
	err := w.each("arrivals_deps", []any{children}, func(rows rows) error {
		var d dep
		err := rows.Scan(&d.parent, &d.child, &d.waits)
		deps, parents = append(deps, d), append(parents, d.parent)
		return err
	})
	if err != nil || len(parents) == 0 {
		return err
	}
	if err := r.readParents(parents); err != nil {
		return err
	}
	if err := r.tellParents(); err != nil {
		return err
	}
	for _, d := range deps {
		if !d.waits {
			continue
		}
		state, there := r.states[d.parent]
		if !there {
			state = storekit.Pruned
		}
		if there && !state.Final() {
			continue
		}
		w.flow.ended = append(w.flow.ended, ending{job: d.parent, state: state, settled: d.child - 1, until: d.child})
	}
	return nil
}

func (w *work) takeTallies() (n int, err error) {
	err = w.each("tallies_take", []any{int64(takenIn)}, func(rows rows) error {
		var batch int64
		var t storekit.Tally
		into := []any{&batch, &t.Total}
		for i := range t.States {
			into = append(into, &t.States[i])
		}
		if err := rows.Scan(append(into, &t.Nested, &t.Finished, &t.Sealed)...); err != nil {
			return err
		}
		t.Look = true
		w.flow.tallies.Of(batch).Add(&t)
		n++
		return nil
	})
	return n, err
}

// settle takes in all that there is.
func (s *Store) settle(ctx context.Context) error {
	for {
		more := false
		err := s.do(ctx, func(w *work) (err error) {
			more, err = w.takeIn()
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// finishLater tries again to finish batches that somebody was joining just then.
func (s *Store) finishLater() {
	select {
	case s.late <- struct{}{}:
	default:
	}
}

func (s *Store) lateLoop() {
	defer close(s.lateStopped)
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.late:
		}
		for _, wait := range []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond} {
			if !pause(s.ctx, wait) {
				return
			}
			_ = s.do(s.ctx, func(w *work) error {
				_, err := w.sweepIdle(takenIn)
				return err
			})
		}
	}
}
