package kiln_test

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"log"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// The samples that README and release notes have always shown. Those that run on a store in memory are the bodies of the tests
// below, line for line; examples has those that need SQLite; the last test lists the ones that wait for an ability.

func sendEmail(ctx context.Context, j *kiln.Job[SendEmail]) error {
	log.Printf("sending email to %s (attempt %d)", j.Args.To, j.Attempt)
	return nil
}

func TestSampleQuickStart(t *testing.T) {
	var printed bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&printed)
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client := t.Context(), r.client

		mux := kiln.NewMux()
		kiln.Handle(mux, sendEmail)
		server, err := kiln.NewServer(client, mux, kiln.ServerConfig{})
		if err != nil {
			log.Fatal(err)
		}

		if _, err := client.Enqueue(ctx, SendEmail{To: "ann@example.com"}); err != nil {
			log.Fatal(err)
		}
		running, stop := context.WithCancel(ctx)
		time.AfterFunc(time.Minute, stop)
		if err := server.Run(running); err != nil {
			log.Fatal(err)
		}
		if rec := r.want(1, kiln.Succeeded); rec.Attempt != 1 {
			t.Errorf("the job took %d attempts", rec.Attempt)
		}
	})
	if want := "sending email to ann@example.com (attempt 1)\n"; !strings.HasSuffix(printed.String(), want) || strings.Count(printed.String(), "\n") != 1 {
		t.Errorf("printed %q, want one line %q", printed.String(), want)
	}
}

func TestSampleEnqueueOptions(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client, to := t.Context(), r.client, "ann@example.com"

		client.Enqueue(ctx, SendEmail{To: to},
			kiln.Queue("emails"),
			kiln.Delay(10*time.Minute),
			kiln.MaxAttempts(5),
			kiln.Tags{"welcome"},
			kiln.Title("Welcome email for "+to),
		)

		rec := r.want(1, kiln.Scheduled)
		if rec.Queue != "emails" || rec.MaxAttempts != 5 || !slices.Equal(rec.Tags, []string{"welcome"}) || rec.Title != "Welcome email for ann@example.com" {
			t.Errorf("stored %+v", rec)
		}
		if wait := rec.RunAt.Sub(rec.CreatedAt); wait != 10*time.Minute {
			t.Errorf("scheduled for %s after the enqueue", wait)
		}
	})
}

// reminder supplies its own defaults, so callers don't repeat them.
type reminder struct{ To string }

func (reminder) Kind() string { return "reminder" }
func (r reminder) Title() string {
	return "Reminder for " + r.To
}
func (reminder) InsertOptions() []kiln.InsertOption {
	return []kiln.InsertOption{kiln.Queue("emails"), kiln.MaxAttempts(5)}
}

func TestSampleArgsSupplyDefaults(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		if _, err := r.client.Enqueue(t.Context(), reminder{To: "Ann"}, kiln.MaxAttempts(3)); err != nil {
			t.Fatal(err)
		}
		if rec := r.job(1); rec.Queue != "emails" || rec.MaxAttempts != 3 || rec.Title != "Reminder for Ann" {
			t.Errorf("stored %+v", rec)
		}
	})
}

func TestSampleTitlesAndTags(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, client, to := t.Context(), r.client, "ann@example.com"

		client.Enqueue(ctx, SendEmail{To: to}, kiln.Title("Welcome email for "+to), kiln.Tags{"welcome"})

		r.enqueue(kiln.Tags{"other"})
		page, err := client.List(ctx, kiln.JobQuery{State: kiln.Enqueued, Tag: "welcome"})
		if err != nil || len(page.Records) != 1 || page.Records[0].Title != "Welcome email for ann@example.com" {
			t.Errorf("jobs tagged welcome: %+v, %v", page.Records, err)
		}
	})
}

func TestSampleWeightedPools(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		config :=
			kiln.ServerConfig{Pools: []kiln.Pool{{
				Queues:  []string{"critical", "default", "low"},
				Workers: 20,
				Weights: map[string]int{"critical": 6, "default": 3},
			}}}
		pool :=
			kiln.Pool{Queues: []string{"critical", "default", "low"}, Workers: 20, Weights: map[string]int{"critical": 6, "default": 3, "low": 1}}

		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		for _, queue := range []kiln.Queue{"low", "critical", "default"} {
			r.enqueue(queue)
		}
		first := r.start(config)
		pass(time.Second)
		if s := first.Stats(); s.Capacity != 20 || s.Succeeded != 3 {
			t.Errorf("the pool has %d workers, and ran %d of 3 jobs", s.Capacity, s.Succeeded)
		}
		first.end()
		r.enqueue(kiln.Queue("low"))
		second := r.start(kiln.ServerConfig{Pools: []kiln.Pool{pool}})
		pass(time.Second)
		if s := second.Stats(); s.Capacity != 20 || s.Succeeded != 1 {
			t.Errorf("the pool has %d workers, and ran %d of 1 job", s.Capacity, s.Succeeded)
		}
	})
}

// A kind registered with this backoff and given 12 attempts waits 6 to 12 minutes in all.
func TestSampleRetriesThatOutlastAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var attempts []time.Time
		r.handle(func(context.Context, *kiln.Job[task]) error {
			attempts = append(attempts, time.Now())
			return errors.New("the payment gateway is down")
		}, kiln.Exponential(2*time.Second, 2*time.Minute))
		id := r.enqueue(kiln.MaxAttempts(12))
		r.start(kiln.ServerConfig{})
		pass(20 * time.Minute)
		reasons := append(slices.Repeat([]string{"retry"}, 11), "exhausted")
		r.want(id, kiln.Failed, reasons...)
		if len(attempts) != 12 {
			t.Fatalf("%d attempts", len(attempts))
		}
		// Eleven waits of up to 2, 4, 8, 16, 32, 64 and five times 120 seconds, each drawn from the upper half.
		if took := attempts[11].Sub(attempts[0]); took < 6*time.Minute || took > 12*time.Minute+10*time.Second {
			t.Errorf("12 attempts took %s", took)
		}
	})
}

