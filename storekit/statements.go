package storekit

import (
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
)

// PrefixMark is what stands in SQL files where the name prefix, or the schema, of an installation belongs.
const PrefixMark = "{prefix}"

// nameMark begins the line that names the statement below it.
const nameMark = "-- name:"

// Statements holds the SQL of a store by name. It is made once and only read afterwards.
type Statements struct {
	text map[string]string
}

// ParseStatements reads the *.sql files of one folder. Each statement stands below a line "-- name: some_name" and ends where
// the next one begins; PrefixMark is replaced by prefix, and nothing else is. Comments above a statement's text and a
// semicolon at its end are dropped. Names are unique across the files.
func ParseStatements(fsys fs.FS, dir, prefix string) (Statements, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.sql"))
	if err != nil {
		return Statements{}, err
	}
	if len(files) == 0 {
		return Statements{}, fmt.Errorf("storekit: no SQL files in %q", dir)
	}
	s := Statements{text: map[string]string{}}
	for _, file := range files {
		b, err := fs.ReadFile(fsys, file)
		if err != nil {
			return Statements{}, err
		}
		if err := s.add(file, strings.ReplaceAll(string(b), PrefixMark, prefix)); err != nil {
			return Statements{}, err
		}
	}
	return s, nil
}

func (s Statements) add(file, text string) error {
	name := ""
	var body []string
	finish := func() error {
		statement := strings.TrimSuffix(strings.TrimSpace(strings.Join(body, "\n")), ";")
		body = body[:0]
		switch {
		case name == "" && statement == "":
			return nil
		case name == "":
			return fmt.Errorf("storekit: %s: SQL before the first %q line", file, nameMark)
		case statement == "":
			return fmt.Errorf("storekit: %s: statement %q is empty", file, name)
		}
		if _, taken := s.text[name]; taken {
			return fmt.Errorf("storekit: %s: statement %q is there twice", file, name)
		}
		s.text[name] = statement
		return nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n\t ")
		if rest, ok := strings.CutPrefix(line, nameMark); ok {
			if err := finish(); err != nil {
				return err
			}
			name = strings.TrimSpace(rest)
			if !validName(name) {
				return fmt.Errorf("storekit: %s: statement name %q is not of a-z, 0-9 and _", file, name)
			}
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(line), "--") {
			continue
		}
		body = append(body, line)
	}
	return finish()
}

func validName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// SQL returns the text of a statement. A name that no file has is a mistake of the store's own and panics; a store's tests
// run every name.
func (s Statements) SQL(name string) string {
	text, ok := s.text[name]
	if !ok {
		panic("storekit: no statement is named " + name)
	}
	return text
}

// Names lists the names of all statements, sorted.
func (s Statements) Names() []string {
	names := make([]string, 0, len(s.text))
	for name := range s.text {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
