package pgstore

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"
)

// FuzzModel compares the store with memstore, operation by operation.
func FuzzModel(f *testing.F) {
	drivertest.FuzzModel(f, func(t *testing.T, now func() time.Time) driver.Store { return newSuiteStore(t, Clock(now)) })
}
