package dashboard

import (
	"errors"
	"fmt"
	"sync"
)

// named says what it was that failed.
func named(err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// together makes calls at the same time, since a page waits for all of what it shows. It returns their errors, and a panic of one as
// an error.
func together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		running.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("panic: %v", v)
				}
			}()
			errs[i] = call()
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
