package dashboard

import (
	"context"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
)

// readLimits reads a page of limit keys, those after the given one.
func (h *handler) readLimits(ctx context.Context, after string, limit int) (limitsView, error) {
	reader, ok := h.store.(driver.LimitReader)
	if !ok {
		return limitsView{}, errNoLimits
	}
	limits, err := reader.Limits(ctx, after, limit+1) // one more says whether there is another page
	if err != nil {
		return limitsView{}, fmt.Errorf("list limits: %w", err)
	}
	var v limitsView
	if len(limits) > limit {
		limits = limits[:limit]
		v.Next = limits[limit-1].Key
	}
	v.Limits = make([]limitView, len(limits))
	for i := range limits {
		v.Limits[i] = viewLimit(&limits[i])
	}
	return v, nil
}

func viewLimit(l *driver.LimitInfo) limitView {
	return limitView{
		Key: l.Key, Max: l.Max, Rate: l.Rate, PerMS: l.Per.Milliseconds(), Burst: l.Burst,
		Active: l.Active, Throttled: l.Throttled, Reserved: l.Reserved, NextStart: l.NextStart,
	}
}
