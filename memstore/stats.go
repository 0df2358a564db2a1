package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// counts is one row of the statistics.
type counts struct{ succeeded, failed, deleted, retried int64 }

// minute is the key of a row: a minute since the epoch, and the server that the outcomes came from, empty for operators.
type minute struct {
	number int64
	server string
}

func (c *counts) add(stat storekit.Stat) {
	switch stat {
	case storekit.StatSucceeded:
		c.succeeded++
	case storekit.StatFailed:
		c.failed++
	case storekit.StatDeleted:
		c.deleted++
	case storekit.StatRetried:
		c.retried++
	}
}

func (c *counts) merge(o counts) {
	c.succeeded += o.succeeded
	c.failed += o.failed
	c.deleted += o.deleted
	c.retried += o.retried
}

// count adds what a call did to the statistics.
func (s *Store) count(now time.Time, server string, c counts) {
	if c == (counts{}) {
		return
	}
	s.total.merge(c)
	m := minute{storekit.Minute(now), server}
	if s.minutes[m] == nil {
		s.minutes[m] = &counts{}
	}
	s.minutes[m].merge(c)
}

// foldMinutes merges up to limit rows of minutes that began before the given time into one total, oldest first.
func (s *Store) foldMinutes(before time.Time, limit int) int {
	keys := slices.SortedFunc(maps.Keys(s.minutes), func(a, b minute) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.server, b.server))
	})
	n := 0
	for _, m := range keys {
		if n == limit || !storekit.MinuteTime(m.number).Before(before) {
			break
		}
		s.folded.merge(*s.minutes[m])
		delete(s.minutes, m)
		n++
	}
	return n
}

// Series implements driver.Inspector.
func (s *Store) Series(ctx context.Context, from, to time.Time, step time.Duration) ([]driver.Point, error) {
	if err := storekit.CheckSeries(step); err != nil {
		return nil, err
	}
	if _, err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	first, end := storekit.SeriesRange(from, to, step)
	buckets := make(map[int64]counts)
	for m, c := range s.minutes {
		if m.number >= first && m.number < end {
			at := storekit.Bucket(m.number, step)
			sum := buckets[at]
			sum.merge(*c)
			buckets[at] = sum
		}
	}
	var points []driver.Point
	for _, at := range slices.Sorted(maps.Keys(buckets)) {
		c := buckets[at]
		points = append(points, driver.Point{
			At: storekit.MinuteTime(at), Succeeded: c.succeeded, Failed: c.failed, Deleted: c.deleted, Retried: c.retried,
		})
	}
	return points, nil
}
