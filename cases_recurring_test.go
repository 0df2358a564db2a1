package kiln_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// until lets virtual time pass up to an instant.
func until(t *testing.T, text string) {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil {
		t.Fatal(err)
	}
	pass(time.Until(at))
}

// spoil changes a stored definition as nobody could through a client.
func (r *rig) spoil(id string, edit func(*driver.Recurring)) {
	r.t.Helper()
	def := r.recurring(id)
	edit(&def)
	if err := r.mem.PutRecurring(context.Background(), def); err != nil {
		r.t.Fatal(err)
	}
}

// logBuffer is a log that tests read while servers write.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) count(words ...string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for line := range strings.Lines(b.text.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			n++
		}
	}
	return n
}

func (b *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// A time in the gap of the spring change runs once, at the end of the gap, also on a whole cluster.
func TestCaseB067(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		until(t, "2026-03-08T06:58:00Z")
		r.start(kiln.ServerConfig{})
		r.start(kiln.ServerConfig{})
		r.set("nightly", "30 2 * * *", kiln.TZ("America/New_York"))
		if at := r.recurring("nightly").NextRunAt; !at.Equal(time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC)) {
			t.Errorf("due at %s", at)
		}
		pass(3 * time.Hour)
		if got := r.fired("nightly"); !slices.Equal(got, []string{"2026-03-08T07:00:00Z"}) {
			t.Errorf("fired %v", got)
		}
	})
}

// A time in the repeated hour runs once, also when the leader changes between its two copies.
func TestCaseB068(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		until(t, "2026-11-01T05:20:00Z")
		r.set("nightly", "30 1 * * *", kiln.TZ("America/New_York"))
		first := r.start(kiln.ServerConfig{})
		pass(50 * time.Minute)
		first.end()
		r.start(kiln.ServerConfig{})
		pass(5 * time.Hour)
		if got := r.fired("nightly"); !slices.Equal(got, []string{"2026-11-01T05:30:00Z"}) {
			t.Errorf("fired %v", got)
		}
		if at := r.recurring("nightly").NextRunAt; !at.Equal(time.Date(2026, 11, 2, 6, 30, 0, 0, time.UTC)) {
			t.Errorf("next at %s", at)
		}
	})
}

// No schedule stops the others: neither one whose local time does not exist, nor one that cannot be read.
func TestCaseB070(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		until(t, "2016-03-13T07:59:00Z")
		for i := range 19 {
			r.set(fmt.Sprintf("utc-%d", i), "*/10 * * * *")
		}
		r.set("chicago", "30 2 * * *", kiln.TZ("America/Chicago"))
		var log logBuffer
		r.start(kiln.ServerConfig{Logger: log.logger()})
		pass(62 * time.Minute)
		all := func(round int) {
			t.Helper()
			for i := range 19 {
				if got := r.fired(fmt.Sprintf("utc-%d", i)); len(got) != round {
					t.Errorf("utc-%d fired %v", i, got)
				}
			}
		}
		all(7)
		if got := r.fired("chicago"); !slices.Equal(got, []string{"2016-03-13T08:00:00Z"}) {
			t.Errorf("chicago fired %v", got)
		}
		r.spoil("chicago", func(def *driver.Recurring) { def.Spec, def.NextRunAt = "at noon", time.Now() })
		pass(10 * time.Minute)
		all(8)
		if n := log.count("chicago", "at noon"); n < 9 || n > 12 {
			t.Errorf("the bad one was reported %d times in ten minutes", n)
		}
		if n := log.count("utc-"); n != 0 {
			t.Errorf("%d reports about others", n)
		}
		// Once it can be read again, it fires.
		r.spoil("chicago", func(def *driver.Recurring) { def.Spec = "*/10 * * * *" })
		pass(2 * time.Minute)
		if n := len(r.fired("chicago")); n != 2 {
			t.Errorf("chicago fired %d times", n)
		}
	})
}

// More unreadable schedules than one listing holds do not keep the others from their turn.
func TestManyUnreadableSchedules(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		for i := range 250 {
			id := fmt.Sprintf("bad-%d", i)
			r.set(id, "@hourly")
			r.spoil(id, func(def *driver.Recurring) { def.Location, def.NextRunAt = "Mars/Olympus", time.Unix(1, 0) })
		}
		for i := range 250 {
			r.set(fmt.Sprintf("good-%d", i), "* * * * *")
		}
		f := r.faulty(nil)
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{})
		pass(10*time.Minute + 5*time.Second)
		fired := r.allFired()
		for i := range 250 {
			if n := len(fired[fmt.Sprintf("good-%d", i)]); n != 10 {
				t.Fatalf("good-%d fired %d times in ten minutes", i, n)
			}
		}
		if n := f.Calls("Due"); n > 10*60*3 {
			t.Errorf("%d listings in ten minutes", n)
		}
		if n := f.Calls("FireMany"); n > 10*5 || f.Calls("Fire") != 0 {
			t.Errorf("%d blocks for 2500 fires", n)
		}
	})
}

