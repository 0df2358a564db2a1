package tidy

import (
	"fmt"
	"go/ast"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The most lines that a Go file may have.
const (
	MaxLines     = 700
	MaxTestLines = 900
)

func checkSizes(t *Tree) []string {
	var broken []string
	for _, name := range t.Names(goFile) {
		most := MaxLines
		if testFile(name) {
			most = MaxTestLines
		}
		if n := strings.Count(t.Files[name], "\n"); n > most {
			broken = append(broken, fmt.Sprintf("%s: %d lines, at most %d", name, n, most))
		}
	}
	return broken
}

// sleeper is the one file outside of tests that may sleep for them: the suite's wait.
const sleeper = "drivertest/clock.go"

func checkSleeps(t *Tree) []string {
	var broken []string
	for _, s := range t.parse(0, func(name string) bool {
		return testFile(name) || path.Dir(name) == "drivertest" && name != sleeper
	}) {
		if s.error != nil {
			broken = append(broken, s.error.Error())
			continue
		}
		clock := timeName(s.file)
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == clock {
					broken = append(broken, s.at(n.Pos(), "a test must wait for a condition or move a clock, not sleep"))
				}
			}
			return true
		})
	}
	return broken
}

// timeName is what a file calls package time, empty when it does not import it.
func timeName(file *ast.File) string {
	for _, spec := range file.Imports {
		if name, _ := strconv.Unquote(spec.Path.Value); name == "time" {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return "time"
		}
	}
	return ""
}

func checkFormat(t *Tree) []string {
	var broken []string
	for _, name := range t.Names(goFile) {
		formatted, err := format.Source([]byte(t.Files[name]))
		switch {
		case err != nil:
			broken = append(broken, fmt.Sprintf("%s: %v", name, err))
		case string(formatted) != t.Files[name]:
			broken = append(broken, name+": not formatted by gofmt")
		}
	}
	return broken
}

// vague are names that say nothing about what a package does.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}

func checkPackageNames(t *Tree) []string {
	var broken []string
	for _, s := range t.parse(0, func(string) bool { return true }) {
		if s.error != nil {
			continue
		}
		name := strings.TrimSuffix(s.file.Name.Name, "_test")
		for _, part := range append(strings.Split(path.Dir(s.name), "/"), name) {
			if slices.Contains(vague, part) {
				broken = append(broken, fmt.Sprintf("%s: %q says nothing about what the package does", s.name, part))
				break
			}
		}
	}
	return broken
}

// machinePath matches an absolute path below a folder of somebody's, on any of the systems that people work on.
var machinePath = regexp.MustCompile(`(^|[^\w.~/-])(/(home|Users|work|root)/\w|[A-Za-z]:\\Users\\)`)

func checkPaths(t *Tree) []string {
	var broken []string
	for _, name := range t.Names(text) {
		if strings.IndexByte(t.Files[name], 0) >= 0 {
			continue // a program that was built here, not a text
		}
		for i, line := range lines(t.Files[name]) {
			if m := machinePath.FindStringSubmatch(line); m != nil {
				broken = append(broken, fmt.Sprintf("%s:%d: %s… is a path of one machine", name, i+1, m[2]))
			}
		}
	}
	return broken
}
