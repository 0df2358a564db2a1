package kiln_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/internal/faultstore"
)

// said reads the lines of a job, with their attempts.
func (r *rig) said(id int64) []string {
	r.t.Helper()
	lines, err := r.mem.Logs(context.Background(), id, 0, 5000)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, line := range lines {
		out = append(out, fmt.Sprintf("%d %s", line.Attempt, line.Text))
	}
	return out
}

func (r *rig) wantSaid(id int64, want ...string) {
	r.t.Helper()
	if got := r.said(id); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		r.t.Errorf("job %d said %q, want %q", id, got, want)
	}
}

func TestConsoleWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.faulty(nil)
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			for i := range 20 {
				j.Logf("step %d", i)
				j.SetProgress(5 * i)
				<-time.After(100 * time.Millisecond)
			}
			j.Logf("done")
			return nil
		})
		r.start(kiln.ServerConfig{})
		ids := []int64{r.enqueue(), r.enqueue(), r.enqueue()}
		pass(1050 * time.Millisecond)
		for _, id := range ids {
			if n := len(r.said(id)); n < 8 || n > 11 {
				t.Errorf("%d lines are there after a second, of 11 that were said", n)
			}
			if p := r.job(id).Progress; p < 35 || p > 50 {
				t.Errorf("progress %d after a second", p)
			}
		}
		pass(2 * time.Second)
		for _, id := range ids {
			r.want(id, kiln.Succeeded)
			if got := r.said(id); len(got) != 21 || got[0] != "1 step 0" || got[20] != "1 done" {
				t.Errorf("in the end it said %q", got)
			}
		}
		// Two seconds hold eight quarters; then come the ends of three jobs.
		if n := f.Calls("WriteConsoles"); n < 8 || n > 12 {
			t.Errorf("%d writes for three jobs of two seconds", n)
		}
		if n := f.Calls("WriteConsole"); n != 0 {
			t.Errorf("%d single writes to a store that takes many", n)
		}
	})
}

func TestConsoleAttempts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			j.Logf("attempt %d", j.Attempt)
			switch j.Attempt {
			case 1:
				return errors.New("again")
			case 2:
				panic("oh")
			case 3:
				runtime.Goexit()
			}
			return nil
		}, kiln.Constant(time.Second))
		r.start(kiln.ServerConfig{})
		id := r.enqueue()
		pass(10 * time.Second)
		r.want(id, kiln.Succeeded, "retry", "retry", "retry")
		r.wantSaid(id, "1 attempt 1", "2 attempt 2", "3 attempt 3", "4 attempt 4")
	})
}

func TestConsoleIsCut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			if j.Attempt == 1 {
				for i := range 1500 {
					j.Logf("%d", i)
				}
				j.SetProgress(170)
				return errors.New("again")
			}
			j.Logf("%s", strings.Repeat("x", 5000))
			j.Logf("%s", "a"+strings.Repeat("é", 3000))
			j.Logf("line\n")
			j.Logf("two\n\n")
			j.Logf("")
			j.Logf("a\nb")
			j.Logf("%s\n", strings.Repeat("y", 4096))
			j.Logf("\xff\x00")
			j.SetProgress(-3)
			return nil
		}, kiln.Constant(time.Second))
		r.start(kiln.ServerConfig{})
		id := r.enqueue()
		pass(time.Minute)
		got := r.said(id)
		if len(got) != 1001+8 || got[999] != "1 999" || got[1000] != "1 kiln: console truncated" {
			t.Fatalf("%d lines", len(got))
		}
		for i, want := range []string{
			strings.Repeat("x", 4096), "a" + strings.Repeat("é", 2047), "line", "two\n", "", "a\nb", strings.Repeat("y", 4096), "\uFFFD\uFFFD",
		} {
			if line := strings.TrimPrefix(got[1001+i], "2 "); line != want {
				t.Errorf("line %d of the second attempt is %.40q of %d bytes, want %.40q of %d", i, line, len(line), want, len(want))
			}
		}
		if p := r.job(id).Progress; p != 0 {
			t.Errorf("progress %d, want the last one clamped", p)
		}
	})
}