// An unknown zone is refused at once, and one that a server cannot load later is reported and never taken for UTC.
func TestCaseB076(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		err := r.client.SetRecurring(t.Context(), "a", "@daily", task{}, kiln.TZ("Mars/Olympus"))
		if err == nil || !strings.Contains(err.Error(), "Mars/Olympus") {
			t.Errorf("got %v", err)
		}
		r.set("mars", "* * * * *")
		r.set("earth", "* * * * *")
		r.spoil("mars", func(def *driver.Recurring) { def.Location = "Mars/Olympus" })
		var log logBuffer
		r.start(kiln.ServerConfig{Logger: log.logger()})
		pass(5*time.Minute + 5*time.Second)
		if a, b := len(r.fired("mars")), len(r.fired("earth")); a != 0 || b != 5 {
			t.Errorf("mars fired %d times, earth %d", a, b)
		}
		if n := log.count("Mars/Olympus", "recurring=mars"); n < 4 {
			t.Errorf("%d reports", n)
		}
	})
}

// Two servers with other time zone data: the run that was stored is the one of its date, and the difference is reported.
func TestCaseB080(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		until(t, "2026-05-10T00:00:00Z")
		r.set("daily", "0 2 * * *")
		r.spoil("daily", func(def *driver.Recurring) { def.NextRunAt = def.NextRunAt.Add(-time.Hour) }) // as another server saw it
		var log logBuffer
		r.start(kiln.ServerConfig{Logger: log.logger(), Retention: kiln.Retention{Succeeded: kiln.Forever}})
		pass(27 * time.Hour)
		if got := r.fired("daily"); !slices.Equal(got, []string{"2026-05-10T01:00:00Z", "2026-05-11T02:00:00Z"}) {
			t.Errorf("fired %v", got)
		}
		if n := log.count("time zone data", "recurring=daily"); n != 1 {
			t.Errorf("the difference was reported %d times", n)
		}
	})
}

// Restarts do not move an interval.
func TestCaseB082(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		begin := time.Now().UTC()
		for range 19 {
			r.set("hourly", "@every 1h")
			s := r.start(kiln.ServerConfig{})
			pass(10 * time.Minute)
			s.end()
		}
		r.wantFired("hourly", begin.Add(time.Hour), time.Hour, 3)
	})
}

// However the leader goes around the due second, each occurrence has exactly one job.
func TestCaseB083(t *testing.T) {
	for _, when := range []time.Duration{-3 * time.Second, -100 * time.Millisecond, 0, 100 * time.Millisecond} {
		for _, kill := range []bool{false, true} {
			t.Run(fmt.Sprint(when, kill), func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
					begin := time.Now().UTC()
					for i := range 5 {
						r.set(fmt.Sprint("job-", i), "* * * * *")
					}
					const rounds = 25
					for n := range rounds {
						f := faultstore.Wrap(r.mem, nil)
						s := r.startOn(kiln.NewClient(f), kiln.ServerConfig{})
						pass(time.Until(begin.Add(time.Duration(n+1)*time.Minute + when)))
						if kill {
							f.SetRule(faultstore.Always(faultstore.Fail(errDown)))
						}
						s.end()
					}
					r.start(kiln.ServerConfig{})
					pass(30 * time.Second)
					for i := range 5 {
						r.wantFired(fmt.Sprint("job-", i), begin.Add(time.Minute), time.Minute, rounds)
					}
				})
			})
		}
	}
}

