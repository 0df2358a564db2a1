package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Rule is one thing that must hold everywhere.
type Rule struct {
	// Name says what must hold.
	Name string
	// Check returns what breaks the rule, as "file: what".
	Check func(*Tree) []string
}

// Rules lists all rules.
func Rules() []Rule {
	return []Rule{
		{"packages import only what the table allows", checkImports},
		{"the root module requires nothing", checkRootModule},
		{"modules name one Go version and replace only what is beside them", checkModuleFiles},
		{"modules.txt, go.work and the folders with a go.mod agree", checkModuleList},
		{"files are short", checkSizes},
		{"tests do not sleep", checkSleeps},
		{"stores have the same files", checkStores},
		{"exported identifiers are documented", checkDocs},
		{"Go files are formatted", checkFormat},
		{"packages are named for what they do", checkPackageNames},
		{"no file names a path of one machine", checkPaths},
		{"links in the documentation lead somewhere", checkLinks},
		{"the changelog has a place for what is not released yet", checkChangelog},
	}
}

// Tree is the files of a checkout.
type Tree struct {
	// Files maps slash-separated paths to contents.
	Files map[string]string
}

// skipped are folders that hold nothing of ours.
var skipped = []string{".git", "node_modules", "vendor"}

// Load reads a tree.
func Load(root fs.FS) (*Tree, error) {
	t := &Tree{Files: make(map[string]string)}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(skipped, d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(root, name)
		t.Files[name] = string(text)
		return err
	})
	return t, err
}

// Names lists the files that match, sorted.
func (t *Tree) Names(match func(name string) bool) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.Files)) {
		if match(name) {
			names = append(names, name)
		}
	}
	return names
}

// Has reports whether name is a file or a folder with files in it.
func (t *Tree) Has(name string) bool {
	name = path.Clean(name)
	if _, ok := t.Files[name]; ok || name == "." {
		return true
	}
	for file := range t.Files {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// goFile says that a file is Go code of ours. Files under testdata may be wrong on purpose.
func goFile(name string) bool {
	return path.Ext(name) == ".go" && !slices.Contains(strings.Split(path.Dir(name), "/"), "testdata")
}

func testFile(name string) bool { return strings.HasSuffix(name, "_test.go") }

// text says that a file is meant to be read by people.
func text(name string) bool {
	switch path.Ext(name) {
	case ".go", ".md", ".sql", ".txt", ".yaml", ".yml", ".sh", ".mod", ".work", ".html", ".css", ".js", ".json", ".golden", "":
		return true
	}
	return false
}

func lines(text string) []string { return strings.Split(text, "\n") }

// source is a parsed Go file.
type source struct {
	name  string
	fset  *token.FileSet
	file  *ast.File
	error error
}

// parse parses the Go files that match.
func (t *Tree) parse(mode parser.Mode, match func(name string) bool) []source {
	var out []source
	for _, name := range t.Names(func(name string) bool { return goFile(name) && match(name) }) {
		s := source{name: name, fset: token.NewFileSet()}
		s.file, s.error = parser.ParseFile(s.fset, name, t.Files[name], mode|parser.SkipObjectResolution)
		out = append(out, s)
	}
	return out
}

func (s *source) at(pos token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.name, s.fset.Position(pos).Line, fmt.Sprintf(format, args...))
}
