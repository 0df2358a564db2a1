package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// shop is what a dashboard is looked at over: so many jobs that were done, a tenth of that ready and a hundredth failed; a batch with a tenth
// of that many members in all of these states; and some of everything else.
type shop struct {
	store readable
	// done is how many jobs have been done.
	done int
	// batch is the large one, ids are jobs by what they are.
	batch int64
	ids   map[string]int64
}

// What the shop has of each.
const (
	shopQueues  = 5
	shopKinds   = 20
	shopTags    = 1000
	shopServers = 20
)

// queue and kind of the i-th job. Nobody works on the last queue, and nobody handles the last kind.
func shopQueue(i int) string { return fmt.Sprintf("queue-%d", i%shopQueues) }
func shopKind(i int) string  { return fmt.Sprintf("kind_%02d", i%shopKinds) }

func (s *shop) job(i int) driver.InsertParams {
	p := driver.InsertParams{
		Queue: shopQueue(i / 3), Kind: shopKind(i), Title: fmt.Sprintf("Job number %d", i), MaxAttempts: 10, Args: []byte(`{"text":"` + text + `"}`),
	}
	if i%10 == 0 {
		p.Tags = []string{fmt.Sprintf("customer:%d", i/10%shopTags)}
	}
	return p
}

// member makes every 16th job one of the large batch.
func (s *shop) member(i int, p driver.InsertParams) driver.InsertParams {
	if i%16 == 0 {
		p.BatchID = s.batch
	}
	return p
}

// fill makes all of it.
func (s *shop) fill(ctx context.Context) error {
	s.ids = map[string]int64{}
	var err error
	if s.batch, err = s.store.OpenBatch(ctx, driver.NewBatch{Description: "Catalogue of all suppliers", Meta: map[string]string{"season": "spring"}}); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.fillDone, s.fillFailed, s.fillReady, s.fillWaiting, s.fillRunning, s.fillRest} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end inserts n jobs, claims them and gives them an end, and returns the id of the last.
