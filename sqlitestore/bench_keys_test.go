package sqlitestore

import (
	"context"
	"fmt"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// BenchmarkDrainKeys is BenchmarkDrain with jobs that have keys: each a unique key of its own; 10,000 limit keys with room for all of
// their jobs; and as many keys of which each job has to wait for the one before it. Compare with plain, which has the same number of
// jobs.
func BenchmarkDrainKeys(b *testing.B) {
	const keys = 10_000
	for _, c := range []struct {
		name string
		set  func(i int, p *driver.InsertParams)
	}{
		{"plain", func(int, *driver.InsertParams) {}},
		{"unique", func(i int, p *driver.InsertParams) { p.UniqueKey = fmt.Appendf(nil, "%016d", i) }},
		{"room", func(i int, p *driver.InsertParams) { p.LimitKey, p.LimitMax = fmt.Sprint("tenant ", i%keys), 1000 }},
		{"held", func(i int, p *driver.InsertParams) { p.LimitKey, p.LimitMax = fmt.Sprint("tenant ", i%keys), 1 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newStore(b, newPool(b))
			jobs := plainJobs(b.N)
			for i := range jobs {
				c.set(i, &jobs[i])
			}
			for len(jobs) > 0 {
				n := min(10_000, len(jobs))
				if _, err := s.Insert(context.Background(), jobs[:n]); err != nil {
					b.Fatal(err)
				}
				jobs = jobs[n:]
			}
			b.ReportAllocs()
			b.ResetTimer()
			drain(b, s, 500, []string{"email:send"})
			rate(b, b.N)
			if c, err := s.Counts(context.Background()); err != nil || int(c.Succeeded) != b.N {
				b.Errorf("%d of %d jobs are done, %v", c.Succeeded, b.N, err)
			}
		})
	}
}
