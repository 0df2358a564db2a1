package storekit

import (
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// RefuseUnbuilt returns an error wrapping errors.ErrUnsupported for the first job that needs an ability that stores do not
// have yet: batches and parents.
func RefuseUnbuilt(jobs []driver.InsertParams) error {
	for i := range jobs {
		j := &jobs[i]
		field := ""
		switch {
		case j.BatchID != 0:
			field = "BatchID"
		case j.AfterBatch != 0:
			field = "AfterBatch"
		case len(j.Parents) > 0:
			field = "Parents"
		default:
			continue
		}
		return fmt.Errorf("job %d of %d: %s: %w", i, len(jobs), field, errors.ErrUnsupported)
	}
	return nil
}
