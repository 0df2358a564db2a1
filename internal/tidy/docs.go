package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"path"
	"regexp"
	"strings"
)

// checkDocs looks at every exported function, method, type, interface method, constant and variable of every package that
// can be imported, and for a comment on each package.
func checkDocs(t *Tree) []string {
	var broken []string
	documented := make(map[string]bool)
	first := make(map[string]string)
	for _, s := range t.parse(parser.ParseComments, func(name string) bool { return !testFile(name) }) {
		if s.error != nil {
			broken = append(broken, s.error.Error())
			continue
		}
		dir := path.Dir(s.name)
		if first[dir] == "" {
			first[dir] = s.name
		}
		documented[dir] = documented[dir] || s.file.Doc != nil
		if s.file.Name.Name == "main" {
			continue
		}
		for _, decl := range s.file.Decls {
			broken = append(broken, undocumented(&s, decl)...)
		}
	}
	for dir, name := range first {
		if !documented[dir] {
			broken = append(broken, name+": no file of the package has a package comment")
		}
	}
	return broken
}

func undocumented(s *source, decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []string{s.at(d.Pos(), "%s is exported and has no comment", d.Name.Name)}
		}
	case *ast.GenDecl:
		var broken []string
		for _, spec := range d.Specs {
			broken = append(broken, undocumentedSpec(s, d, spec)...)
		}
		return broken
	}
	return nil
}

func undocumentedSpec(s *source, d *ast.GenDecl, spec ast.Spec) []string {
	var broken []string
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return nil
		}
		if spec.Doc == nil && d.Doc == nil {
			broken = append(broken, s.at(spec.Pos(), "%s is exported and has no comment", spec.Name.Name))
		}
		// The comment of an interface with one method says what the method does.
		if i, ok := spec.Type.(*ast.InterfaceType); ok && len(i.Methods.List) > 1 {
			for _, m := range i.Methods.List {
				if len(m.Names) > 0 && m.Names[0].IsExported() && m.Doc == nil && m.Comment == nil {
					broken = append(broken, s.at(m.Pos(), "%s.%s has no comment", spec.Name.Name, m.Names[0].Name))
				}
			}
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
				broken = append(broken, s.at(name.Pos(), "%s is exported and has no comment", name.Name))
			}
		}
	}
	return broken
}

// exportedReceiver says that a function is none of an unexported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// link matches the target of a Markdown link or image, without a title.
var link = regexp.MustCompile(`\]\(<?([^)\s>]+)>?[^)]*\)`)

// checkLinks follows the links of Markdown files to other files of the tree. Code is left out.
func checkLinks(t *Tree) []string {
	var broken []string
	for _, name := range t.Names(func(name string) bool { return path.Ext(name) == ".md" }) {
		fenced := false
		for i, line := range lines(t.Files[name]) {
			if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
				fenced = !fenced
			}
			if fenced {
				continue
			}
			for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
				if target := linkedFile(name, m[1]); target != "" && !t.Has(target) {
					broken = append(broken, fmt.Sprintf("%s:%d: the link to %s leads nowhere", name, i+1, m[1]))
				}
			}
		}
	}
	return broken
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	scheme     = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)
)

// linkedFile is the path that a link means, empty when it leaves the tree or stays in its own file.
func linkedFile(from, target string) string {
	target, _, _ = strings.Cut(target, "#")
	switch {
	case target == "", scheme.MatchString(target), strings.HasPrefix(target, "//"):
		return ""
	case strings.HasPrefix(target, "/"):
		return path.Clean(target[1:])
	}
	return path.Join(path.Dir(from), target)
}

func checkChangelog(t *Tree) []string {
	text, ok := t.Files["CHANGELOG.md"]
	switch {
	case !ok:
		return []string{"CHANGELOG.md: missing"}
	case !strings.Contains(text, "\n## Unreleased\n"):
		return []string{"CHANGELOG.md: has no section \"## Unreleased\""}
	}
	return nil
}
