package sqlitestore

import (
	"testing"

	"github.com/kilnjobs/kiln/storekit"
)

// TestTurns pins that an admission reads no more waiting jobs than it can let in, however many there are.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		limit storekit.Limit
		want  int64
	}{
		{storekit.Limit{Rule: storekit.Rule{Max: 1000}, Active: 980}, 20},
		{storekit.Limit{Rule: storekit.Rule{Max: 1000}, Active: 1000}, 0},
		{storekit.Limit{Rule: storekit.Rule{Max: 3}, Active: 7}, 0},
		{storekit.Limit{Rule: storekit.Rule{Rate: 5, Burst: 1}}, storekit.MaxTurns + 1},
		{storekit.Limit{Rule: storekit.Rule{Max: 1, Rate: 5, Burst: 1}, Active: 1}, storekit.MaxTurns + 1},
	} {
		if n := (&waitingKey{Limit: c.limit}).turns(); n != c.want {
			t.Errorf("%+v: %d jobs are read, want %d", c.limit, n, c.want)
		}
	}
}
