package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// listEvent is what a watched list says: which jobs its page holds, and where they stand.
type listEvent struct {
	Jobs []listedJob `json:"jobs"`
	Next string      `json:"next,omitempty"`
}

type listedJob struct {
	ID      int64        `json:"id"`
	State   driver.State `json:"state"`
	Attempt int          `json:"attempt"`
}

// jobEvent is what a watched job says: where it stands, without what is large and what does not change by itself.
type jobEvent struct {
	jobView
	// Args and Meta hide those of the job.
	Args *struct{} `json:"args,omitempty"`
	Meta *struct{} `json:"meta,omitempty"`
	// LastSeq is the number of the last line of its console.
	LastSeq int64 `json:"last_seq"`
}

func (h *handler) jobsSource(r *request) (source, error) {
	state, id, err := r.jobKey()
	if err != nil {
		return source{}, err
	}
	if id != 0 {
		return h.jobSource(id), nil
	}
	q, err := parseList(r, state)
	if err != nil {
		return source{}, err
	}
	return h.listSource(q), nil
}

func (h *handler) retriesSource(r *request) (source, error) {
	q, err := parseList(r, driver.Scheduled)
	if err != nil {
		return source{}, err
	}
	q.Retries = true
	return h.listSource(q), nil
}

func (h *handler) listSource(q listQuery) source {
	return source{fmt.Sprintf("jobs %#v", q), func(ctx context.Context) (reading, error) {
		v, err := h.readJobs(ctx, q)
		event := listEvent{Jobs: make([]listedJob, len(v.Jobs)), Next: v.Next}
		for i := range v.Jobs {
			event.Jobs[i] = listedJob{v.Jobs[i].ID, v.Jobs[i].State, v.Jobs[i].Attempt}
		}
		return reading{payload: event}, err
	}}
}

func (h *handler) jobSource(id int64) source {
	lines := &lastLine{}
	return source{fmt.Sprintf("job %d", id), func(ctx context.Context) (reading, error) {
		v, err := h.readJob(ctx, id)
		if err != nil {
			return reading{}, err
		}
		seq, err := lines.read(ctx, h.store, id)
		if err != nil {
			return reading{}, err
		}
		v.Args, v.Meta, v.Output = nil, nil, nil
		for i := range v.History {
			v.History[i].Trace = ""
		}
		marked := v
		if v.Why != nil {
			why := *v.Why
			why.At = time.Time{}
			marked.Why = &why
		}
		return reading{jobEvent{jobView: v, LastSeq: seq}, jobEvent{jobView: marked, LastSeq: seq}}, nil
	}}
}

// lastLine finds the number of the last line of a job's console, going on from where it was.
type lastLine struct{ seq int64 }

// Lines are looked through in so large steps, and so many of them at a time: a long console is found the end of later.
const (
	lineStep  = 500
	lineSteps = 10
)

func (l *lastLine) read(ctx context.Context, store driver.Store, id int64) (int64, error) {
	console, ok := store.(driver.Console)
	if !ok {
		return 0, nil
	}
	for range lineSteps {
		lines, err := console.Logs(ctx, id, l.seq, lineStep)
		if err != nil {
			return 0, fmt.Errorf("read the console of job %d: %w", id, err)
		}
		if len(lines) > 0 {
			l.seq = lines[len(lines)-1].Seq
		}
		if len(lines) < lineStep {
			break
		}
	}
	return l.seq, nil
}
