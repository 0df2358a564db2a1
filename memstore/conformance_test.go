package memstore_test

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"
	"github.com/kilnjobs/kiln/memstore"
)

func TestRun(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store {
		s := memstore.New()
		t.Cleanup(s.Close)
		return s
	})
}

func TestRunClock(t *testing.T) {
	drivertest.RunClock(t, func(t *testing.T, now func() time.Time) driver.Store {
		s := memstore.New(memstore.Clock(now))
		t.Cleanup(s.Close)
		return s
	})
}
