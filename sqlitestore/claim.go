package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Claim implements driver.Worker.
func (s *Store) Claim(ctx context.Context, q driver.ClaimQuery) ([]driver.Job, error) {
	if q.Limit <= 0 || len(q.Queues) == 0 {
		return nil, s.usable(ctx)
	}
	all := len(q.Kinds) == 0
	q.Queues, q.Kinds = slices.Clone(q.Queues), distinct(q.Kinds)
	if !all && len(q.Kinds) == 0 {
		return nil, s.usable(ctx)
	}
	var jobs []driver.Job
	err := s.do(ctx, func(w *work) error {
		var err error
		jobs, err = w.claim(&q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// distinct is a sorted copy without repetitions, and without what is not UTF-8: no job has such a kind, and as JSON it would be
// another.
func distinct(list []string) []string {
	out := slices.DeleteFunc(slices.Clone(list), func(kind string) bool { return !utf8.ValidString(kind) })
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *work) claim(q *driver.ClaimQuery) ([]driver.Job, error) {
	var jobs []driver.Job
	for _, queue := range q.Queues {
		left := q.Limit - len(jobs)
		if left == 0 {
			break
		}
		taken, err := w.claimQueue(queue, q.Kinds, left, q.Server)
		if err != nil {
			return nil, err
		}
		if jobs == nil {
			jobs = taken
		} else {
			jobs = append(jobs, taken...)
		}
	}
	return jobs, nil
}

// claimQueue takes up to limit jobs of one queue, of the given kinds or of any.
func (w *work) claimQueue(queue string, kinds []string, limit int, server string) ([]driver.Job, error) {
	if len(kinds) == 1 {
		return w.claimLane(nil, queue, kinds[0], limit, server)
	}
	lanes, err := w.pickLanes(queue, kinds, limit)
	if err != nil {
		return nil, err
	}
	var jobs []driver.Job
	for _, lane := range lanes {
		if jobs, err = w.claimLane(jobs, queue, lane.kind, lane.count, server); err != nil {
			return nil, err
		}
	}
	if len(lanes) > 1 {
		slices.SortFunc(jobs, func(a, b driver.Job) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
		})
	}
	return jobs, nil
}

// lane is a kind and how many jobs of it come next.
type lane struct {
	kind  string
	count int
}

// pickLanes says how many jobs of which kinds are the next ones of a queue.
func (w *work) pickLanes(queue string, kinds []string, limit int) ([]lane, error) {
	if len(kinds) == 0 {
		err := w.each("claim_lanes", []any{queue}, func(rows *sql.Rows) error {
			var kind string
			err := rows.Scan(&kind)
			kinds = append(kinds, kind)
			return err
		})
		if err != nil || len(kinds) == 0 {
			return nil, err
		}
		if len(kinds) == 1 {
			return []lane{{kinds[0], limit}}, nil
		}
	}
	list, err := json.Marshal(kinds)
	if err != nil {
		return nil, err
	}
	var lanes []lane
	var kind sql.RawBytes
	err = w.each("claim_pick", []any{queue, string(list), int64(limit)}, func(rows *sql.Rows) error {
		if err := rows.Scan(&kind); err != nil {
			return err
		}
		for i := range lanes {
			if lanes[i].kind == string(kind) {
				lanes[i].count++
				return nil
			}
		}
		lanes = append(lanes, lane{string(kind), 1})
		return nil
	})
	return lanes, err
}

// flagsTold are the flags of jobs about which a claim has more to say, or to do, than their plain columns.
const flagsTold = flagMeta | flagDeadline | flagBatch | flagParents | flagDetails

// claimLane moves the head of a lane into lease and appends its jobs.
func (w *work) claimLane(jobs []driver.Job, queue, kind string, limit int, server string) ([]driver.Job, error) {
	var rank, id, flags, attempt, timeout, createdAt int64
	var runAt sql.NullInt64
	var claim int32
	var most int
	var raw, limitKey sql.RawBytes
	var args storekit.Packer
	var special []int
	first := len(jobs)
	into := []any{&rank, &id, &flags, &claim, &attempt, &runAt, &most, &timeout, &createdAt, &limitKey, &raw}
	err := w.each("claim_read", []any{queue, kind, int64(limit)}, func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if flags&flagsTold != 0 {
			special = append(special, len(jobs))
		}
		if !runAt.Valid {
			runAt.Int64 = createdAt
		}
		jobs = append(jobs, driver.Job{
			Ref:  driver.Ref{ID: id, Claim: claim + 1},
			Kind: kind, Queue: queue, Priority: int16(-rank),
			Attempt: int(attempt) + 1, MaxAttempts: most, Timeout: storekit.MillisTimeout(timeout),
			RunAt: storekit.Instant(runAt.Int64), CreatedAt: storekit.Instant(createdAt), AttemptedAt: w.now,
			LimitKey: string(limitKey), Args: args.Keep(raw),
		})
		return nil
	})
	if err != nil || len(jobs) == first {
		return jobs, err
	}
	if err := w.exec("claim_lease", queue, kind, rank, id, w.nowAt, server); err != nil {
		return nil, err
	}
	if err := w.exec("claim_take", queue, kind, rank, id); err != nil {
		return nil, err
	}
	return jobs, w.claimSpecial(jobs, special)
}

// claimSpecial completes the jobs whose flags say that there is more about them.
func (w *work) claimSpecial(jobs []driver.Job, special []int) error {
	if len(special) == 0 {
		return nil
	}
	list := make([]byte, 0, 8*len(special)+2)
	for _, i := range special {
		list = appendID(list, jobs[i].ID)
	}
	var deadlines []byte
	var index int
	var deadline, batch int64
	var recurring, title string
	var tags, parents, meta sql.RawBytes
	err := w.each("claim_special", []any{closeIDs(list)}, func(rows *sql.Rows) error {
		err := rows.Scan(&index, &deadline, &batch, &recurring, &title, &tags, &parents, &meta)
		if err != nil {
			return err
		}
		job := &jobs[special[index]]
		job.BatchID, job.RecurringID, job.Title = batch, recurring, title
		job.Tags, job.Parents, job.Meta = storekit.DecodeTags(tags), decodeIDs(parents), storekit.DecodeMeta(meta)
		if deadline != 0 {
			deadlines = appendPair(deadlines, deadline, job.ID)
		}
		return nil
	})
	if err != nil || len(deadlines) == 0 {
		return err
	}
	return w.exec("claim_deadlines", closeIDs(deadlines))
}

func decodeIDs(b []byte) []int64 {
	if len(b) == 0 {
		return nil
	}
	var ids []int64
	_ = json.Unmarshal(b, &ids)
	return ids
}
