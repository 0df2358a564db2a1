package drivertest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/drivertest"
	"github.com/kilnjobs/kiln/memstore"
)

// mutantVariable tells a child process which wrong store to hold against the contract.
const mutantVariable = "KILN_MUTANT"

// TestChild is what the child processes of the tests below run. By itself it has nothing to do.
func TestChild(t *testing.T) {
	name := os.Getenv(mutantVariable)
	if name == "" {
		t.Skip("this test is run by others, in a process of its own")
	}
	spoil := func(*hooked) {}
	for _, m := range mutants {
		if m.name == name {
			spoil = m.spoil
		}
	}
	drivertest.RunClock(t, func(t *testing.T, now func() time.Time) driver.Store {
		h := &hooked{Store: memstore.New(memstore.Clock(now)), now: now}
		t.Cleanup(h.Close)
		spoil(h)
		if name == "unsupported" {
			h.subscribe = func(context.Context, func(driver.Event)) error {
				return fmt.Errorf("no bus: %w", errors.ErrUnsupported)
			}
		}
		if name == "bare" {
			return struct{ driver.Store }{h} // without any optional interface
		}
		return h
	})
}

// child runs TestChild with a mutant in dir and returns what it printed and whether it passed.
func child(t *testing.T, dir, mutant, run string, env ...string) (output string, passed bool) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run", run)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), mutantVariable+"="+mutant), env...)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatalf("running the child process: %v", err)
	}
	return string(out), err == nil
}

func TestSoundStorePasses(t *testing.T) {
	t.Parallel()
	out, passed := child(t, t.TempDir(), "none", "^TestChild$")
	if !passed {
		t.Errorf("the suite fails a store that nothing was done to:\n%s", out)
	}
}

// TestMutantsAreCaught gives the suite stores with one mistake each and expects it to name the case that pins the sentence
// which the mistake breaks.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out, passed := child(t, t.TempDir(), m.name, "^TestChild$/^"+strings.ReplaceAll(m.caught, "/", "$/^")+"$")
			if passed {
				t.Fatalf("the suite passes a store that %s", m.does)
			}
			if !strings.Contains(out, "--- FAIL: TestChild/"+m.caught+" (") {
				t.Errorf("a store that %s should fail %s; it failed:\n%s", m.does, m.caught, failures(out))
			}
			if !strings.Contains(out, "the contract says: ") {
				t.Errorf("no failure shows the sentence of the contract:\n%s", out)
			}
			for _, bad := range []string{"panic:", "fatal error:", "DATA RACE"} {
				if strings.Contains(out, bad) {
					t.Errorf("the suite did not just fail, there was a %s\n%s", bad, out)
				}
			}
		})
	}
}

// failures are the lines of failed tests in an output.
func failures(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "--- FAIL") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
