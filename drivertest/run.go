package drivertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// Run holds the store that open returns against the contract, with the real clock. The cases that measure time run one after
// the other, the others of a group in parallel. open is called once for each case and has to return an empty store.
func Run(t *testing.T, open func(t *testing.T) driver.Store) {
	t.Helper()
	suite{open: func(t *testing.T, _ *clock) driver.Store { return open(t) }}.run(t)
}

// RunClock holds the store that open returns against the contract, with a clock that belongs to the suite. The store has to
// take its time from now and from nowhere else: run times, leases, retention, statistics and every stamp. Nothing waits. open
// is called once for each case, has to return an empty store, and gets another clock each time.
func RunClock(t *testing.T, open func(t *testing.T, now func() time.Time) driver.Store) {
	t.Helper()
	suite{owned: true, open: func(t *testing.T, c *clock) driver.Store { return open(t, c.read) }}.run(t)
}

// testCase is one sentence of the contract with the code that holds a store to it.
type testCase struct {
	name string
	// pins is the sentence, shown when the case fails.
	pins string
	// timing says that the case measures time, so that nothing may run beside it on the real clock.
	timing bool
	// needs returns why the store cannot be asked, or nothing.
	needs func(*env) string
	run   func(*env)
}

// group is a list of cases under one name.
type group struct {
	name  string
	cases []testCase
}

// groups lists all groups in the order in which they run.
func groups() []group {
	return []group{
		{"Insert", slices.Concat(insertCases(), insertFlowCases(), limitedInsertCases())},
		{"Claim", slices.Concat(claimCases(), claimFlowCases(), limitedClaimCases())},
		{"Finish", slices.Concat(finishCases(), finishFlowCases(), limitedFinishCases())},
		{"Deps", slices.Concat(depsCases(), depsLimitedCases())},
		{"Batch", slices.Concat(batchCases(), batchLimitedCases())},
		{"Unique", slices.Concat(uniqueCases(), uniqueFlowCases())},
		{"Limits", slices.Concat(limitCases(), problemLimitCases(), explainLimitCases())},
		{"Rate", slices.Concat(rateCases(), explainRateCases())},
		{"Recurring", slices.Concat(recurringCases(), fireCases(), fireLimitedCases(), problemRecurringCases())},
		{"Coordinate", slices.Concat(coordinateCases(), serverCases(), pruneCases(), coordinateFlowCases(), coordinateLimitedCases())},
		{"Admin", slices.Concat(adminCases(), adminFlowCases(), limitedAdminCases())},
		{"Inspect", slices.Concat(listCases(), inspectCases(), inspectFlowCases(), limitedInspectCases(), problemCases(), explainCases())},
		{"Notify", slices.Concat(notifyCases(), notifyFlowCases(), limitedNotifyCases())},
		{"Tx", slices.Concat(txCases(), txFlowCases(), limitedTxCases(), txLimitedFlowCases())},
		{"Console", consoleCases()},
	}
}

// suite is one run over all groups.
type suite struct {
	owned bool
	open  func(t *testing.T, c *clock) driver.Store
}

func (s suite) run(t *testing.T) {
	t.Helper()
	seen := newSkips()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					if s.owned || !c.timing {
						t.Parallel()
					}
					s.runCase(t, seen, g.name+"/"+c.name, c)
				})
			}
			for _, p := range pending {
				if p.group == g.name {
					t.Run(p.name, func(t *testing.T) { seen.skip(t, g.name+"/"+p.name, "not written yet: needs "+p.needs) })
				}
			}
		})
	}
	seen.compare(t)
}

// patience is how long a case may take in all, however busy the machine is.
const patience = 2 * time.Minute * slowdown

func (s suite) runCase(t *testing.T, seen *skips, name string, c testCase) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e := &env{T: t, ctx: ctx}
	if s.owned {
		e.clock = newClock()
	}
	e.s = s.open(t, e.clock)
	if e.s == nil {
		t.Fatal("open returned no store")
	}
	if c.needs != nil {
		if reason := c.needs(e); reason != "" {
			seen.skip(t, name, reason)
		}
	}
	seen.visit(name)
	defer func() {
		e.checkInvariants()
		if t.Failed() {
			t.Logf("the contract says: %s", c.pins)
		}
	}()
	c.run(e)
}
