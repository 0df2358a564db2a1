package sqlitestore

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// childEnv names what a child process of a test is to do, and on which file.
const childEnv = "KILN_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if job, path, ok := strings.Cut(os.Getenv(childEnv), " "); ok {
		child(job, path)
		return
	}
	os.Exit(m.Run())
}

// child works on a file and writes a line to standard output for each thing that was acknowledged.
func child(job, path string) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(full)")
	if err == nil {
		var s *Store
		if s, err = New(ctx, db); err == nil {
			switch job {
			case "churn":
				err = churn(ctx, s)
			case "once":
				_, err = insertOne(s, "default")
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// churn inserts, claims and finishes for ever, from several goroutines.
func churn(ctx context.Context, s *Store) error {
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	failed := make(chan error)
	for range 3 {
		go func() {
			for {
				jobs := plainJobs(1 + rand.IntN(20))
				jobs[0].Deadline = time.Now().Add(time.Hour)
				out, err := s.Insert(ctx, jobs)
				if err != nil {
					failed <- err
				}
				for _, o := range out {
					say("inserted %d", o.ID)
				}
			}
		}()
	}
	for range 2 {
		go func() {
			for {
				jobs, err := s.Claim(ctx, driver.ClaimQuery{Queues: []string{"default"}, Limit: 20, Server: "child"})
				if err != nil {
					failed <- err
				}
				outs := make([]driver.Outcome, len(jobs))
				for i, j := range jobs {
					say("claimed %d %d", j.ID, j.Claim)
					outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Succeeded}
					switch rand.IntN(4) {
					case 0:
						outs[i] = driver.Outcome{Ref: j.Ref, State: driver.Enqueued, Reason: "retry", Error: "again"}
					case 1:
						outs[i].Output = []byte(`{"x":1}`)
					}
				}
				results, err := s.Finish(ctx, "child", outs)
				if err != nil {
					failed <- err
				}
				for i, r := range results {
					if r == driver.Applied && outs[i].State == driver.Succeeded {
						say("succeeded %d", outs[i].ID)
					}
				}
			}
		}()
	}
	return <-failed
}

// startChild runs the test binary as a child on a file.
func startChild(t *testing.T, job, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+job+" "+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// TestKill kills a child in the middle of its writes, several times on the same file. What it was told is done is done, and
// the file is whole.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	told := map[int64]string{}
	claims := map[int64]int32{}
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		cmd, lines := startChild(t, "churn", path)
		stop := 50 + rand.IntN(2000)
		for n := 0; lines.Scan(); n++ {
			if n == stop {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			var id int64
			var claim int32
			var what string
			fmt.Sscan(lines.Text(), &what, &id, &claim)
			switch what {
			case "claimed":
				claims[id] = max(claims[id], claim)
			case "succeeded", "inserted":
				if told[id] != "succeeded" {
					told[id] = what
				}
			}
		}
		_ = cmd.Wait() // it was killed
		if len(told) == 0 {
			t.Fatal("the child did nothing")
		}
		t.Logf("round %d: killed after %d lines, %d jobs so far", round, stop, len(told))
		judge(t, path, told, claims)
	}
}

// judge opens the file and compares it with what the child was told.
func judge(t *testing.T, path string, told map[int64]string, claims map[int64]int32) {
	t.Helper()
	ctx := context.Background()
	db := openPool(t, path)
	defer db.Close()
	var verdict string
	if err := db.QueryRow("pragma integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity_check says %q, %v", verdict, err)
	}
	s := newStore(t, db)
	defer s.Close()
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
	for id, what := range told {
		rec, err := s.Job(ctx, id)
		if err != nil {
			t.Fatalf("job %d, %s, is lost: %v", id, what, err)
		}
		if what == "succeeded" && rec.State != driver.Succeeded {
			t.Errorf("job %d was reported as succeeded and is %s", id, rec.State)
		}
		if rec.Claim < claims[id] {
			t.Errorf("job %d was handed out under claim %d and stands at %d", id, claims[id], rec.Claim)
		}
	}
}

// TestRealProcess wakes a subscriber of this process by an insert of another.
func TestRealProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	s := newStore(t, openPool(t, path))
	events := subscribed(t, s)
	cmd, lines := startChild(t, "once", path)
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	events.wait(t, driver.Event{Kind: driver.JobsReady, Queue: "default"})
	checked(t, s, 1)
}
