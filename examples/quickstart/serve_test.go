package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
)

// TestServe runs the program with -serve: it does its work, stays, shows its jobs, runs one that is sent back by hand, and ends well.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		write(t, filepath.Join(dir, "data", fmt.Sprint(i)), "text\n")
	}
	t.Chdir(dir)
	o, err := parse([]string{"-serve=127.0.0.1:0", "data"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, o, stdout, t.Output())
		stdout.Close()
	}()
	lines := bufio.NewScanner(out)
	next := func(prefix string) string {
		t.Helper()
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), prefix) {
			cancel()
			t.Fatalf("the program prints %q, want %q…; it ended with %v", lines.Text(), prefix, <-ended)
		}
		return strings.TrimPrefix(lines.Text(), prefix)
	}
	url := next("The dashboard is at ")
	next("3 files: 3 succeeded, 0 failed, in ")
	next("Ctrl+C ends the program.")

	var done struct{ Jobs []struct{ ID int64 } }
	fetch(t, url+"api/jobs/succeeded?kind="+kind, &done)
	if len(done.Jobs) != 3 {
		t.Fatalf("the dashboard lists %d jobs that have succeeded, want 3", len(done.Jobs))
	}
	job := fmt.Sprintf("%sapi/jobs/%d", url, done.Jobs[0].ID)
	resp, err := http.Post(job+"/requeue", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Fatalf("requeue answers %s", resp.Status)
	}
	await(t, "the job has run again", func() bool {
		var again struct {
			State   kiln.State
			History []struct{ Reason string }
		}
		fetch(t, job, &again)
		return again.State == kiln.Succeeded && len(again.History) == 1 && again.History[0].Reason == "requeued"
	})
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// fetch reads JSON.
func fetch(t *testing.T, url string, into any) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s, %v", url, resp.Status, err)
	}
}

func TestServeFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string]address{"": "", "-serve": defaultAddress, "-serve=:9000": ":9000", "-serve=false": ""} {
		if o, err := parse(strings.Fields(args), io.Discard); err != nil || o.serve != want {
			t.Errorf("%q serves on %q, %v", args, o.serve, err)
		}
	}
	for args, text := range map[string]string{
		"-serve=9000":           "missing port",
		"-serve 127.0.0.1:9000": "-serve=127.0.0.1:9000",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: error %v does not contain %q", args, err, text)
		}
	}
}
