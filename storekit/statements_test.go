package storekit

import (
	"strings"
	"testing"
	"testing/fstest"
)

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func TestParseStatements(t *testing.T) {
	s, err := ParseStatements(files(
		"sql/a.sql", "-- a file about a\n\n-- name: first\n-- why it has this shape\nselect 1\nfrom {prefix}jobs;\n\n-- name: second\nselect '{prefix}'",
		"sql/b.sql", "-- name: third\r\ndelete from {prefix}ready;\r\n",
		"sql/readme.txt", "not SQL",
	), "sql", "app_")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Names(), " "); got != "first second third" {
		t.Errorf("names %q", got)
	}
	for name, want := range map[string]string{
		"first": "select 1\nfrom app_jobs", "second": "select 'app_'", "third": "delete from app_ready",
	} {
		if got := s.SQL(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "fourth") {
			t.Errorf("an unknown name panics with %v, want its name", r)
		}
	}()
	s.SQL("fourth")
}

func TestParseStatementsErrors(t *testing.T) {
	for want, text := range map[string]string{
		"is there twice":   "-- name: a\nselect 1\n-- name: a\nselect 2",
		"is empty":         "-- name: a\n-- only a comment\n-- name: b\nselect 2",
		"before the first": "select 1\n-- name: a\nselect 2",
		"is not of a-z":    "-- name: Some Name\nselect 1",
	} {
		if _, err := ParseStatements(files("sql/a.sql", text), "sql", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
	if _, err := ParseStatements(files(), "sql", ""); err == nil {
		t.Error("an empty folder is no error")
	}
}
