package drivertest

import "context"

// checker is implemented by stores that can look for contradictions in what they keep: a job in two states, a key without a
// holder, a counter that is not the number of its rows, a job that nothing will ever move.
type checker interface {
	Check(ctx context.Context) error
}

// checkInvariants asks the store, if it can tell, whether what the case left behind fits together.
func (e *env) checkInvariants() {
	c, ok := e.s.(checker)
	if !ok {
		return
	}
	if err := c.Check(e.ctx); err != nil {
		e.Errorf("the store's own Check after the case: %v", err)
	}
}