func (s *shop) end(ctx context.Context, n int, job func(i int) driver.InsertParams, end func(i int) driver.Outcome) (last int64, err error) {
	const part = 5000
	for from := 0; from < n; from += part {
		jobs := make([]driver.InsertParams, min(part, n-from))
		for i := range jobs {
			jobs[i] = job(from + i)
			jobs[i].Queue = "to-be-ended-" + jobs[i].Queue // so that nothing else is claimed
		}
		if _, err := s.store.Insert(ctx, jobs); err != nil {
			return 0, err
		}
		claimed, err := s.claim(ctx, len(jobs), "to-be-ended-")
		if err != nil {
			return 0, err
		}
		outs := make([]driver.Outcome, len(claimed))
		for i := range claimed {
			outs[i] = end(from + i)
			outs[i].Ref = claimed[i].Ref
			last = claimed[i].ID
		}
		if _, err := s.store.Finish(ctx, "bench", outs); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// claim claims n jobs of queues with a prefix.
func (s *shop) claim(ctx context.Context, n int, prefix string) (all []driver.Job, err error) {
	q := driver.ClaimQuery{Server: "server-0:1:0000000000000000"}
	for i := range shopQueues {
		q.Queues = append(q.Queues, prefix+shopQueue(i))
	}
	for i := range shopKinds {
		q.Kinds = append(q.Kinds, shopKind(i))
	}
	for len(all) < n {
		q.Limit = n - len(all)
		jobs, err := s.store.Claim(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(jobs) == 0 {
			return nil, fmt.Errorf("%d of %d jobs were claimed", len(all), n)
		}
		all = append(all, jobs...)
	}
	return all, nil
}

func (s *shop) fillDone(ctx context.Context) error {
	output, err := json.Marshal(map[string]string{"text": strings.Repeat(text, 10)})
	if err != nil {
		return err
	}
	s.ids["succeeded"], err = s.end(ctx, s.done,
		func(i int) driver.InsertParams { return s.member(i, s.job(i)) },
		func(i int) driver.Outcome {
			switch {
			case i%20 == 7:
				return driver.Outcome{State: driver.Deleted, Reason: "canceled"}
			case i%10 == 1 || i == s.done-1:
				return driver.Outcome{State: driver.Succeeded, Output: output}
			}
			return driver.Outcome{State: driver.Succeeded}
		})
	return err
}

func (s *shop) fillFailed(ctx context.Context) (err error) {
	trace := strings.Repeat("goroutine 1 [running]:\nmain.work(0x1)\n\t/srv/app/work.go:17 +0x1d\n", 60)
	s.ids["failed"], err = s.end(ctx, s.done/100,
		func(i int) driver.InsertParams { return s.member(i, s.job(i)) },
		func(i int) driver.Outcome {
			return driver.Outcome{State: driver.Failed, Reason: "exhausted", Error: fmt.Sprintf("charge order %d: payment gateway answered 503", i), Trace: trace}
		})
	return err
}

// fillReady adds ready jobs. The first of them fill the large batch until it has a tenth as many members as jobs were done.
func (s *shop) fillReady(ctx context.Context) error {
	b, err := s.store.Batch(ctx, s.batch)
	if err != nil {
		return err
	}
	missing := s.done/10 - int(b.Total)
	err = s.insert(ctx, missing, func(i int) driver.InsertParams {
		p := s.job(i)
		p.BatchID = s.batch
		return p
	}, "member")
	if err == nil {
		err = s.insert(ctx, s.done/10-missing, s.job, "enqueued")
	}
	if err != nil {
		return err
	}
	return s.store.SealBatch(ctx, s.batch)
}

// insert adds n jobs and notes the id of the last one.
func (s *shop) insert(ctx context.Context, n int, job func(i int) driver.InsertParams, name string) error {
	const part = 5000
	for from := 0; from < n; from += part {
		jobs := make([]driver.InsertParams, min(part, n-from))
		for i := range jobs {
			jobs[i] = job(from + i)
		}
		out, err := s.store.Insert(ctx, jobs)
		if err != nil {
			return err
		}
		s.ids[name] = out[len(out)-1].ID
	}
	return nil
}

func (s *shop) fillWaiting(ctx context.Context) error {
	n := s.done / 100
	steps := []struct {
		name string
		job  func(i int) driver.InsertParams
	}{
		{"scheduled", func(i int) driver.InsertParams {
			p := s.job(i)
			p.Delay = time.Hour + time.Duration(i)*time.Second
			return p
		}},
		{"awaiting", func(i int) driver.InsertParams {
			p := s.job(i)
			p.Parents = []driver.Parent{{ID: s.ids["enqueued"], On: driver.OnSucceeded}, {ID: s.ids["scheduled"], On: driver.OnFinished}}
			return p
		}},
		{"throttled", func(i int) driver.InsertParams {
			p := s.job(i)
			p.LimitKey, p.LimitMax = fmt.Sprintf("customer:%d", i%min(50, n/10)), 2
			return p
		}},
		{"granted", func(i int) driver.InsertParams {
			p := s.job(i)
			p.LimitKey, p.LimitRate, p.LimitPer, p.LimitBurst = "smtp", 1, time.Minute, 1
			return p
		}},
	}
	for _, step := range steps {
		if err := s.insert(ctx, n, step.job, step.name); err != nil {
			return err
		}
	}
	var err error
	s.ids["retry"], err = s.end(ctx, n/10+1, s.job, func(i int) driver.Outcome {
		return driver.Outcome{State: driver.Scheduled, Delay: time.Hour, Reason: "retry", Error: "payment gateway answered 503"}
	})
	return err
}

// fillRunning leaves some jobs running, one of which has said all that a job may say.
func (s *shop) fillRunning(ctx context.Context) error {
	jobs, err := s.claim(ctx, 100, "")
	if err != nil {
		return err
	}
	s.ids["processing"] = jobs[0].ID
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d of the console: %s", i, text[:80])
	}
	return s.store.WriteConsole(ctx, jobs[0].Ref, lines, 70)
}

// fillRest adds servers, recurring jobs, paused queues and small batches.
func (s *shop) fillRest(ctx context.Context) error {
	var queues, kinds []string
	for i := range shopQueues - 1 {
		queues = append(queues, shopQueue(i))
	}
	for i := range shopKinds - 1 {
		kinds = append(kinds, shopKind(i))
	}
	for i := range shopServers {
		info := driver.ServerInfo{ID: fmt.Sprintf("server-%d:1:0000000000000000", i), Host: fmt.Sprintf("server-%d", i), Queues: queues, Kinds: kinds, Workers: 50, Running: 5}
		if _, err := s.store.Heartbeat(ctx, info); err != nil {
			return err
		}
	}
	for i := range 100 {
		err := s.store.PutRecurring(ctx, driver.Recurring{
			ID: fmt.Sprintf("report-%03d", i), Spec: "15 2 * * *", Location: "Europe/Berlin", Template: s.job(i), NextRunAt: time.Now().Add(time.Hour),
			LastRunAt: time.Now().Add(-time.Hour), LastJobID: s.ids["failed"],
		})
		if err != nil {
			return err
		}
	}
	for i := range 1000 {
		id, err := s.store.OpenBatch(ctx, driver.NewBatch{Description: fmt.Sprintf("Section %d", i), Parent: s.batch * int64(i%2)})
		if err == nil {
			err = s.store.SealBatch(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return s.store.PauseQueue(ctx, shopQueue(1), true)
}
