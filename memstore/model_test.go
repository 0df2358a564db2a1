package memstore_test

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"
	"github.com/kilnjobs/kiln/memstore"
)

// FuzzModel compares the reference with itself, so it fails only when the model does.
func FuzzModel(f *testing.F) {
	drivertest.FuzzModel(f, func(t *testing.T, now func() time.Time) driver.Store {
		s := memstore.New(memstore.Clock(now))
		t.Cleanup(s.Close)
		return s
	})
}
