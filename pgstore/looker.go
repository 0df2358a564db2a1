package pgstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// lanes finds the lanes of some queues that have ready jobs, in the order in which claims serve them and each with where it begins, and
// the highest id of each.
func (s *Store) lanes(ctx context.Context, queues []string) (lines []line, last lowestIDs, err error) {
	err = s.retried(ctx, func() error {
		lines, last = nil, lowestIDs{}
		return s.batched(ctx, func(batch *pgx.Batch) {
			batch.Queue(s.texts.SQL("claim_lanes"), queues).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					var l line
					var id *int64
					if err := rows.Scan(&l.queue, &l.rank, &l.mark, &id); err != nil {
						return err
					}
					if id != nil {
						lines = append(lines, l)
						last[l.laneKey] = *id
					}
				}
				return rows.Err()
			})
		})
	})
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(slices.Index(queues, a.queue), slices.Index(queues, b.queue)), cmp.Compare(a.rank, b.rank))
	})
	return lines, last, err
}

// looker looks at everything beside the claims of a backlog, which it would hold up: where an old transaction keeps deleted rows, a look
// walks over all of them.
type looker struct {
	s       *Store
	due     chan look
	stopped chan struct{}
}

// look is what claims of some kinds have to know anew of some queues.
type look struct {
	kinds  string
	queues []string
}

func newLooker(s *Store) *looker {
	l := &looker{s: s, due: make(chan look, 1), stopped: make(chan struct{})}
	go l.loop()
	return l
}

// ask asks for a look. While one is under way and another one waits, claims ask again.
func (l *looker) ask(kinds string, queues []string) {
	select {
	case l.due <- look{kinds, queues}:
		l.s.marks.trust(kinds, queues, time.Now())
	default:
	}
}

func (l *looker) loop() {
	defer close(l.stopped)
	for {
		select {
		case <-l.s.ctx.Done():
			return
		case due := <-l.due:
			began := time.Now()
			if lines, _, err := l.s.lanes(l.s.ctx, due.queues); err == nil {
				l.s.marks.renew(due.kinds, lines)
				l.s.marks.looked(due.kinds, due.queues, time.Since(began))
			}
		}
	}
}
