package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// set stores a recurring job of the rig's tasks.
func (r *rig) set(id, spec string, opts ...kiln.RecurringOption) {
	r.t.Helper()
	if err := r.client.SetRecurring(r.t.Context(), id, spec, task{}, opts...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) recurring(id string) driver.Recurring {
	r.t.Helper()
	def, err := r.mem.Recurring(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return def
}

// fired lists the occurrences of the jobs that a recurring job has fired, in the order of their ids.
func (r *rig) fired(id string) []string { return r.allFired()[id] }

// allFired lists them for all recurring jobs.
func (r *rig) allFired() map[string][]string {
	r.t.Helper()
	var records []kiln.Record
	for _, state := range driver.States {
		for cursor := ""; ; {
			page, err := r.mem.Jobs(context.Background(), kiln.JobQuery{State: state, Limit: 500, Cursor: cursor})
			if err != nil {
				r.t.Fatal(err)
			}
			records = append(records, page.Records...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
	}
	slices.SortFunc(records, func(a, b kiln.Record) int { return int(a.ID - b.ID) })
	out := map[string][]string{}
	for _, rec := range records {
		if rec.RecurringID != "" {
			out[rec.RecurringID] = append(out[rec.RecurringID], rec.Meta["kiln.occurrence"])
		}
	}
	return out
}

// wantFired expects a recurring job to have fired n occurrences, the first at begin.
func (r *rig) wantFired(id string, begin time.Time, every time.Duration, n int) {
	r.t.Helper()
	var want []string
	for i := range n {
		want = append(want, begin.Add(time.Duration(i)*every).UTC().Format(time.RFC3339))
	}
	if got := r.fired(id); !slices.Equal(got, want) {
		r.t.Errorf("%s fired %d times: %v, want %d: %v", id, len(got), got, len(want), want)
	}
}

func TestSetRecurringStores(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		pass(90 * time.Second)
		r.set("reports:daily", " 00 07 * jan-DEC ? ", kiln.TZ("America/Sao_Paulo"), kiln.MisfireAll, kiln.Overlap(false), kiln.Queue("mail"),
			kiln.Priority(3), kiln.MaxAttempts(2), kiln.Timeout(1500*time.Microsecond), kiln.Tags{"a"}, kiln.Meta{"k": "v"}, kiln.Tags{"b"}, nil)
		def := r.recurring("reports:daily")
		p := def.Template
		if def.Spec != "0 7 * JAN-DEC *" || def.Location != "America/Sao_Paulo" || def.Misfire != driver.MisfireAll || def.Overlap || def.Paused || def.Group != "" || def.Version != 1 {
			t.Errorf("stored %+v", def)
		}
		if p.Kind != "task" || p.Queue != "mail" || p.Priority != 3 || p.MaxAttempts != 2 || p.Timeout != 2*time.Millisecond || string(p.Args) != `{"N":0}` ||
			!slices.Equal(p.Tags, []string{"a", "b"}) || p.Meta["k"] != "v" {
			t.Errorf("template %+v", p)
		}
		if want := time.Date(2000, 1, 1, 9, 0, 0, 0, time.UTC); !def.NextRunAt.Equal(want) {
			t.Errorf("next run %s, want %s: seven in São Paulo, in summer time", def.NextRunAt, want)
		}
		if counts, _ := r.mem.Counts(t.Context()); counts != (driver.Counts{}) {
			t.Errorf("a definition is no job: %+v", counts)
		}
	})
}

type dated struct{}

func (dated) Kind() string  { return "dated" }
func (dated) Title() string { return "Dated" }
func (dated) InsertOptions() []kiln.InsertOption {
	return []kiln.InsertOption{kiln.Delay(time.Hour), kiln.At(time.Unix(1, 0)), kiln.Queue("own"), kiln.Tags{"own"}, kiln.MaxAttempts(7)}
}

func TestSetRecurringTakesTheArgsOptions(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		if err := r.client.SetRecurring(t.Context(), "dated", "@daily", dated{}, kiln.MaxAttempts(2)); err != nil {
			t.Fatal(err)
		}
		p := r.recurring("dated").Template
		if !p.RunAt.IsZero() || p.Delay != 0 || p.Queue != "own" || p.Title != "Dated" || p.Tags[0] != "own" || p.MaxAttempts != 2 {
			t.Errorf("template %+v", p)
		}
	})
}

