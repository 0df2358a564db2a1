package pgstore

import (
	"context"
	"fmt"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/storekit"
)

// Explain implements driver.Explainer.
func (s *Store) Explain(ctx context.Context, id int64) (driver.Explanation, error) {
	var x driver.Explanation
	err := s.snapshot(ctx, func(r *reader) error {
		x = driver.Explanation{At: r.now}
		j := explained{reader: r, id: id}
		if err := j.locate(&x); err != nil {
			return err
		}
		return j.explain(&x)
	})
	if err != nil {
		return driver.Explanation{}, err
	}
	return x, nil
}

// explained is a job whose place is explained.
type explained struct {
	*reader
	id               int64
	queue, kind      string
	rank             int32
	after, runAt     int64
	limitKey, server string
	granted          bool
}

// locate reads where the job is.
func (j *explained) locate(x *driver.Explanation) error {
	var flags int32
	found, err := j.one("explain_job", []any{j.id}, &j.queue, &j.kind, &j.rank, &j.after, &j.limitKey, &j.runAt, &flags, &j.server, &x.State)
	if err == nil && !found {
		err = fmt.Errorf("%w: job %d", driver.ErrNotFound, j.id)
	}
	j.granted = flags&flagGranted != 0
	return err
}

// explain reads what the job waits for.
func (j *explained) explain(x *driver.Explanation) error {
	waits := storekit.Waits(x.State)
	if j.limitKey != "" && (waits || x.State == driver.Processing) {
		if err := j.limit(x); err != nil {
			return err
		}
	}
	if waits {
		if err := j.service(x); err != nil {
			return err
		}
	}
	switch x.State {
	case driver.Awaiting:
		return j.deps(x)
	case driver.Scheduled:
		x.ExpectedAt = storekit.Instant(j.runAt)
	case driver.Enqueued:
		_, err := j.one("explain_ahead", []any{j.queue, j.rank, j.id, int64(driver.AheadCap)}, &x.Ahead)
		return err
	case driver.Processing:
		var at int64
		_, err := j.one("explain_heartbeat", []any{j.server}, &at)
		x.HeartbeatAt = storekit.Instant(at)
		return err
	}
	return nil
}

// limit reads the rule and the use of the job's limit key and, while the job is throttled, where it stands in the line.
func (j *explained) limit(x *driver.Explanation) error {
	var rule storekit.Rule
	var clocks storekit.Clocks
	var active, reserved, waiting int
	_, err := j.one("explain_limit", []any{j.limitKey, int64(storekit.ThrottledCap)},
		&rule.Max, &rule.Rate, &rule.Per, &rule.Burst, &active, &reserved, &clocks.TAT, &clocks.AdmitTAT, &waiting)
	if err != nil {
		return err
	}
	info := rule.Info(j.limitKey, clocks, j.now, active, waiting, reserved)
	x.Limit = &info
	if x.State != driver.Throttled {
		return nil
	}
	line := storekit.Line{Granted: j.granted}
	args := []any{j.limitKey, j.rank, j.id, int64(driver.AheadCap), int32(flagGranted)}
	if _, err := j.one("explain_turn", args, &line.Ahead, &line.GrantedAhead); err != nil {
		return err
	}
	x.Ahead, x.ExpectedAt = line.Ahead, rule.ExpectedStart(clocks, line, j.now)
	return nil
}

// service reads whether the job's queue gives out jobs, and whether anybody would take this one.
func (j *explained) service(x *driver.Explanation) error {
	var at int64
	paused, err := j.one("explain_pause", []any{j.queue}, &at)
	if err != nil {
		return err
	}
	x.Paused, x.PausedAt = paused, storekit.Instant(at)
	servers, err := j.servers()
	storekit.ExplainServers(x, servers, j.queue, j.kind)
	return err
}

// deps reads the parents and the batch that an awaiting job waits for.
func (j *explained) deps(x *driver.Explanation) error {
	if _, err := j.one("explain_open", []any{j.id}, &x.OpenParents); err != nil {
		return err
	}
	err := j.each("explain_parents", []any{j.id, int64(storekit.MaxOpenParents)}, func(rows rows) error {
		var p driver.OpenParent
		err := rows.Scan(&p.ID, &p.Kind, &p.Title, &p.On, &p.State)
		x.Parents = append(x.Parents, p)
		return err
	})
	if err != nil || j.after == 0 {
		return err
	}
	return j.each("batch_read", []any{j.after}, func(rows rows) error {
		b, active, err := scanBatch(rows)
		storekit.ExplainBatch(x, &b, active)
		return err
	})
}
