package pgstore

import (
	"context"
	"testing"
	"time"
)

// TestPlans looks at the plans of all statements on large tables, and counts the pages that the hot ones touch.
func TestPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("fills tables with three million jobs")
	}
	pool := newPool(t)
	s := openStore(t, pool, newSchema(t))
	began := time.Now()
	fillPlans(t, pool, s)
	t.Logf("filled in %s", time.Since(began).Round(100*time.Millisecond))
	p := newPlanner(t, s, planConn(t))
	checkShapes(t, p, "large tables", custom, generic)
	checkPages(t, p)
	t.Logf("all of it took %s", time.Since(began).Round(100*time.Millisecond))
	_ = context.Background
}
