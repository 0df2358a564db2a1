package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// write makes a file, and the folders above it.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// start parses the arguments and runs the program once in the folder, which becomes the working directory.
func start(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Chdir(dir)
	var out, errs bytes.Buffer
	o, err := parse(args, &errs)
	if err != nil {
		return "", errs.String(), err
	}
	err = run(t.Context(), o, &out, &errs)
	return out.String(), errs.String(), err
}

// await polls until done, and fails the test after a time in which nothing that works could still be waiting.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited too long until %s", what)
		case <-tick.C:
		}
	}
}

// report reads report.csv back, by path.
func report(t *testing.T, dir string) map[string][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "report.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows[0], ","); got != "path,state,bytes,lines,sha256" {
		t.Errorf("header %q", got)
	}
	out := map[string][]string{}
	for _, row := range rows[1:] {
		if out[row[0]] != nil {
			t.Errorf("path %q stands twice", row[0])
		}
		out[row[0]] = row[1:]
	}
	return out
}

// want is the row of a file that was read.
func want(content string, lines int) string {
	sum := sha256.Sum256([]byte(content))
	return fmt.Sprintf("succeeded %d %d %s", len(content), lines, hex.EncodeToString(sum[:]))
}

var lastLine = regexp.MustCompile(`(?m)^(\d+) files: (\d+) succeeded, (\d+) failed, in \S+\n\z`)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	contents := map[string]struct {
		text  string
		lines int
	}{
		"empty":               {"", 0},
		"one line":            {"a\n", 1},
		"unterminated":        {"a\nb", 2},
		"only newlines":       {"\n\n\n", 3},
		"sub/deep/x.txt":      {"hello", 1},
		"with, comma\"quote":  {"1\n", 1},
		"=cmd":                {"2\n", 1},
		"+plus":               {"3\n", 1},
		"-minus":              {"4\n", 1},
		"@at":                 {"5\n", 1},
		"sub/=not first":      {"6\n", 1},
		"ünï çödé 漢":          {"7\n", 1},
		"percent%20?and#hash": {"8\n", 1},
		"large":               {strings.Repeat("x\n", 100_000), 100_000},
	}
	if runtime.GOOS == "linux" {
		contents["broken \xff utf-8"] = struct {
			text  string
			lines int
		}{"9\n", 1}
	}
	for name, c := range contents {
		write(t, filepath.Join(dir, name), c.text)
	}
	write(t, filepath.Join(dir, ".git", "HEAD"), "ref")
	write(t, filepath.Join(dir, "sub", ".git", "config"), "x")
	if err := os.Symlink("one line", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub", filepath.Join(dir, "linked folder")); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := start(t, dir)
	if err != nil || stderr != "" {
		t.Fatalf("%v, stderr %q", err, stderr)
	}
	if m := lastLine.FindStringSubmatch(stdout); m == nil || m[1] != strconv.Itoa(len(contents)) || m[2] != m[1] || m[3] != "0" {
		t.Errorf("output %q", stdout)
	}
	rows := report(t, dir)
	for name, c := range contents {
		shown := name
		if strings.ContainsRune("=+-@", rune(name[0])) {
			shown = "'" + name
		}
		if got := strings.Join(rows[shown], " "); got != want(c.text, c.lines) {
			t.Errorf("%q: %q, want %q", name, got, want(c.text, c.lines))
		}
		delete(rows, shown)
	}
	if len(rows) != 0 {
		t.Errorf("files that should have been left out: %v", rows)
	}
}

// TestSecondStart pins that a finished folder is only reported again, and that new files are added.
func TestSecondStart(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data", "a"), "first\n")
	if _, _, err := start(t, dir, "data"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "data", "a"), "changed\n")
	if err := os.Remove(filepath.Join(dir, "report.csv")); err != nil {
		t.Fatal(err)
	}
	stdout, _, err := start(t, dir, "data")
	if err != nil || !strings.HasPrefix(stdout, "1 files: 1 succeeded, 0 failed, in ") {
		t.Fatalf("%v, output %q", err, stdout)
	}
	if got := strings.Join(report(t, dir)["a"], " "); got != want("first\n", 1) {
		t.Errorf("a file that was done ran again: %q", got)
	}
	write(t, filepath.Join(dir, "data", "b"), "new\n")
	if _, _, err := start(t, dir, "data"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(report(t, dir)["b"], " "); got != want("new\n", 1) {
		t.Errorf("a new file: %q", got)
	}
	// Another folder in the same database has a report of its own.
	write(t, filepath.Join(dir, "other", "c"), "c\n")
	if stdout, _, err := start(t, dir, "other"); err != nil || !strings.HasPrefix(stdout, "1 files: ") {
		t.Errorf("%v, output %q", err, stdout)
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data", "good"), "x\n")
	write(t, filepath.Join(dir, "data", "bad"), "y\n")
	t.Chdir(dir)
	o, err := parse([]string{"data"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	// The file disappears after it was listed: permissions would not stop root.
	bad := filepath.Join(o.folder, "bad")
	first := o
	first.workers = 1
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, first, os.Stdout, os.Stderr); err == nil {
		t.Fatal("a canceled start succeeded")
	}
	prepare(t, o)
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	stdout, _, err := start(t, dir, "data")
	if err != nil || !strings.HasPrefix(stdout, "2 files: 1 succeeded, 1 failed, in ") {
		t.Fatalf("%v, output %q", err, stdout)
	}
	if got := strings.Join(report(t, dir)["bad"], " "); got != "failed   " {
		t.Errorf("row %q", got)
	}
}

func TestBadCommandLines(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "")
	for text, args := range map[string][]string{
		"no such file":                  {"missing"},
		"file is not a folder":          {"file"},
		"one folder at most, not 2":     {".", "."},
		"-workers 0 is below 1":         {"-workers", "0"},
		`invalid value "x"`:             {"-workers", "x"},
		"flag provided but not defined": {"-nope"},
		"no/such/folder":                {"-db", "no/such/folder/jobs.db"},
	} {
		if _, _, err := start(t, dir, args...); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: error %v does not contain %q", args, err, text)
		}
	}
}

func TestTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(filepath.Join(dir, "jobs.db"+lockSuffix))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := start(t, dir); err == nil || !strings.Contains(err.Error(), "another quickstart") {
		t.Errorf("a second start: %v", err)
	}
	unlock()
	if _, _, err := start(t, dir); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
}
