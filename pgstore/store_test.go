package pgstore

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"
)

func TestRunClock(t *testing.T) {
	drivertest.RunClock(t, func(t *testing.T, now func() time.Time) driver.Store { return newSuiteStore(t, Clock(now)) })
}

func TestRun(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store { return newSuiteStore(t) })
}
