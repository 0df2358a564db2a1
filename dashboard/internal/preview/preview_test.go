package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/dashboard"
)

var update = flag.Bool("update", false, "write the golden pages anew")

// TestPages compares every page with its golden file, in both languages. The themes differ in one attribute.
func TestPages(t *testing.T) {
	r, err := newRenderer(dashboard.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range shown {
		for _, language := range []string{"en", "pt-BR"} {
			body := r.get(page.path, language, "light")
			golden(t, page.name+"."+language+".html", body)
			if len(body) > 100_000 {
				t.Errorf("%s has %d bytes; with the assets it must stay below 150 KB", page.name, len(body))
			}
			dark := r.get(page.path, language, "dark")
			same := strings.NewReplacer(`data-theme="dark"`, `data-theme="light"`, `content="dark"`, `content="light"`)
			if plain(same.Replace(dark)) != plain(body) {
				t.Errorf("%s differs by more than its theme", page.name)
			}
		}
	}
}

// TestReadOnly pins that who may only look sees no control.
func TestReadOnly(t *testing.T) {
	r, err := newRenderer(dashboard.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range shown {
		if body := r.get(page.path, "en", "light"); strings.Contains(body, `method="post"`) || strings.Contains(body, `name="id"`) {
			t.Errorf("%s has controls", page.name)
		}
	}
}

// themeChoice is the entry of the menu that is marked as chosen.
var themeChoice = regexp.MustCompile(` aria-current="true">(Light|Dark|Claro|Escuro)<`)

func plain(body string) string { return themeChoice.ReplaceAllString(body, ">$1<") }

// hashes are in the names of assets, and change with each change of them.
var hashes = regexp.MustCompile(`(/assets/\w+)\.[0-9a-f]{10}\.`)

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = hashes.ReplaceAllString(got, "$1.HASH.")
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	old, now := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(old), len(now)) {
		if old[i] != now[i] {
			t.Errorf("%s, line %d:\n have %.600s\n want %.600s\nIf that is meant: go test ./dashboard/internal/preview -update", name, i+1, now[i], old[i])
			return
		}
	}
	t.Errorf("%s has %d lines, the golden file %d", name, len(now), len(old))
}
