// Package drivertest is the specification of a kiln store, in code.
//
// A store is right when it passes:
//
//	func TestRun(t *testing.T) {
//		drivertest.Run(t, func(t *testing.T) driver.Store { return openEmpty(t) })
//	}
//
//	func TestRunClock(t *testing.T) {
//		drivertest.RunClock(t, func(t *testing.T, now func() time.Time) driver.Store { return openEmpty(t, WithClock(now)) })
//	}
//
// Both run the same cases. [Run] lives with the real clock and really waits; [RunClock] gives the store a clock that the suite
// owns and moves, so that hours pass in no time. Every case opens a store of its own, which has to be empty; what open has to
// clean up belongs into t.Cleanup. The cases of a group run in parallel.
//
// A case that fails shows the sentence of the contract that it pins. The suite never asks which database it runs on. It skips
// only what needs an optional interface that the store does not implement, and, for now, the cases that are not written yet.
//
// # Skips are part of the review
//
// Where the file testdata/skips.golden stands in the folder of the test, the suite compares its skips with it: a skip that is
// not listed fails, and so does a listed case that ran. KILN_UPDATE_GOLDEN=1 writes the file. With -run only the cases that
// were visited are judged.
//
// # Invariants
//
// A store may implement
//
//	Check(ctx context.Context) error
//
// which looks at everything that it keeps and reports what does not fit together. The suite calls it after every case.
package drivertest
