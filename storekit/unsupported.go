package storekit

import (
	"errors"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// RefuseUnbuilt returns an error wrapping errors.ErrUnsupported for the first job that needs an ability that stores do not
// have yet: unique keys and limits.
func RefuseUnbuilt(jobs []driver.InsertParams) error {
	for i := range jobs {
		j := &jobs[i]
		field := ""
		switch {
		case len(j.UniqueKey) > 0:
			field = "UniqueKey"
		case j.LimitKey != "":
			field = "LimitKey"
		default:
			continue
		}
		return fmt.Errorf("job %d of %d: %s: %w", i, len(jobs), field, errors.ErrUnsupported)
	}
	return nil
}
