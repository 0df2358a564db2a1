package tidy

import (
	"fmt"
	"go/parser"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the root module; the others are below it.
const Module = "github.com/kilnjobs/kiln"

// imports says which packages of this repository, and of others, each package may import besides the standard library.
// Packages of ours are named by their folders, "." is the root.
var imports = map[string][]string{
	".":          {"driver", "cron", "internal/engine", "internal/trial"},
	"driver":     {},
	"storekit":   {"driver"},
	"cron":       {"driver"},
	"memstore":   {"driver", "storekit"},
	"drivertest": {"driver", "memstore"},
	"kilntest":   {".", "driver", "internal/trial"},
	"dashboard":  {".", "driver", "cron", "dashboard/internal/wallclock"},

	"dashboard/internal/preview":   {".", "driver", "memstore", "dashboard", "dashboard/internal/wallclock"},
	"dashboard/internal/wallclock": {},

	"internal/engine":     {"driver", "cron"},
	"internal/trial":      {"driver"},
	"internal/sim":        {"driver", "memstore", "internal/engine", "internal/faultstore"},
	"internal/faultstore": {"driver", "memstore", "internal/engine"},
	"internal/tidy":       {},
	"pgstore":             {"driver", "storekit", "github.com/jackc/pgx/v5"},

	"pgstore/internal/pgserver":       {},
	"pgstore/internal/pgserver/probe": {"github.com/jackc/pgx/v5"},

	"mysqlstore":  {"driver", "storekit", "github.com/go-sql-driver/mysql"},
	"mssqlstore":  {"driver", "storekit", "github.com/microsoft/go-mssqldb"},
	"sqlitestore": {"driver", "storekit", "modernc.org/sqlite"},
	"redisbus":    {"driver", "github.com/redis/go-redis/v9"},
	"kilnotel":    {".", "driver", "go.opentelemetry.io/otel"},
}

// testImports says what the tests of a package may import besides what the package itself may, and besides itself.
var testImports = map[string][]string{
	".":                   {"memstore", "kilntest", "storekit", "internal/faultstore"},
	"driver":              {},
	"storekit":            {},
	"cron":                {},
	"memstore":            {"drivertest"},
	"drivertest":          {"storekit", "internal/faultstore"},
	"kilntest":            {"memstore"},
	"dashboard":           {"memstore", "kilntest"},
	"internal/engine":     {"memstore", "internal/faultstore"},
	"internal/trial":      {},
	"internal/sim":        {},
	"internal/faultstore": {},
	"internal/tidy":       {},
	"pgstore":             {".", "drivertest", "pgstore/internal/pgserver"},

	"pgstore/internal/pgserver": {"github.com/jackc/pgx/v5"},

	"mysqlstore":  {".", "drivertest"},
	"mssqlstore":  {".", "drivertest"},
	"sqlitestore": {".", "drivertest"},
	"redisbus":    {".", "drivertest"},
	"kilnotel":    {"memstore", "kilntest"},
}

// free are the folders whose packages may import anything: nothing of them is released, and nobody imports them.
var free = []string{"examples", "bench", "soak", "proof"}

func checkImports(t *Tree) []string {
	var broken []string
	for _, s := range t.parse(parser.ImportsOnly, func(string) bool { return true }) {
		dir := path.Dir(s.name)
		if slices.Contains(free, strings.Split(dir, "/")[0]) {
			continue
		}
		if s.error != nil {
			broken = append(broken, s.error.Error())
			continue
		}
		allowed, known := imports[dir]
		if !known {
			broken = append(broken, fmt.Sprintf("%s: package %s is not in the tables of internal/tidy/imports.go", s.name, dir))
			continue
		}
		if testFile(s.name) {
			allowed = slices.Concat(allowed, testImports[dir], []string{dir})
		}
		for _, spec := range s.file.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			if !mayImport(target, allowed) {
				broken = append(broken, s.at(spec.Pos(), "%s must not import %s", dir, target))
			}
		}
	}
	return broken
}

func mayImport(target string, allowed []string) bool {
	switch {
	case target == "C":
		return false
	case !strings.Contains(strings.Split(target, "/")[0], "."):
		return true
	case target == Module:
		return slices.Contains(allowed, ".")
	case strings.HasPrefix(target, Module+"/"):
		return slices.Contains(allowed, strings.TrimPrefix(target, Module+"/"))
	}
	for _, a := range allowed {
		if outside := strings.Contains(strings.Split(a, "/")[0], ".") && a != "."; outside && (target == a || strings.HasPrefix(target, a+"/")) {
			return true
		}
	}
	return false
}