// chained is args that wait for another job, which makes no sense again and again.
type chained struct{ option kiln.InsertOption }

func (chained) Kind() string                         { return "chained" }
func (c chained) InsertOptions() []kiln.InsertOption { return []kiln.InsertOption{c.option} }

func TestSetRecurringRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		set := func(id, spec string, opts ...kiln.RecurringOption) error {
			return r.client.SetRecurring(ctx, id, spec, task{}, opts...)
		}
		for want, err := range map[string]error{
			"ID is empty":                      set("", "@daily"),
			`"a b" has ' '`:                    set("a b", "@daily"),
			`".." is a path`:                   set("..", "@daily"),
			"201 bytes, more than 200":         set(strings.Repeat("x", 201), "@daily"),
			`"61 * * * *": minute: 61`:         set("a", "61 * * * *"),
			`"Mars/Olympus" is unknown`:        set("a", "@daily", kiln.TZ("Mars/Olympus")),
			`"Local" is another one`:           set("a", "@daily", kiln.TZ("Local")),
			"TZ is empty":                      set("a", "@daily", kiln.TZ("")),
			"Misfire 3":                        set("a", "@daily", kiln.Misfire(3)),
			"Queue is empty":                   set("a", "@daily", kiln.Queue("")),
			"MaxAttempts 0":                    set("a", "@daily", kiln.MaxAttempts(0)),
			`Spec "0 0 30 2 *" has no time`:    set("a", "0 0 30 2 *"),
			`Spec "0 0 31 2,4 *" has no time`:  set("a", "0 0 31 2,4 *"),
			`"@every 50000h0m0s" has no time`:  set("a", "@every 50000h"),
			"name jobs or a batch":             r.client.SetRecurring(ctx, "a", "@daily", chained{kiln.After{1}}),
			"name jobs or a batch, ":           r.client.SetRecurring(ctx, "a", "@daily", chained{kiln.AfterBatch(1)}),
			"or a batch, which":                r.client.SetRecurring(ctx, "a", "@daily", chained{kiln.InBatch(1)}),
			"a batch, which a":                 r.client.SetRecurring(ctx, "a", "@daily", chained{kiln.Needs{0}}),
			"Args is nil":                      r.client.SetRecurring(ctx, "a", "@daily", nil),
			"Group is empty":                   r.client.SyncRecurring(ctx, ""),
			`Group "a/b" has '/'`:              r.client.SyncRecurring(ctx, "a/b"),
			`1 of 2: kiln: invalid: ID "a" is`: r.client.SyncRecurring(ctx, "g", kiln.RecurringSpec{ID: "a", Spec: "@daily", Args: task{}}, kiln.RecurringSpec{ID: "a", Spec: "@daily", Args: task{}}),
			"1 of 2: recurring job b":          r.client.SyncRecurring(ctx, "g", kiln.RecurringSpec{ID: "a", Spec: "@daily", Args: task{}}, kiln.RecurringSpec{ID: "b", Spec: "x", Args: task{}}),
		} {
			if !errors.Is(err, kiln.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v, want an ErrInvalid with %q", err, want)
			}
		}
		if list, _ := r.mem.Recurrings(ctx); len(list) != 0 {
			t.Errorf("refused definitions were stored: %+v", list)
		}
	})
}

func TestSetRecurringAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		opts := []kiln.RecurringOption{kiln.TZ("Europe/Berlin"), kiln.Timeout(1), kiln.Tags{"\xff"}, kiln.Meta{}}
		r.set("a", "0 7 * * *", opts...)
		first := r.recurring("a")
		pass(time.Hour)
		r.set("a", "0 07 * * *", opts...)
		if again := r.recurring("a"); again.Version != 1 {
			t.Errorf("an identical definition was written again: %+v", again)
		}
		// Any other change keeps the next run.
		r.set("a", "0 7 * * *", kiln.TZ("Europe/Berlin"), kiln.Priority(1))
		if second := r.recurring("a"); second.Version != 2 || second.NextRunAt != first.NextRunAt || second.Template.Priority != 1 || second.Template.Tags != nil {
			t.Errorf("changed to %+v", second)
		}
		// A change of spec or zone moves it, and a pause stays.
		if err := r.client.PauseRecurring(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		r.set("a", "0 7 * * *", kiln.Priority(1))
		if third := r.recurring("a"); !third.Paused || third.NextRunAt.UTC().Hour() != 7 {
			t.Errorf("another zone: %+v", third)
		}
		r.set("a", "30 * * * *", kiln.Priority(1))
		if fourth := r.recurring("a"); !fourth.Paused || !fourth.NextRunAt.Equal(time.Date(2000, 1, 1, 1, 30, 0, 0, time.UTC)) {
			t.Errorf("another spec: %+v", fourth)
		}
	})
}

// TestSetRecurringConflicts lets another process change the definition in between.
func TestSetRecurringConflicts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.set("a", "@daily")
		f := r.faulty(nil)
		busy := func(times int) {
			n := 0
			f.SetRule(func(c faultstore.Call) faultstore.Fault {
				if c.Method == "PutRecurring" && n < times {
					n++
					def := r.recurring("a")
					if err := r.mem.PutRecurring(context.Background(), def); err != nil {
						t.Error(err)
					}
				}
				return faultstore.Fault{}
			})
		}
		busy(2)
		if err := r.client.SetRecurring(t.Context(), "a", "@hourly", task{}); err != nil || r.recurring("a").Spec != "@hourly" {
			t.Errorf("after two conflicts: %v, %+v", err, r.recurring("a"))
		}
		busy(3)
		if err := r.client.SetRecurring(t.Context(), "a", "@weekly", task{}); !errors.Is(err, kiln.ErrConflict) || r.recurring("a").Spec != "@hourly" {
			t.Errorf("after three conflicts: %v, %+v", err, r.recurring("a"))
		}
		busy(1)
		if err := r.client.PauseRecurring(t.Context(), "a"); err != nil || !r.recurring("a").Paused {
			t.Errorf("a pause after a conflict: %v", err)
		}
	})
}

func TestSyncRecurring(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		spec := func(id string) kiln.RecurringSpec { return kiln.RecurringSpec{ID: id, Spec: "@daily", Args: task{}} }
		sync := func(group string, ids ...string) {
			t.Helper()
			var specs []kiln.RecurringSpec
			for _, id := range ids {
				specs = append(specs, spec(id))
			}
			if err := r.client.SyncRecurring(t.Context(), group, specs...); err != nil {
				t.Fatal(err)
			}
		}
		want := func(text string) {
			t.Helper()
			list, err := r.mem.Recurrings(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, def := range list {
				got = append(got, def.ID+"="+def.Group)
			}
			if strings.Join(got, " ") != text {
				t.Errorf("stored are %v, want %s", got, text)
			}
		}
		r.set("free", "@daily")
		sync("one", "a", "b")
		sync("two", "c")
		want("a=one b=one c=two free=")
		sync("one", "b", "d")
		want("b=one c=two d=one free=")
		if v := r.recurring("b").Version; v != 1 {
			t.Errorf("what stayed the same was written %d times", v)
		}
		sync("one", "c") // it moves to the other group
		want("c=one free=")
		r.set("c", "@daily")
		want("c= free=")
		sync("one")
		sync("two")
		want("c= free=")

		// A failed write removes nothing, and leaves what was written before it.
		sync("one", "a", "b")
		f := r.faulty(nil)
		f.SetRule(faultstore.On("PutRecurring", faultstore.Nth(2, faultstore.Fail(errDown))))
		if err := r.client.SyncRecurring(t.Context(), "one", spec("x"), spec("y"), spec("z")); !errors.Is(err, errDown) {
			t.Errorf("got %v", err)
		}
		want("a=one b=one c= free= x=one")
	})
}

