package drivertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// goldenFile lists the skips that a store's author accepted, relative to the folder of the test.
const goldenFile = "testdata/skips.golden"

const goldenHead = "# Cases of drivertest that this store skips, and why. KILN_UPDATE_GOLDEN=1 writes this file.\n"

// skips collects what a run visited and what it skipped.
type skips struct {
	mu sync.Mutex
	// visited has every case that was reached, with the reason for which it was skipped, empty if it ran.
	visited map[string]string
}

func newSkips() *skips { return &skips{visited: map[string]string{}} }

// visit notes that a case runs.
func (s *skips) visit(name string) { s.note(name, "") }

// skip notes that a case is skipped, and skips it.
func (s *skips) skip(t *testing.T, name, reason string) {
	t.Helper()
	s.note(name, reason)
	t.Skip(reason)
}

func (s *skips) note(name, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visited[name] = reason
}

// compare holds the skips against the golden file, where there is one.
func (s *skips) compare(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(goldenFile)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		t.Errorf("reading the list of accepted skips: %v", err)
		return
	}
	listed, err := parseSkips(string(text))
	if err != nil {
		t.Errorf("%s: %v", goldenFile, err)
		return
	}
	if os.Getenv("KILN_UPDATE_GOLDEN") == "1" {
		if err := writeSkips(s.merge(listed)); err != nil {
			t.Errorf("writing the list of accepted skips: %v", err)
		}
		return
	}
	if missing {
		return
	}
	for _, complaint := range s.judge(listed, allNames()) {
		t.Errorf("%s: %s (KILN_UPDATE_GOLDEN=1 accepts it)", goldenFile, complaint)
	}
}

// judge says what is wrong with the list, looking only at cases that were visited and at names that no case has.
func (s *skips) judge(listed map[string]string, known map[string]bool) []string {
	var out []string
	for name, reason := range s.visited {
		accepted, ok := listed[name]
		switch {
		case reason != "" && !ok:
			out = append(out, fmt.Sprintf("%s was skipped (%s) and is not listed", name, reason))
		case reason == "" && ok:
			out = append(out, fmt.Sprintf("%s is listed as skipped and ran", name))
		case reason != accepted:
			out = append(out, fmt.Sprintf("%s was skipped for %q and is listed for %q", name, reason, accepted))
		}
	}
	for name := range listed {
		if !known[name] {
			out = append(out, fmt.Sprintf("%s is listed and no case has this name", name))
		}
	}
	slices.Sort(out)
	return out
}

// merge is the list after this run: what was visited as it was seen, the rest as it was listed, as long as it exists.
func (s *skips) merge(listed map[string]string) map[string]string {
	out := map[string]string{}
	known := allNames()
	for name, reason := range listed {
		if _, seen := s.visited[name]; !seen && known[name] {
			out[name] = reason
		}
	}
	for name, reason := range s.visited {
		if reason != "" {
			out[name] = reason
		}
	}
	return out
}

// allNames has the full name of every case, written or not.
func allNames() map[string]bool {
	out := map[string]bool{}
	for _, g := range groups() {
		for _, c := range g.cases {
			out[g.name+"/"+c.name] = true
		}
	}
	for _, p := range pending {
		out[p.group+"/"+p.name] = true
	}
	return out
}

// parseSkips reads lines of a name, a colon and a reason.
func parseSkips(text string) (map[string]string, error) {
	out := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("line %d is not of the form \"Group/Case: reason\": %q", i+1, line)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("line %d names %s a second time", i+1, name)
		}
		out[name] = reason
	}
	return out, nil
}

// writeSkips writes the list in the order of the suite's groups, and by name inside of one.
func writeSkips(list map[string]string) error {
	var b strings.Builder
	b.WriteString(goldenHead)
	for _, g := range groups() {
		var names []string
		for name := range list {
			if strings.HasPrefix(name, g.name+"/") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&b, "%s: %s\n", name, list[name])
		}
	}
	if err := os.MkdirAll(filepath.Dir(goldenFile), 0o777); err != nil {
		return err
	}
	return os.WriteFile(goldenFile, []byte(b.String()), 0o666)
}
