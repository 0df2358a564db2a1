package kiln_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// parsed returns the files of this package, tests or not.
func parsed(t *testing.T, tests bool) []*ast.File {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	typ := f.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// Every option has an example, and every example's output is checked and can be run where it is read.
func TestEveryOptionHasAnExample(t *testing.T) {
	examples := map[string]bool{}
	for _, e := range doc.Examples(parsed(t, true)...) {
		examples[e.Name] = true
		if e.Output == "" || e.Play == nil {
			t.Errorf("Example%s: output %q, runs by itself: %t", e.Name, e.Output, e.Play != nil)
		}
	}
	options := 0
	for _, file := range parsed(t, false) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "insert" && f.Name.Name != "handle" || !ast.IsExported(receiver(f)) || receiver(f) == "Client" {
				continue
			}
			options++
			if !examples[receiver(f)] {
				t.Errorf("option %s has no example", receiver(f))
			}
		}
	}
	if options < 10 {
		t.Errorf("only %d options were found", options)
	}
}
