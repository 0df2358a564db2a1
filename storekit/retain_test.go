package storekit

import (
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

func TestBatchRetention(t *testing.T) {
	for _, c := range []struct{ succeeded, deleted, want time.Duration }{
		{0, 0, 0}, {5, 3, 3}, {3, 5, 3}, {-1, 4, 4}, {4, -7, 4}, {0, -1, 0}, {-1, -1, -1},
	} {
		if got := BatchRetention(driver.Retention{Succeeded: c.succeeded, Deleted: c.deleted, Failed: 1}); got != c.want {
			t.Errorf("%d and %d: %d, want %d", c.succeeded, c.deleted, got, c.want)
		}
	}
}
