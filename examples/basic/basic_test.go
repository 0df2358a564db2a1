//go:build unix

package main

import (
	"bufio"
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/sqlitestore"
)

// program is the quick start, built once and run in a folder of its own.
type program struct {
	t        *testing.T
	bin, dir string
}

func build(t *testing.T) program {
	t.Helper()
	p := program{t: t, bin: filepath.Join(t.TempDir(), "basic"), dir: t.TempDir()}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return p
}

// runUntil starts the program, interrupts it once it has printed all texts, and expects that it ends well.
func (p program) runUntil(texts ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.bin)
	cmd.Dir = p.dir
	out, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	var printed strings.Builder
	missing := func() (n int) {
		for _, text := range texts {
			if strings.Count(printed.String(), text) == 0 {
				n++
			}
		}
		return n
	}
	interrupted := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if missing() > 0 || interrupted {
			continue
		}
		interrupted = true
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil || missing() > 0 {
		p.t.Fatalf("the program ended with %v and printed\n%swant %q", err, &printed, texts)
	}
}

// view opens the program's file beside it.
func (p program) view() (*sqlitestore.Store, *kiln.Client) {
	p.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.dir, "jobs.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { db.Close() })
	store, err := sqlitestore.New(p.t.Context(), db)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(store.Close)
	return store, kiln.NewClient(store)
}

// TestQuickStart runs the program as its reader does: a job runs right away, Ctrl+C ends the program well, and a second start
// goes on with the same file, with what was left in it.
func TestQuickStart(t *testing.T) {
	p := build(t)
	p.runUntil("sending email to ann@example.com (attempt 1)")

	store, client := p.view()
	left, err := client.Enqueue(t.Context(), SendEmail{To: "bob@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	p.runUntil("sending email to bob@example.com (attempt 1)", "sending email to ann@example.com (attempt 1)")

	for id := int64(1); id <= 3; id++ {
		job, err := client.Get(t.Context(), id)
		if err != nil || job.State != kiln.Succeeded || job.Attempt != 1 || len(job.History) != 0 {
			t.Errorf("job %d is %s after %d attempts with history %+v (%v), want it succeeded at once", id, job.State, job.Attempt, job.History, err)
		}
	}
	if left != 2 {
		t.Errorf("the job enqueued between the starts has id %d", left)
	}
	if n, err := store.Counts(t.Context()); err != nil || n.Succeeded != 3 || n.Processing+n.Enqueued+n.Scheduled+n.Failed+n.Deleted != 0 {
		t.Errorf("counts %+v, %v", n, err)
	}
	if servers, err := store.Servers(t.Context()); err != nil || len(servers) != 0 {
		t.Errorf("servers that ended are still listed: %+v, %v", servers, err)
	}
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("the file is not consistent: %v", err)
	}
}