func TestRecurringFires(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var late []time.Duration
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, time.Since(j.RunAt))
			return nil
		})
		for range 3 {
			r.start(kiln.ServerConfig{})
		}
		begin := time.Now().UTC()
		r.set("minutely", "* * * * *", kiln.Queue("default"), kiln.Tags{"t"}, kiln.Meta{"k": "v"}, kiln.MaxAttempts(3))
		pass(10*time.Minute + 2*time.Second)
		r.wantFired("minutely", begin.Add(time.Minute), time.Minute, 10)
		if len(late) != 10 {
			t.Fatalf("%d jobs ran", len(late))
		}
		for i, d := range late {
			// The first run is found by polling, the others are known.
			if d < 0 || d > 1200*time.Millisecond || i > 0 && d > 50*time.Millisecond {
				t.Errorf("occurrence %d started %s late", i, d)
			}
		}
		def := r.recurring("minutely")
		rec := r.job(def.LastJobID)
		if rec.RecurringID != "minutely" || rec.Tags[0] != "t" || rec.Meta["k"] != "v" || rec.MaxAttempts != 3 || !rec.RunAt.Equal(def.LastRunAt) ||
			!def.LastRunAt.Equal(begin.Add(10*time.Minute)) || !def.NextRunAt.Equal(begin.Add(11*time.Minute)) {
			t.Errorf("last job %+v of %+v", rec, def)
		}
		if _, has := def.Template.Meta["kiln.occurrence"]; has {
			t.Error("the template has an occurrence")
		}
	})
}

func TestRecurringPauseResumeTriggerRemove(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{})
		begin := time.Now().UTC()
		r.set("a", "* * * * *")
		pass(2*time.Minute + 5*time.Second)
		for range 2 {
			if err := r.client.PauseRecurring(ctx, "a"); err != nil {
				t.Fatal(err)
			}
		}
		paused := r.recurring("a")
		pass(10 * time.Minute)
		r.wantFired("a", begin.Add(time.Minute), time.Minute, 2)
		id, err := r.client.TriggerRecurring(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		rec := r.want(id, kiln.Succeeded)
		if _, has := rec.Meta["kiln.occurrence"]; has || rec.RecurringID != "a" {
			t.Errorf("a triggered job has meta %v and recurring id %q", rec.Meta, rec.RecurringID)
		}
		if after := r.recurring("a"); after.Version != paused.Version || after.NextRunAt != paused.NextRunAt || after.LastJobID != paused.LastJobID {
			t.Errorf("a trigger changed the schedule from %+v to %+v", paused, after)
		}
		for range 2 {
			if err := r.client.ResumeRecurring(ctx, "a"); err != nil {
				t.Fatal(err)
			}
		}
		if v := r.recurring("a").Version; v != paused.Version+1 {
			t.Errorf("version %d after a pause at %d and two resumes", v, paused.Version)
		}
		pass(2 * time.Minute)
		got := r.fired("a")
		if len(got) != 5 || got[3] != begin.Add(13*time.Minute).Format(time.RFC3339) {
			t.Errorf("fired %v: what was missed while it was paused is dropped", got)
		}
		if err := r.client.RemoveRecurring(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Minute)
		if n := len(r.fired("a")); n != 5 {
			t.Errorf("%d jobs after the removal, want the 5 from before", n)
		}
		_, triggerErr := r.client.TriggerRecurring(ctx, "a")
		for what, err := range map[string]error{
			"RemoveRecurring": r.client.RemoveRecurring(ctx, "a"), "PauseRecurring": r.client.PauseRecurring(ctx, "a"),
			"ResumeRecurring": r.client.ResumeRecurring(ctx, "a"), "TriggerRecurring": triggerErr,
		} {
			if !errors.Is(err, kiln.ErrNotFound) {
				t.Errorf("%s of an unknown id: %v", what, err)
			}
		}
	})
}

