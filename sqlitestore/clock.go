package sqlitestore

import (
	"log/slog"
	"sync"
	"time"

	"github.com/kilnjobs/kiln/storekit"
)

// hold is how far the clock may step back without being followed.
const hold = time.Second

// clock is the store's clock: the process's wall clock in microseconds. A step back of up to a second, as time
// synchronisation makes them, is held, so that what was written later is not stamped earlier. A larger step is a correction
// and is followed, and logged.
type clock struct {
	source func() time.Time
	logger *slog.Logger

	mu   sync.Mutex
	last int64
}

func (c *clock) now() time.Time {
	t := storekit.Micros(c.source())
	c.mu.Lock()
	back := time.Duration(c.last-t) * time.Microsecond
	if back > 0 && back <= hold {
		t = c.last
	}
	c.last = t
	c.mu.Unlock()
	if back > hold {
		c.logger.Warn("sqlitestore: the clock was set back; what was scheduled before runs later by as much",
			"by", back, "now", storekit.Instant(t))
	}
	return storekit.Instant(t)
}

// future is from when on a stamp that somebody made as now shows that the clock has been set back since.
func (w *work) future() int64 { return w.nowAt + hold.Microseconds() }
