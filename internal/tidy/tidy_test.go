package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRepository checks the checkout that the test runs in.
func TestRepository(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(root, "@") {
		t.Skip("a module from the module cache is not the whole repository")
	}
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, broken := range rule.Check(tree) {
				t.Error(broken)
			}
		})
	}
}

// sound is a small repository that breaks no rule.
func sound() map[string]string {
	return map[string]string{
		"go.mod":                          "module " + Module + "\n\ngo 1.26.0\n",
		"go.work":                         "go 1.26.0\n\nuse (\n\t.\n\t./pgstore\n\t./sqlitestore\n\t./proof\n)\n",
		"modules.txt":                     "# folder, fate\n. released\npgstore released\nsqlitestore released\nproof unreleased\n",
		"doc.go":                          "// Package kiln runs jobs.\npackage kiln\n",
		"CHANGELOG.md":                    "# Changelog\n\n## Unreleased\n",
		"README.md":                       "See the [changes](CHANGELOG.md#top), [stores](sqlitestore), [site](https://example.com/x) and [below](#below).\n",
		"driver/store.go":                 "// Package driver is the contract.\npackage driver\n\nimport \"time\"\n\n// Wait waits.\nfunc Wait() { time.Sleep(1) }\n",
		"driver/store_test.go":            "package driver\n\nimport \"time\"\n\nvar start = time.Now()\n",
		"pgstore/go.mod":                  "module " + Module + "/pgstore\n\ngo 1.26.0\n\nrequire " + Module + " v0.0.0\n\nreplace " + Module + " => ../\n",
		"pgstore/store.go":                "// Package pgstore keeps jobs.\npackage pgstore\n\nimport _ \"" + Module + "/driver\"\n",
		"pgstore/listen.go":               "package pgstore\n",
		"pgstore/sql/claim.sql":           "-- name: claim\n",
		"pgstore/testdata/extras.golden":  "# name: reason\nlisten.go: a connection of its own\n",
		"sqlitestore/go.mod":              "module " + Module + "/sqlitestore\n\ngo 1.26.0\n\nreplace (\n\t" + Module + " => ../\n)\n",
		"sqlitestore/store.go":            "// Package sqlitestore keeps jobs.\npackage sqlitestore\n\nimport _ \"modernc.org/sqlite/lib\"\n",
		"sqlitestore/sql/claim.sql":       "-- name: claim\n",
		"proof/go.mod":                    "module " + Module + "/proof\n\ngo 1.26.0\n",
		"proof/proof.go":                  "// Package proof proves.\npackage proof\n\nimport _ \"example.com/anything\"\n",
		"driver/testdata/broken.go":       "package common ;;; time.Sleep",
		"node_modules/x/common/common.go": "package common",
		"proof/testdata/module/go.mod":    "module other\n",
		"proof/proof":                     "\x7fELF\x00 /" + "home/ann",
	}
}

