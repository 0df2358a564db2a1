//go:build unix

package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/sqlitestore"
)

// view opens the program's database beside it.
func view(t *testing.T, path string) (*sqlitestore.Store, *kiln.Client) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(4)
	t.Cleanup(func() { db.Close() })
	store, err := sqlitestore.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store, kiln.NewClient(store)
}

// prepare enqueues a folder's jobs without running them.
func prepare(t *testing.T, o options) {
	t.Helper()
	_, client := view(t, o.db)
	if _, err := enqueue(t.Context(), client, o, os.Stderr); err != nil {
		t.Fatal(err)
	}
}

// killsEnv sets how often TestKilled kills, 20 times by default.
const killsEnv = "KILN_QUICKSTART_KILLS"

// TestKilled kills the program 20 times with -9 while it works through a folder, between 5 and 95 % of it, and pins that no file
// is lost and that none runs again whose result was recorded.
func TestKilled(t *testing.T) {
	kills := 20
	if s := os.Getenv(killsEnv); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s: %v", killsEnv, err)
		}
	}
	// A start does a hundred files or so before a kill can hit it.
	files := 130 * kills
	dir := t.TempDir()
	bin := filepath.Join(dir, "quickstart")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	contents := map[string]string{}
	for i := range files {
		name := fmt.Sprintf("d%d/f%d", i%40, i)
		contents[name] = strings.Repeat(fmt.Sprintln("line", i), 1+i%7)
		write(t, filepath.Join(dir, "data", name), contents[name])
	}
	run := func() *exec.Cmd {
		cmd := exec.Command(bin, "-workers", "1", "data")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		return cmd
	}
	store, client := view(t, filepath.Join(dir, "jobs.db"))
	succeeded := func() int64 {
		n, err := store.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n.Succeeded
	}
	claims := map[int64]int32{}
	for k := range kills {
		target := int64(files * (5 + 85*k/kills) / 100)
		cmd := run()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		before := succeeded()
		began := time.Now()
		await(t, "the program works again", func() bool { return succeeded() > before })
		again := time.Since(began)
		await(t, fmt.Sprintf("%d files are done", target), func() bool { return succeeded() >= target })
		// A random moment shortly after, so that the kill meets every kind of call.
		<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("the program ended before kill %d of %d, at %d of %d files", k+1, kills, succeeded(), files)
		}
		t.Logf("kill %d at %d files; worked again after %s", k+1, succeeded(), again.Round(time.Millisecond))
		remember(t, client, claims)
	}
	out, err := run().Output()
	if err != nil || !strings.HasPrefix(string(out), fmt.Sprintf("%d files: %d succeeded, 0 failed, in ", files, files)) {
		t.Fatalf("the last start: %v, output %q", err, out)
	}
	if again := remember(t, client, claims); len(again) > 0 {
		t.Errorf("jobs that ran again though their success was recorded: %v", again)
	}
	rows := report(t, dir)
	for name, text := range contents {
		if got := strings.Join(rows[name], " "); got != want(text, strings.Count(text, "\n")) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if len(rows) != files {
		t.Errorf("%d rows for %d files", len(rows), files)
	}
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("the database is not consistent: %v", err)
	}
}

// remember notes under which claim each job succeeded, and returns those that were claimed again since they were noted.
func remember(t *testing.T, client *kiln.Client, claims map[int64]int32) (again []int64) {
	t.Helper()
	seen := map[int64]driver.Ref{}
	q := kiln.JobQuery{State: kiln.Succeeded, Limit: 500}
	for {
		page, err := client.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			seen[r.ID] = r.Ref
			if c, ok := claims[r.ID]; ok && c != r.Claim {
				again = append(again, r.ID)
			}
			if r.Attempt != 1 {
				t.Errorf("job %d used %d attempts, though only kills interrupted it", r.ID, r.Attempt)
			}
			claims[r.ID] = r.Claim
		}
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	for id := range claims {
		if _, ok := seen[id]; !ok {
			again = append(again, id)
		}
	}
	return again
}