func TestRecurringMisfires(t *testing.T) {
	for _, c := range []struct {
		policy kiln.Misfire
		spec   string
		down   time.Duration
		want   int
		first  time.Duration
	}{
		{kiln.MisfireOnce, "*/10 * * * *", 65 * time.Minute, 1, 60 * time.Minute},
		{kiln.MisfireSkip, "*/10 * * * *", 65 * time.Minute, 0, 0},
		{kiln.MisfireSkip, "*/10 * * * *", 60*time.Minute + 30*time.Second, 1, 60 * time.Minute},
		{kiln.MisfireAll, "*/10 * * * *", 65 * time.Minute, 6, 10 * time.Minute},
		{kiln.MisfireAll, "* * * * *", 6*time.Hour + 30*time.Second, 360, time.Minute},
		{kiln.MisfireOnce, "* * * * * *", 20 * 24 * time.Hour, 1, 1<<20*time.Second + time.Second},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
				begin := time.Now().UTC()
				r.set("a", c.spec, c.policy)
				pass(c.down)
				r.start(bystander)
				pass(time.Millisecond)
				if err := r.client.PauseRecurring(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				step := 10 * time.Minute
				if c.spec == "* * * * *" {
					step = time.Minute
				}
				r.wantFired("a", begin.Add(c.first), step, c.want)
				def := r.recurring("a")
				if !def.NextRunAt.After(begin.Add(c.down)) {
					t.Errorf("next run %s is not after %s", def.NextRunAt, begin.Add(c.down))
				}
				if c.want == 0 != def.LastRunAt.IsZero() {
					t.Errorf("last run %s after %d jobs", def.LastRunAt, c.want)
				}
			})
		})
	}
}

func TestNothingFiresWithoutMaintenance(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		r.start(kiln.ServerConfig{DisableMaintenance: true})
		r.set("a", "* * * * *")
		pass(time.Hour)
		if got := r.fired("a"); len(got) != 0 {
			t.Errorf("fired %v", got)
		}
	})
}

// TestRecurringMiddleware pins that what a leader fires goes through the client's middleware, one recurring job at a time, and that
// one that the middleware refuses does not stop the others.
func TestRecurringMiddleware(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		var mu sync.Mutex
		seen := map[string]int{}
		client := kiln.NewClient(r.store, func(next kiln.EnqueueFunc) kiln.EnqueueFunc {
			return func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]driver.Inserted, error) {
				id := jobs[0].RecurringID
				switch id {
				case "refused":
					return nil, errors.New("not today")
				case "panics":
					panic("oh")
				case "kept":
					return make([]driver.Inserted, len(jobs)), nil
				}
				if jobs[0].Meta == nil {
					jobs[0].Meta = map[string]string{}
				}
				jobs[0].Meta["trace"] = id
				out, err := next(ctx, w, jobs)
				mu.Lock()
				defer mu.Unlock()
				seen[id]++
				if err != nil || len(out) != 1 || out[0].ID == 0 {
					t.Errorf("the writer returned %+v, %v", out, err)
				}
				return out, err
			}
		})
		for _, id := range []string{"a", "refused", "b", "panics", "c", "kept"} {
			r.set(id, "*/10 * * * *")
		}
		r.startOn(client, kiln.ServerConfig{})
		pass(10*time.Minute + 5*time.Second)
		for _, id := range []string{"a", "b", "c"} {
			if r.fired(id) == nil || seen[id] != 1 || r.job(r.recurring(id).LastJobID).Meta["trace"] != id {
				t.Errorf("%s fired %v, seen %v", id, r.fired(id), seen)
			}
		}
		for _, id := range []string{"refused", "panics"} {
			if def := r.recurring(id); len(r.fired(id)) != 0 || def.Version != 1 {
				t.Errorf("%s: %+v", id, def)
			}
		}
		if def := r.recurring("kept"); len(r.fired("kept")) != 0 || def.Version != 2 {
			t.Errorf("a middleware that keeps the job: %+v", def)
		}
		id, err := client.TriggerRecurring(t.Context(), "a")
		if err != nil || id == 0 {
			t.Errorf("trigger with a job without meta: %d, %v", id, err)
		}
	})
}