// "A failed job that you requeue gets all of its attempts again." "A plain success adds no entry."
func TestSampleRequeueStartsOver(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		works := false
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if works {
				return nil
			}
			return kiln.Permanent(errors.New("no such account"))
		})
		id := r.enqueue(kiln.MaxAttempts(3))
		r.start(kiln.ServerConfig{})
		pass(time.Second)
		r.want(id, kiln.Failed, "permanent")
		works = true
		if n, err := r.client.Requeue(t.Context(), id); n != 1 || err != nil {
			t.Fatalf("requeued %d, %v", n, err)
		}
		pass(time.Second)
		if rec := r.want(id, kiln.Succeeded, "permanent", "requeued"); rec.Attempt != 1 || rec.MaxAttempts != 3 {
			t.Errorf("the requeued job has used %d of %d attempts", rec.Attempt, rec.MaxAttempts)
		}
	})
}

// "client.Delete on a job that is currently processing cancels that job's context.Context on whichever server is running it, with
// kiln.ErrCanceled as the cause. A handler that stops and returns an error is recorded as deleted."
func TestSampleCancellation(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var cause error
		started := make(chan int64, 1)
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			started <- j.ID
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		})
		id := r.enqueue()
		r.start(kiln.ServerConfig{})
		<-started
		if n, err := kiln.NewClient(r.store).Delete(t.Context(), id); n != 1 || err != nil {
			t.Fatalf("deleted %d, %v", n, err)
		}
		pass(time.Second)
		r.want(id, kiln.Deleted, "canceled")
		if cause != kiln.ErrCanceled {
			t.Errorf("the context ended with %v", cause)
		}
	})
}

// "Make handlers idempotent; SetParam keeps checkpoints and idempotency keys across attempts."
func TestSampleCheckpoints(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var pages []int
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			var done int
			if _, err := j.Param("done", &done); err != nil {
				return err
			}
			for page := done + 1; page <= 4; page++ {
				pages = append(pages, page)
				if err := j.SetParam(ctx, "done", page); err != nil {
					return err
				}
				if page == 2 {
					return errors.New("connection reset")
				}
			}
			return nil
		}, kiln.Constant(time.Minute))
		id := r.enqueue()
		r.start(kiln.ServerConfig{})
		pass(2 * time.Minute)
		if rec := r.want(id, kiln.Succeeded, "retry"); rec.Meta["done"] != "4" || rec.Attempt != 2 {
			t.Errorf("meta %q after attempt %d", rec.Meta, rec.Attempt)
		}
		if !slices.Equal(pages, []int{1, 2, 3, 4}) {
			t.Errorf("pages %d were done", pages)
		}
	})
}

// "Every store's transactional writer is a driver.TxWriter, Notify included, so code that runs on more than one store can hold one."
func TestSampleTxWriter(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for _, commit := range []bool{false, true} {
			tx := r.mem.Begin()
			var w driver.TxWriter = tx
			id, err := r.client.EnqueueTx(ctx, w, SendEmail{To: "ann@example.com"})
			if err != nil {
				t.Fatal(err)
			}
			end := map[bool]func() error{false: tx.Rollback, true: tx.Commit}[commit]
			if err := end(); err != nil {
				t.Fatal(err)
			}
			if err := w.Notify(ctx); err != nil {
				t.Error(err)
			}
			if _, err := r.client.Get(ctx, id); errors.Is(err, kiln.ErrNotFound) == commit {
				t.Errorf("committed %t: reading the job gives %v", commit, err)
			}
		}
	})
}

var waiting = []struct{ from, sample, ability string }{
	{"README, Observability", `client := kiln.NewClient(store, kilnotel.EnqueueMiddleware())`, "kilnotel"},
	{"v0.5.0", `store, err := mssqlstore.New(ctx, db)`, "mssqlstore"},
	{"v0.4.0", `unregister, err := kilnotel.Observe(server, store)`, "kilnotel"},
	{"v0.4.0", `store, err := mysqlstore.New(ctx, db, mysqlstore.Bus(redisbus.New(rdb)))`, "mysqlstore"},
	{"v0.4.0", `redisbus.New(rdb)`, "redisbus"},
}

// TestSamplesThatWait keeps the list honest: once the ability is there, the sample has to become a test above.
func TestSamplesThatWait(t *testing.T) {
	there := map[string]bool{}
	for _, file := range parsed(t, false) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					there[receiver(d)+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if typ, ok := spec.(*ast.TypeSpec); ok {
						there[typ.Name.Name] = true
					}
				}
			}
		}
	}
	if !there["Job"] || !there["Job.SetParam"] || !there["Client.Enqueue"] {
		t.Fatalf("what is there was not found: %d names", len(there))
	}
	for _, w := range waiting {
		t.Run(w.from+": "+w.sample, func(t *testing.T) {
			_, err := os.Stat(w.ability)
			if err == nil || there[w.ability] {
				t.Fatalf("%s is there now; make the sample a test", w.ability)
			}
			t.Skip("waits for " + w.ability)
		})
	}
}