// Answers of the store that get lost, at any call of the leader, cost no occurrence and double none.
func TestLostAnswersOfFires(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		begin := time.Now().UTC()
		for i := range 5 {
			r.set(fmt.Sprint("job-", i), "* * * * *", kiln.MisfireAll)
		}
		f := r.faulty(func(c faultstore.Call) faultstore.Fault {
			switch {
			case c.Method == "FireMany" && c.Number%3 == 1:
				return faultstore.Lose(errDown)
			case c.Method == "FireMany" && c.Number%3 == 2, c.Method == "Due" && c.Number%4 == 0:
				return faultstore.Fail(errDown)
			}
			return faultstore.Fault{}
		})
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{})
		r.start(kiln.ServerConfig{})
		pass(30*time.Minute + 30*time.Second)
		for i := range 5 {
			r.wantFired(fmt.Sprint("job-", i), begin.Add(time.Minute), time.Minute, 30)
		}
		if f.Calls("FireMany") < 30 {
			t.Errorf("%d blocks", f.Calls("FireMany"))
		}
	})
}

// What a new version does not declare any more is gone with its sync, and the old version does not bring it back.
func TestCaseB085(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		deploy := func(ids ...string) *server {
			t.Helper()
			var specs []kiln.RecurringSpec
			for _, id := range ids {
				specs = append(specs, kiln.RecurringSpec{ID: id, Spec: "* * * * *", Args: task{}})
			}
			if err := r.client.SyncRecurring(t.Context(), "app", specs...); err != nil {
				t.Fatal(err)
			}
			return r.start(kiln.ServerConfig{})
		}
		old := deploy("a", "b")
		pass(5*time.Minute + 10*time.Second)
		deploy("b", "c")
		before := len(r.fired("a"))
		pass(5 * time.Minute)
		old.end()
		pass(5 * time.Minute)
		if a, b, c := len(r.fired("a")), len(r.fired("b")), len(r.fired("c")); a != before || b != 15 || c != 10 {
			t.Errorf("a fired %d times, %d before it was removed, b %d, c %d", a, before, b, c)
		}
	})
}

// A fired job is the job that the same options would enqueue by hand, whoever leads.
func TestCaseB086(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		kiln.Handle(r.mux, func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{Queues: map[string]int{"nothing": 1}}) // it knows neither the type nor the queue
		if err := r.client.SetRecurring(t.Context(), "a", "* * * * *", reminder{To: "Ann"}, kiln.Queue("mail"), kiln.Priority(4),
			kiln.MaxAttempts(2), kiln.Timeout(time.Minute), kiln.Tags{"x"}, kiln.Meta{"k": "v"}, kiln.Limit{Key: "smtp", Max: 5, Rate: 10}); err != nil {
			t.Fatal(err)
		}
		id, err := r.client.Enqueue(t.Context(), reminder{To: "Ann"}, kiln.Queue("mail"), kiln.Priority(4),
			kiln.MaxAttempts(2), kiln.Timeout(time.Minute), kiln.Tags{"x"}, kiln.Meta{"k": "v"}, kiln.Limit{Key: "smtp", Max: 5, Rate: 10})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute + 5*time.Second)
		byHand, fired := r.job(id), r.job(r.recurring("a").LastJobID)
		if fired.RecurringID != "a" || fired.Meta["kiln.occurrence"] == "" {
			t.Errorf("fired %+v", fired)
		}
		delete(fired.Meta, "kiln.occurrence")
		fired.ID, fired.RecurringID, fired.RunAt, fired.CreatedAt = byHand.ID, "", byHand.RunAt, byHand.CreatedAt
		if a, b := fmt.Sprintf("%+v", byHand), fmt.Sprintf("%+v", fired); a != b {
			t.Errorf("by hand\n%s\nfired\n%s", a, b)
		}
	})
}