// TestRecurringMiddlewareThatHangs pins that middleware which does not come to an end keeps back its own recurring job alone, and
// that what comes to the writer too late is not written.
func TestRecurringMiddlewareThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
		hang := true
		release := make(chan struct{})
		late := make(chan error, 2)
		client := kiln.NewClient(r.store, func(next kiln.EnqueueFunc) kiln.EnqueueFunc {
			return func(ctx context.Context, w driver.Writer, jobs []driver.InsertParams) ([]driver.Inserted, error) {
				switch {
				case hang && jobs[0].RecurringID == "before":
					<-release
					out, err := next(ctx, w, jobs)
					late <- err
					return out, err
				case hang && jobs[0].RecurringID == "after":
					out, err := next(ctx, w, jobs)
					<-release
					return out, err
				}
				return next(ctx, w, jobs)
			}
		})
		for _, id := range []string{"a", "after", "b", "before"} {
			r.set(id, "*/10 * * * *")
		}
		r.startOn(client, kiln.ServerConfig{})
		pass(10*time.Minute + 20*time.Second)
		for id, want := range map[string]int{"a": 1, "b": 1, "after": 1, "before": 0} {
			if got := r.fired(id); len(got) != want {
				t.Errorf("%s fired %v, want %d", id, got, want)
			}
		}
		hang = false
		close(release)
		pass(time.Second)
		if err := <-late; err == nil || !strings.Contains(err.Error(), "did not come to an end") {
			t.Errorf("the writer told the late one %v", err)
		}
		pass(2 * time.Minute)
		for _, id := range []string{"a", "b", "after", "before"} {
			if got := r.fired(id); len(got) != 1 {
				t.Errorf("%s fired %v", id, got)
			}
		}
	})
}

// TestRecurringWithoutBlocks pins that a store which cannot fire blocks is asked step by step.
func TestRecurringWithoutBlocks(t *testing.T) {
	for _, middleware := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *rig) {
			f := faultstore.Wrap(r.mem, nil)
			r.on(deaf{f})
			r.handle(func(context.Context, *kiln.Job[task]) error { return nil })
			client := r.client
			if middleware {
				client = kiln.NewClient(r.store, func(next kiln.EnqueueFunc) kiln.EnqueueFunc { return next })
			}
			begin := time.Now().UTC()
			for _, id := range []string{"a", "b", "c"} {
				r.set(id, "* * * * *")
			}
			r.spoil("b", func(def *driver.Recurring) { def.Template.MaxAttempts = 0 })
			r.startOn(client, kiln.ServerConfig{})
			pass(5*time.Minute + 5*time.Second)
			r.wantFired("a", begin.Add(time.Minute), time.Minute, 5)
			r.wantFired("b", begin, time.Minute, 0)
			r.wantFired("c", begin.Add(time.Minute), time.Minute, 5)
			if f.Calls("Fire") < 15 || f.Calls("FireMany") != 0 {
				t.Errorf("%d single fires, %d blocks", f.Calls("Fire"), f.Calls("FireMany"))
			}
		})
	}
}
