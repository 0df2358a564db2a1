package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/sqlitestore"
)

// started is the program while it runs.
type started struct {
	t    *testing.T
	url  string
	stop func() error
}

// start runs the program until stop, and reads the address that it prints.
func start(t *testing.T, o options) *started {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	out, stdout := io.Pipe()
	t.Cleanup(func() { out.Close() })
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, o, stdout, t.Output())
		stdout.CloseWithError(io.EOF)
		ended <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "The dashboard is at ")
	if err != nil || !ok {
		t.Fatalf("the program printed %q (%v) and ended with %v", line, err, <-ended)
	}
	go io.Copy(io.Discard, out)
	return &started{t, url, func() error { cancel(); return <-ended }}
}

func (s *started) get(path string) (int, string) {
	s.t.Helper()
	resp, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestProgram starts the program as its reader does, waits until the dashboard shows work that was done and work that failed, and ends it
// well.
func TestProgram(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := start(t, options{addr: "127.0.0.1:0"})
	if code, body := s.get(""); code != http.StatusOK || !strings.Contains(body, "<title>Overview · shop</title>") {
		t.Fatalf("the overview answers %d:\n%s", code, body)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		var overview struct {
			Counts  struct{ Succeeded, Failed, Scheduled int64 }
			Servers int
		}
		code, body := s.get("api/overview")
		if err := json.Unmarshal([]byte(body), &overview); code != http.StatusOK || err != nil {
			t.Fatalf("the overview's JSON is %d, %v: %s", code, err, body)
		}
		if n := overview.Counts; n.Succeeded > 5 && n.Failed > 0 && n.Scheduled > 0 && overview.Servers == 3 {
			break
		}
		if time.Since(begin) > 45*time.Second {
			t.Fatalf("after a while the overview still says %s", body)
		}
	}
	if err := s.stop(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("it left %v behind (%v)", left, err)
	}
}

// TestFile starts it twice on one file.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a shop.db")
	for range 2 {
		s := start(t, options{addr: "127.0.0.1:0", db: file})
		if code, body := s.get("api/queues"); code != http.StatusOK || !strings.Contains(body, `"name":"wholesale","paused":true`) {
			t.Errorf("the queues answer %d: %s", code, body)
		}
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+strings.ReplaceAll(file, " ", "%20")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := sqlitestore.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("the file is not consistent: %v", err)
	}
	if list, err := store.Recurrings(t.Context()); err != nil || len(list) != 5 {
		t.Errorf("%d recurring jobs, %v", len(list), err)
	}
}

func TestTakenAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = run(t.Context(), options{addr: l.Addr().String()}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("on an address that is taken the program ends with %v", err)
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]options{
		"":                     {addr: "127.0.0.1:8080"},
		"-addr :0 -db shop.db": {addr: ":0", db: "shop.db"},
	} {
		if got, err := parse(strings.Fields(args), io.Discard); got != want || err != nil {
			t.Errorf("%q: %+v, %v", args, got, err)
		}
	}
	if _, err := parse([]string{"shop.db"}, io.Discard); err == nil {
		t.Error("an argument that means nothing is taken")
	}
}
