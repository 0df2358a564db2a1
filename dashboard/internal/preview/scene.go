package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/memstore"
)

// noon is the moment that all previews show.
var noon = time.Date(2026, time.March, 2, 14, 2, 10, 500_000_000, time.UTC)

// scene is a store whose clock stands where the play wants it, and in which the same happens each time.
type scene struct {
	store  *memstore.Store
	client *kiln.Client
	now    time.Time
	err    error
}

func newScene() *scene {
	s := &scene{now: noon}
	s.store = memstore.New(memstore.Clock(func() time.Time { return s.now }))
	s.client = kiln.NewClient(s.store)
	return s
}

// payload is the args of any job of the play.
type payload struct {
	kind string
	data any
}

func (p payload) Kind() string                 { return p.kind }
func (p payload) MarshalJSON() ([]byte, error) { return json.Marshal(p.data) }

// at sets the clock to some time before noon, or after it when it is negative.
func (s *scene) at(before time.Duration) { s.now = noon.Add(-before) }

func (s *scene) keep(err error) {
	if s.err == nil && err != nil {
		s.err = err
	}
}

func (s *scene) enqueue(kind string, data any, opts ...kiln.InsertOption) int64 {
	id, err := s.client.Enqueue(context.Background(), payload{kind, data}, opts...)
	s.keep(err)
	return id
}

// start claims a job that is next in its queue.
func (s *scene) start(queue, server string) driver.Ref {
	jobs, err := s.store.Claim(context.Background(), driver.ClaimQuery{Queues: []string{queue}, Limit: 1, Server: server})
	s.keep(err)
	if len(jobs) != 1 {
		s.keep(fmt.Errorf("queue %s gave %d jobs", queue, len(jobs)))
		return driver.Ref{}
	}
	return jobs[0].Ref
}

func (s *scene) finish(server string, out driver.Outcome) {
	results, err := s.store.Finish(context.Background(), server, []driver.Outcome{out})
	s.keep(err)
	if len(results) != 1 || results[0] != driver.Applied {
		s.keep(fmt.Errorf("job %d: outcome %s gave %v", out.ID, out.State, results))
	}
}

func (s *scene) say(ref driver.Ref, progress int, lines ...string) {
	s.keep(s.store.WriteConsole(context.Background(), ref, lines, progress))
}

func (s *scene) promote() {
	_, err := s.store.Promote(context.Background(), 1000)
	s.keep(err)
}

func (s *scene) beat(id, host string, workers, running int, queues, kinds []string) {
	_, err := s.store.Heartbeat(context.Background(), driver.ServerInfo{
		ID: id, Host: host, PID: 4711, Version: "kiln/v1.0.0", Workers: workers, Running: running, Queues: queues, Kinds: kinds,
	})
	s.keep(err)
}

// named finds one job in each state, and one that waits for a retry.
func (s *scene) named() (map[string]string, error) {
	ids := map[string]string{}
	for _, state := range driver.States {
		page, err := s.store.Jobs(context.Background(), driver.JobQuery{State: state, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(page.Records) == 0 {
			return nil, fmt.Errorf("the play has no job that is %s", state)
		}
		ids[string(state)] = fmt.Sprint(page.Records[0].ID)
	}
	page, err := s.store.Jobs(context.Background(), driver.JobQuery{State: driver.Scheduled, Retries: true, Limit: 1})
	if err == nil && len(page.Records) == 0 {
		err = fmt.Errorf("the play has no job that waits for a retry")
	}
	if err != nil {
		return nil, err
	}
	ids["retries"] = fmt.Sprint(page.Records[0].ID)
	return ids, nil
}
