package tidy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// GoVersion is the version that every go.mod names.
const GoVersion = "1.26.0"

// directive is one line of a go.mod or go.work file: its verb and the rest, with blocks in parentheses unfolded.
type directive struct {
	verb, rest string
	line       int
}

func directives(text string) []directive {
	var out []directive
	block := ""
	for i, line := range lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case block != "" && fields[0] == ")":
			block = ""
		case block != "":
			out = append(out, directive{block, strings.Join(fields, " "), i + 1})
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
		default:
			out = append(out, directive{fields[0], strings.Join(fields[1:], " "), i + 1})
		}
	}
	return out
}

func goModFiles(t *Tree) []string {
	return t.Names(func(name string) bool {
		return path.Base(name) == "go.mod" && !slices.Contains(strings.Split(name, "/"), "testdata")
	})
}

func checkRootModule(t *Tree) []string {
	text, ok := t.Files["go.mod"]
	if !ok {
		return []string{"go.mod: missing"}
	}
	var broken []string
	for _, d := range directives(text) {
		if d.verb != "module" && d.verb != "go" {
			broken = append(broken, fmt.Sprintf("go.mod:%d: the root module must stay without %s", d.line, d.verb))
		}
	}
	if _, ok := t.Files["go.sum"]; ok {
		broken = append(broken, "go.sum: a module without requirements has none")
	}
	return broken
}

func checkModuleFiles(t *Tree) []string {
	var broken []string
	for _, name := range goModFiles(t) {
		dir := path.Dir(name)
		version := ""
		for _, d := range directives(t.Files[name]) {
			switch d.verb {
			case "go":
				version = d.rest
			case "module":
				if want := path.Join(Module, dir); d.rest != want {
					broken = append(broken, fmt.Sprintf("%s:%d: module %s, want %s", name, d.line, d.rest, want))
				}
			case "toolchain":
				broken = append(broken, fmt.Sprintf("%s:%d: a toolchain line would force users to download one", name, d.line))
			case "replace":
				target := d.rest[strings.LastIndex(d.rest, " ")+1:]
				if !strings.HasPrefix(target, "../") || !t.Has(path.Join(dir, target, "go.mod")) {
					broken = append(broken, fmt.Sprintf("%s:%d: replace by %s, which is no module of this repository", name, d.line, target))
				}
			}
		}
		if version != GoVersion {
			broken = append(broken, fmt.Sprintf("%s: says go %s, want go %s", name, version, GoVersion))
		}
	}
	return broken
}

// checkModuleList compares the three places that list the modules. A line of modules.txt is a folder and what becomes of it:
// "released" modules are tested as users get them, "unreleased" ones only inside of the workspace.
func checkModuleList(t *Tree) []string {
	var broken []string
	var folders, work, listed []string
	for _, name := range goModFiles(t) {
		folders = append(folders, path.Dir(name))
	}
	for _, d := range directives(t.Files["go.work"]) {
		switch d.verb {
		case "use":
			work = append(work, path.Clean(d.rest))
		case "go":
			if d.rest != GoVersion {
				broken = append(broken, fmt.Sprintf("go.work:%d: says go %s, want go %s", d.line, d.rest, GoVersion))
			}
		}
	}
	for i, line := range lines(t.Files["modules.txt"]) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		listed = append(listed, fields[0])
		if len(fields) != 2 || fields[1] != "released" && fields[1] != "unreleased" {
			broken = append(broken, fmt.Sprintf("modules.txt:%d: want a folder and released or unreleased", i+1))
			continue
		}
		if unreleased := slices.Contains(free, fields[0]); unreleased != (fields[1] == "unreleased") {
			broken = append(broken, fmt.Sprintf("modules.txt:%d: %s is listed as %s", i+1, fields[0], fields[1]))
		}
	}
	for _, list := range []struct {
		name    string
		modules []string
	}{{"go.work", work}, {"modules.txt", listed}} {
		for _, dir := range folders {
			if !slices.Contains(list.modules, dir) {
				broken = append(broken, fmt.Sprintf("%s: the module in %s is missing", list.name, dir))
			}
		}
		for i, dir := range list.modules {
			if !slices.Contains(folders, dir) {
				broken = append(broken, fmt.Sprintf("%s: there is no module in %s", list.name, dir))
			}
			if slices.Contains(list.modules[:i], dir) {
				broken = append(broken, fmt.Sprintf("%s: %s is listed twice", list.name, dir))
			}
		}
	}
	return broken
}
