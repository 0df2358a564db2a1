package cron

import (
	"testing"
	"time"
)

func BenchmarkNext(b *testing.B) {
	berlin := zone(b, "Europe/Berlin")
	for _, spec := range []string{"* * * * *", "0 7 * * MON-FRI", "0 0 29 2 *", "0 0 30 2 *"} {
		b.Run(spec, func(b *testing.B) {
			s := mustParse(b, spec)
			from := time.Date(2026, 3, 1, 0, 0, 0, 0, berlin)
			for b.Loop() {
				s.Next(from)
			}
		})
	}
}