// TestConsoleFailures pins that a store which takes no lines costs no job, and that lines of a job that still runs are tried again.
func TestConsoleFailures(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := r.faulty(nil)
		release := make(chan struct{})
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			j.Logf("first")
			if j.Args.N == 1 {
				<-release
				j.Logf("last")
			}
			return nil
		})
		r.start(kiln.ServerConfig{})
		never := make(chan struct{})
		for name, fault := range map[string]faultstore.Fault{"fails": faultstore.Fail(errDown), "hangs": faultstore.Hang(never)} {
			f.SetRule(faultstore.On("WriteConsoles", faultstore.Always(fault)))
			id := r.enqueue()
			pass(3 * time.Second)
			r.want(id, kiln.Succeeded)
			if got := r.said(id); len(got) != 0 {
				t.Errorf("a store that %s has the lines %q", name, got)
			}
		}
		f.SetRule(faultstore.On("WriteConsoles", faultstore.Always(faultstore.Fail(errDown))))
		id, err := r.client.Enqueue(t.Context(), task{1})
		if err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		f.SetRule(nil)
		pass(6 * time.Second)
		r.wantSaid(id, "1 first")
		close(release)
		pass(time.Second)
		r.want(id, kiln.Succeeded)
		r.wantSaid(id, "1 first", "1 last")
		close(never)
	})
}

// TestConsoleLost pins that a job which the store gave to another server says nothing any more.
func TestConsoleLost(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			j.Logf("mine")
			<-time.After(time.Second)
			j.Logf("not mine")
			<-ctx.Done()
			j.Logf("gone")
			return ctx.Err()
		})
		r.start(kiln.ServerConfig{})
		id := r.enqueue()
		pass(500 * time.Millisecond)
		if _, err := r.mem.Finish(t.Context(), "x", []driver.Outcome{{Ref: r.job(id).Ref, State: kiln.Failed, Reason: "elsewhere"}}); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		r.want(id, kiln.Failed, "elsewhere")
		r.wantSaid(id, "1 mine")
	})
}

// plainConsole is a store that writes one console at a time.
type plainConsole struct {
	driver.Store
	driver.Console
}

func TestConsoleWithoutBatches(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		f := faultstore.Wrap(r.mem, nil)
		r.on(plainConsole{f, f})
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			j.Logf("job %d", j.ID)
			return nil
		})
		r.start(kiln.ServerConfig{})
		ids := []int64{r.enqueue(), r.enqueue(), r.enqueue()}
		pass(3 * time.Second)
		for _, id := range ids {
			r.want(id, kiln.Succeeded)
			r.wantSaid(id, fmt.Sprintf("1 job %d", id))
		}
		if f.Calls("WriteConsole") != 3 {
			t.Errorf("%d writes", f.Calls("WriteConsole"))
		}
	})
}

func TestConsoleOnAStoreWithoutOne(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.on(deaf{r.mem})
		r.handle(func(_ context.Context, j *kiln.Job[task]) error {
			j.Logf("nobody hears it")
			j.SetProgress(10)
			return nil
		})
		r.start(kiln.ServerConfig{})
		id := r.enqueue()
		pass(3 * time.Second)
		r.want(id, kiln.Succeeded)
		r.wantSaid(id)
	})
}

// TestConsoleAtShutdown pins that a server writes the last lines of a job before it leaves.
func TestConsoleAtShutdown(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.handle(func(ctx context.Context, j *kiln.Job[task]) error {
			<-ctx.Done()
			j.Logf("ended by %v", context.Cause(ctx))
			return ctx.Err()
		})
		s := r.start(kiln.ServerConfig{ShutdownTimeout: time.Second})
		id := r.enqueue()
		pass(time.Second)
		s.end()
		r.want(id, kiln.Enqueued, "shutdown")
		r.wantSaid(id, "1 ended by kiln: server shutting down")
	})
}

func TestConsoleOfAJobBuiltByHand(t *testing.T) {
	j := &kiln.Job[task]{ID: 1}
	j.Logf("kept %s", "in memory")
	j.SetProgress(10)
}
