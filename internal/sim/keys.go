package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// limits are the rules of the limit keys in a simulation. They never change.
var limits = []driver.InsertParams{
	{LimitKey: "one", LimitMax: 1},
	{LimitKey: "three", LimitMax: 3},
	{LimitKey: "rate", LimitRate: 5, LimitPer: time.Second, LimitBurst: 2},
	{LimitKey: "both", LimitMax: 2, LimitRate: 2, LimitPer: time.Second, LimitBurst: 1},
}

// keyed gives some jobs a limit key, a unique key, or both.
func (w *world) keyed(p *driver.InsertParams) {
	if w.rng.IntN(2) == 0 {
		l := limits[w.rng.IntN(len(limits))]
		p.LimitKey, p.LimitMax, p.LimitRate, p.LimitPer, p.LimitBurst = l.LimitKey, l.LimitMax, l.LimitRate, l.LimitPer, l.LimitBurst
	}
	if w.cfg.Shape.Flows || w.rng.IntN(3) > 0 {
		return // what a duplicate would have waited for or joined is not in the rules of flows
	}
	p.UniqueKey = fmt.Append(nil, "key ", w.rng.IntN(8))
	switch w.rng.IntN(4) {
	case 0:
		p.UniqueReplace = true
	case 1:
		p.UniqueDebounce = time.Duration(1+w.rng.IntN(5000)) * time.Millisecond
	case 2:
		p.UniqueFor = time.Duration(1+w.rng.IntN(60)) * time.Second
	}
}

// checkLimits holds the limit keys to their rules. That each unique key has one live holder, and that nobody waits for a slot that is
// free, is the store's own check.
func (w *world) checkLimits() error {
	if !w.cfg.Shape.Keys {
		return nil
	}
	infos, err := w.store.Limits(context.Background(), "", len(limits)+1)
	if err != nil {
		return err
	}
	for _, l := range infos {
		if l.Max > 0 && l.Active > l.Max {
			return fmt.Errorf("limit %q has %d jobs enqueued and processing, more than %d", l.Key, l.Active, l.Max)
		}
	}
	return nil
}