// Overlap(false) skips a time while the job before is waiting, running or to be retried, and every end of that job frees the next time.
func TestCaseB088(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ends := map[int]func(ctx context.Context, id int64) error{}
		run := 0
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			if j.Attempt == 1 {
				run++
			}
			return ends[run](ctx, j.ID)
		})
		r.start(kiln.ServerConfig{})
		begin := time.Now().UTC()
		// A run that takes three and a half minutes: the times at 2, 3 and 4 are skipped.
		ends[1] = func(context.Context, int64) error { <-time.After(3*time.Minute + 30*time.Second); return nil }
		// One that fails for good at once.
		ends[2] = func(context.Context, int64) error { return kiln.Permanent(fmt.Errorf("no")) }
		// One that is retried: the times while it waits for that are skipped.
		retries := 0
		ends[3] = func(context.Context, int64) error {
			if retries++; retries < 3 {
				return fmt.Errorf("again")
			}
			return nil
		}
		// One that is deleted while it runs.
		ends[4] = func(ctx context.Context, _ int64) error { <-ctx.Done(); return ctx.Err() }
		ends[5] = func(context.Context, int64) error { return nil }
		ends[6] = ends[5]
		r.set("slow", "* * * * *", kiln.Overlap(false))
		pass(6*time.Minute + 30*time.Second)
		minute := func(n int) string { return begin.Add(time.Duration(n) * time.Minute).Format(time.RFC3339) }
		if got := r.fired("slow"); !slices.Equal(got, []string{minute(1), minute(5), minute(6)}) {
			t.Errorf("after six minutes it has fired %v", got)
		}
		def := r.recurring("slow")
		running := def.LastJobID
		if got := r.job(running); got.State.Final() {
			t.Errorf("the third job is %s, want it to wait for its retry", got.State)
		}
		if id, err := r.client.TriggerRecurring(t.Context(), "slow"); err != nil || id != running {
			t.Errorf("a trigger while job %d is live: %d, %v", running, id, err)
		}
		pass(10 * time.Minute)
		fourth := r.recurring("slow").LastJobID
		r.want(running, kiln.Succeeded, "retry", "retry")
		r.want(fourth, kiln.Processing)
		before := len(r.fired("slow"))
		if before != 4 {
			t.Errorf("%d jobs while the fourth runs", before)
		}
		if n, err := r.client.Delete(t.Context(), fourth); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		pass(time.Minute)
		r.want(fourth, kiln.Deleted, "canceled")
		if n := len(r.fired("slow")); n != 5 {
			t.Errorf("%d jobs after the fourth was deleted", n)
		}
		// What was skipped moved the schedule on all the same.
		if def := r.recurring("slow"); !def.NextRunAt.After(time.Now()) {
			t.Errorf("next run %s", def.NextRunAt)
		}
	})
}

// A dead server's job frees the schedule once it was rescued and has ended.
func TestOverlapAfterARescue(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(bystander)
		r.set("a", "* * * * *", kiln.Overlap(false))
		pass(65 * time.Second)
		r.seize("dead", 1, true)
		pass(time.Minute)
		if n := len(r.fired("a")); n != 1 {
			t.Errorf("%d jobs while the first is in a dead server's hands", n)
		}
		r.start(kiln.ServerConfig{})
		pass(3 * time.Minute)
		if got := r.fired("a"); len(got) < 3 || r.job(1).State != kiln.Succeeded {
			t.Errorf("fired %v, the first job is %s", got, r.job(1).State)
		}
	})
}

// What never comes is refused, what comes rarely is found, and a definition without a next run is not due.
func TestCaseB089(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		until(t, "2026-01-01T00:00:00Z")
		for _, spec := range []string{"0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4 *"} {
			if err := r.client.SetRecurring(t.Context(), "a", spec, task{}); err == nil {
				t.Errorf("%s was taken", spec)
			}
		}
		for _, spec := range []string{"0 0 29 2 *", "0 0 29 2 1#5"} {
			r.set("rare", spec)
			if at := r.recurring("rare").NextRunAt; !at.Equal(time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)) {
				t.Errorf("%s: %s", spec, at)
			}
		}
		r.spoil("rare", func(def *driver.Recurring) { def.NextRunAt = time.Time{} })
		r.start(kiln.ServerConfig{})
		pass(time.Hour)
		if got := r.fired("rare"); len(got) != 0 {
			t.Errorf("fired %v", got)
		}
		r.set("rare", "0 0 29 2 1#5") // the same again wakes it
		if r.recurring("rare").NextRunAt.IsZero() {
			t.Error("still without a next run")
		}
	})
}

// Services with other kinds and groups share one leader, which fires all of them.
func TestCaseB092(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		other := kiln.NewMux()
		ran := make(chan int64, 10)
		kiln.Handle(other, func(_ context.Context, j *kiln.Job[reminder]) error { ran <- j.ID; return nil })
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		a := r.start(kiln.ServerConfig{Queues: map[string]int{"a": 1}})
		mine := r.mux
		r.mux = other
		b := r.start(kiln.ServerConfig{Queues: map[string]int{"b": 1}})
		r.mux = mine
		if err := r.client.SyncRecurring(t.Context(), "b", kiln.RecurringSpec{ID: "b", Spec: "* * * * *", Args: reminder{}, Options: []kiln.RecurringOption{kiln.Queue("b")}}); err != nil {
			t.Fatal(err)
		}
		pass(3*time.Minute + 5*time.Second)
		if !a.Stats().Leader || b.Stats().Leader || len(ran) != 3 {
			t.Errorf("leaders %v and %v, %d runs", a.Stats().Leader, b.Stats().Leader, len(ran))
		}
	})
}