func load(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestSoundTreeBreaksNothing(t *testing.T) {
	tree := load(t, sound())
	for _, rule := range Rules() {
		for _, broken := range rule.Check(tree) {
			t.Errorf("%s: %s", rule.Name, broken)
		}
	}
}

// planted has, for each rule, files that break it when they are put into the sound tree, and what the rule must say. An empty
// text removes the file.
var planted = map[string][]struct{ file, text, want string }{
	"packages import only what the table allows": {
		{"driver/x.go", "package driver\n\nimport _ \"" + Module + "/storekit\"\n", "driver/x.go:3: driver must not import " + Module + "/storekit"},
		{"driver/x_test.go", "package driver\n\nimport _ \"" + Module + "/memstore\"\n", "driver/x_test.go:3: driver must not import"},
		{"driver/x.go", "package driver\n\nimport _ \"github.com/google/uuid\"\n", "driver must not import github.com/google/uuid"},
		{"driver/x.go", "package driver\n\nimport \"C\"\n", "driver must not import C"},
		{"doc.go", "package kiln\n\nimport _ \"" + Module + "/sqlitestore\"\n", ". must not import"},
		{"sqlitestore/x.go", "package sqlitestore\n\nimport _ \"" + Module + "/drivertest\"\n", "sqlitestore must not import"},
		{"sqlitestore/x.go", "package sqlitestore\n\nimport _ \"modernc.org/sqlitex\"\n", "must not import modernc.org/sqlitex"},
		{"newthing/x.go", "package newthing\n", "package newthing is not in the tables"},
		{"driver/x.go", "package\n", "driver/x.go:1"},
	},
	"the root module requires nothing": {
		{"go.mod", "module " + Module + "\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/google/uuid v1.6.0\n)\n", "go.mod:6: the root module must stay without require"},
		{"go.mod", "module " + Module + "\n\ngo 1.26.0\n\nrequire github.com/google/uuid v1.6.0\n", "go.mod:5"},
		{"go.mod", "module " + Module + "\n\ngo 1.26.0\n\ntool golang.org/x/tools/cmd/goimports\n", "without tool"},
		{"go.sum", "x", "go.sum: a module without"},
		{"go.mod", "", "go.mod: missing"},
	},
	"modules name one Go version and replace only what is beside them": {
		{"proof/go.mod", "module " + Module + "/proof\n\ngo 1.25.0\n", "proof/go.mod: says go 1.25.0, want go 1.26.0"},
		{"proof/go.mod", "module " + Module + "/proof\n", "proof/go.mod: says go , want"},
		{"proof/go.mod", "module " + Module + "/prof\n\ngo 1.26.0\n", "proof/go.mod:1: module " + Module + "/prof, want"},
		{"proof/go.mod", "module " + Module + "/proof\n\ngo 1.26.0\n\ntoolchain go1.26.1\n", "a toolchain line"},
		{"proof/go.mod", "module " + Module + "/proof\n\ngo 1.26.0\n\nreplace example.com/x => example.com/y v1.0.0\n", "replace by v1.0.0"},
		{"proof/go.mod", "module " + Module + "/proof\n\ngo 1.26.0\n\nreplace example.com/x => ../gone\n", "replace by ../gone"},
	},
	"modules.txt, go.work and the folders with a go.mod agree": {
		{"redisbus/go.mod", "module " + Module + "/redisbus\n\ngo 1.26.0\n", "go.work: the module in redisbus is missing"},
		{"redisbus/go.mod", "module " + Module + "/redisbus\n\ngo 1.26.0\n", "modules.txt: the module in redisbus is missing"},
		{"proof/go.mod", "", "go.work: there is no module in proof"},
		{"proof/go.mod", "", "modules.txt: there is no module in proof"},
		{"modules.txt", ". released\npgstore released\nsqlitestore released\nproof released\n", "modules.txt:4: proof is listed as released"},
		{"modules.txt", ".\npgstore released\nsqlitestore released\nproof unreleased\n", "modules.txt:1: want a folder and"},
		{"modules.txt", ". released\n. released\npgstore released\nsqlitestore released\nproof unreleased\n", "modules.txt: . is listed twice"},
		{"go.work", "go 1.25.0\n\nuse .\nuse ./pgstore\nuse ./sqlitestore\nuse ./proof\n", "go.work:1: says go 1.25.0"},
		{"go.work", "", "go.work: the module in . is missing"},
		{"modules.txt", "", "modules.txt: the module in . is missing"},
	},
	"files are short": {
		{"driver/x.go", "package driver\n" + strings.Repeat("\n", MaxLines), "driver/x.go: 701 lines, at most 700"},
		{"driver/x_test.go", "package driver\n" + strings.Repeat("\n", MaxTestLines), "driver/x_test.go: 901 lines, at most 900"},
	},
	"tests do not sleep": {
		{"driver/x_test.go", "package driver\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", "driver/x_test.go:5: a test must wait"},
		{"driver/x_test.go", "package driver\n\nimport t \"time\"\n\nfunc f() { t.Sleep(1) }\n", "driver/x_test.go:5"},
		{"driver/x_test.go", "package driver\n\nimport \"time\"\n\nvar wait = time.Sleep\n", "driver/x_test.go:5"},
		{"drivertest/x.go", "package drivertest\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", "drivertest/x.go:5"},
		{"driver/x_test.go", "package\n", "driver/x_test.go:1"},
	},
	"stores have the same files": {
		{"sqlitestore/claim.go", "package sqlitestore\n", "sqlitestore/claim.go: pgstore has no such file"},
		{"pgstore/migrations/002_more.sql", "x", "pgstore/migrations/002_more.sql: sqlitestore has no such file"},
		{"pgstore/sql/claim.sql", "", "sqlitestore/sql/claim.sql: pgstore has no such file"},
		{"pgstore/testdata/extras.golden", "listen.go: x\nstore.go: x\n", "extras.golden: every store has store.go"},
		{"pgstore/testdata/extras.golden", "listen.go: x\ngone.go: x\n", "extras.golden: there is no gone.go"},
		{"pgstore/testdata/extras.golden", "listen.go\n", "extras.golden:1: want a file name"},
	},
	"exported identifiers are documented": {
		{"driver/x.go", "package driver\n\nfunc F() {}\n", "driver/x.go:3: F is exported"},
		{"driver/x.go", "package driver\n\ntype T int\n", "driver/x.go:3: T is exported"},
		{"driver/x.go", "package driver\n\nconst C = 1\n", "driver/x.go:3: C is exported"},
		{"driver/x.go", "package driver\n\nvar a, V = 1, 2\n", "driver/x.go:3: V is exported"},
		{"driver/x.go", "package driver\n\n// T is.\ntype T[V any] struct{}\n\nfunc (t *T[V]) M() {}\n", "driver/x.go:6: M is exported"},
		{"driver/x.go", "package driver\n\n// T is.\ntype T interface {\n\tM()\n\tN() // N is.\n}\n", "driver/x.go:5: T.M has no comment"},
		{"cron/x.go", "package cron\n", "cron/x.go: no file of the package"},
		{"driver/x.go", "package\n", "driver/x.go:1"},
	},
	"Go files are formatted": {
		{"driver/x.go", "package driver\nvar  x = 1\n", "driver/x.go: not formatted"},
		{"driver/x.go", "package\n", "driver/x.go:"},
	},
	"packages are named for what they do": {
		{"internal/util/x.go", "package text\n", `internal/util/x.go: "util" says nothing`},
		{"internal/text/x.go", "package helpers\n", `"helpers" says nothing`},
		{"internal/common/text/x.go", "package text\n", `"common" says nothing`},
		{"proof/x_test.go", "package utils_test\n", `"utils" says nothing`},
	},
	"no file names a path of one machine": {
		{"README.md", "Run it in /" + "home/ann/kiln.\n", "README.md:1: /" + "home/a… is a path"},
		{"driver/x.go", "package driver\n\nvar dir = \"/" + "Users/ann\"\n", "driver/x.go:3"},
		{"test", "cd /" + "work/kiln\n", "test:1"},
		{".ci/run", "cd /" + "root/kiln\n", ".ci/run:1"},
		{"README.md", `In C:` + `\Users\ann.`, "README.md:1"},
	},
	"links in the documentation lead somewhere": {
		{"docs/en/x.md", "\n[there](gone.md)\n", "docs/en/x.md:2: the link to gone.md leads nowhere"},
		{"docs/en/x.md", "[there](../../README.md) ![img](pic.png \"title\")\n", "the link to pic.png"},
		{"docs/en/x.md", "[there](/docs/gone.md#part)\n", "the link to /docs/gone.md#part"},
		{"docs/en/x.md", "```\n[code](a.md)\n```\n`[code](b.md)` [there](c.md)\n", "x.md:4: the link to c.md"},
	},
	"the changelog has a place for what is not released yet": {
		{"CHANGELOG.md", "# Changelog\n\n## v1.0.0\n", "CHANGELOG.md: has no section"},
		{"CHANGELOG.md", "", "CHANGELOG.md: missing"},
	},
}

func TestPlantedViolationsAreFound(t *testing.T) {
	for _, rule := range Rules() {
		if len(planted[rule.Name]) == 0 {
			t.Errorf("no violation is planted for the rule %q", rule.Name)
		}
		for i, p := range planted[rule.Name] {
			t.Run(fmt.Sprintf("%s/%d", rule.Name, i), func(t *testing.T) {
				files := sound()
				if files[p.file] = p.text; p.text == "" {
					delete(files, p.file)
				}
				got := rule.Check(load(t, files))
				for _, broken := range got {
					if strings.Contains(broken, p.want) {
						return
					}
				}
				t.Errorf("with %s the rule says %q, want something with %q", p.file, got, p.want)
			})
		}
	}
}

// The code inside of fences and backquotes is not a link.
func TestCodeIsNoLink(t *testing.T) {
	files := sound()
	files["docs/x.md"] = "```\n[code](a.md)\n```\n`[code](b.md)`\n"
	if got := checkLinks(load(t, files)); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}
