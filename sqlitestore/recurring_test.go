package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// TestRecurringServers runs recurring jobs, and consoles, on two servers with stores of their own on one file, in virtual time, while
// the leader changes again and again.
func TestRecurringServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		a, b := newStore(t, openPool(t, path)), newStore(t, openPool(t, path))
		handle := func(_ context.Context, j *kiln.Job[task]) error {
			j.Logf("occurrence %s", j.Meta["kiln.occurrence"])
			j.SetProgress(100)
			return nil
		}
		client := kiln.NewClient(b)
		begin := time.Now().UTC()
		for _, id := range []string{"a", "b", "c"} {
			if err := client.SetRecurring(ctx, id, "*/10 * * * * *", task{}, kiln.Meta{"id": id}); err != nil {
				t.Fatal(err)
			}
		}
		const rounds = 12
		for n := range rounds {
			mux := kiln.NewMux()
			kiln.Handle(mux, handle)
			server, err := kiln.NewServer(kiln.NewClient([]driver.Store{a, b}[n%2]), mux, kiln.ServerConfig{})
			if err != nil {
				t.Fatal(err)
			}
			running, stop := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() { done <- server.Run(running) }()
			<-time.After(9*time.Second + time.Duration(n%3)*100*time.Millisecond)
			stop()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		passed := time.Since(begin)
		page, err := a.Jobs(ctx, driver.JobQuery{State: driver.Succeeded, Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, job := range page.Records {
			got[job.RecurringID] = append(got[job.RecurringID], job.Meta["kiln.occurrence"])
			lines, err := b.Logs(ctx, job.ID, 0, 0)
			if err != nil || len(lines) != 1 || lines[0].Text != "occurrence "+job.Meta["kiln.occurrence"] || job.Progress != 100 {
				t.Errorf("job %d: lines %+v, %v, progress %d", job.ID, lines, err, job.Progress)
			}
		}
		for _, id := range []string{"a", "b", "c"} {
			slices.Sort(got[id])
			if n := len(got[id]); n < int(passed/(10*time.Second))-1 || n > int(passed/(10*time.Second)) {
				t.Errorf("%s fired %d times in %s", id, n, passed)
			}
			for i, text := range got[id] {
				if want := begin.Truncate(10 * time.Second).Add(time.Duration(i+1) * 10 * time.Second).Format(time.RFC3339); text != want {
					t.Errorf("%s: occurrence %d is %s, want %s", id, i, text, want)
				}
			}
		}
		if err := a.Check(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestFireManyInOneGo pins that a block costs few statements, however many recurring jobs are in it.
func TestFireManyInOneGo(t *testing.T) {
	ctx := context.Background()
	pool := openHookedPool(t, filepath.Join(t.TempDir(), "jobs.db"))
	s := newStore(t, pool.DB)
	var fires []driver.Fire
	for i := range 100 {
		id := fmt.Sprint(i)
		if err := s.PutRecurring(ctx, driver.Recurring{ID: id, Spec: "@daily", Location: "UTC"}); err != nil {
			t.Fatal(err)
		}
		fires = append(fires, driver.Fire{ID: id, Version: 1, NextRunAt: time.Now(), Jobs: []driver.InsertParams{
			{Kind: "k", Queue: "q", Args: []byte("{}"), MaxAttempts: 1, RecurringID: id, RunAt: time.Now().Add(-time.Second)},
		}})
	}
	statements := 0
	pool.obey(func(s step) error {
		if !s.after && (s.does == "exec" || s.does == "query") {
			statements++
		}
		return nil
	})
	results, err := s.FireMany(ctx, fires)
	pool.obey(nil)
	if err != nil || results[99].Err != nil {
		t.Fatal(err, results[99].Err)
	}
	if statements > 25 {
		t.Errorf("%d statements for a block of 100", statements)
	}
	// A template that is not JSON costs its own definition alone.
	if _, err := pool.Exec("update kiln_recurring set template = 'x' where id = '7'"); err != nil {
		t.Fatal(err)
	}
	due, _, err := s.Due(ctx, 1000)
	if err != nil || len(due) != 100 {
		t.Fatalf("%d are due, %v", len(due), err)
	}
	for _, r := range due {
		if (r.Template.Kind == "") != (r.ID == "7") && r.ID == "7" {
			t.Errorf("the broken template came back as %+v", r.Template)
		}
	}
}

// fire is a FireMany of one step with the jobs of a call, for the trial of faults. Every recurring job is fired once.
func (w *trial) fire() func() func() {
	n := w.number()
	jobs, ctx := w.jobs(n), w.context()
	id := fmt.Sprintf("r%d", n)
	return func() func() {
		results, err := w.s.FireMany(ctx, []driver.Fire{{ID: id, Version: 1, Jobs: jobs}})
		return func() {
			var out []driver.Inserted
			if err == nil {
				out, err = results[0].Jobs, results[0].Err
			}
			w.inserted(n, len(jobs), out, err)
			version := w.count("select version from kiln_recurring where id = ?", id)
			there := w.count("select count(*) from kiln_jobs where args ->> 'call' = ?", n) > 0
			if (version == 2) != there {
				w.t.Errorf("call %d, %v: the recurring job has version %d, its jobs are there: %v", n, err, version, there)
			}
		}
	}
}

// say writes a line for the jobs that are held.
func (w *trial) say() func() func() {
	n, ctx := w.number(), w.context()
	var writes []driver.ConsoleWrite
	for _, ref := range w.held {
		writes = append(writes, driver.ConsoleWrite{Ref: ref, Lines: []string{fmt.Sprint("call ", n)}, Progress: n})
	}
	return func() func() {
		errs, err := w.s.WriteConsoles(ctx, writes)
		return func() {
			what := w.outcome(err)
			w.logf("call %d: %d consoles: %s %v", n, len(writes), what, err)
			lines := w.count("select count(*) from kiln_console where line = ?", fmt.Sprint("call ", n))
			written := 0
			for i := range errs {
				if errs[i] == nil {
					written++
				} else if !errors.Is(errs[i], driver.ErrLost) {
					w.t.Errorf("call %d: %v", n, errs[i])
				}
			}
			if what != "unknown" && lines != written {
				w.t.Errorf("call %d, %v: %d consoles were written, %d lines are there", n, err, written, lines)
			}
		}
	}
}
