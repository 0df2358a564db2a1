package tidy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// stores are the SQL stores: siblings that have the same files, so that who knows one knows all.
var stores = []string{"pgstore", "mysqlstore", "mssqlstore", "sqlitestore"}

// extrasFile lists, in a store's folder, the files that its siblings do not all have: a name, a colon, the reason.
const extrasFile = "testdata/extras.golden"

// checkStores compares the names of Go files, statement files and migrations. A name that a sibling lacks must be in the
// store's list of extras, and a listed one must exist and be missing somewhere, so that the lists stay true.
func checkStores(t *Tree) []string {
	files := make(map[string][]string)
	for _, store := range stores {
		if names := storeFiles(t, store); len(names) > 0 {
			files[store] = names
		}
	}
	var broken []string
	for _, store := range slices.Sorted(maps.Keys(files)) {
		list := path.Join(store, extrasFile)
		extras, complaints := parseExtras(list, t.Files[list])
		broken = append(broken, complaints...)
		for _, name := range files[store] {
			lacking := ""
			for _, other := range slices.Sorted(maps.Keys(files)) {
				if !slices.Contains(files[other], name) {
					lacking = other
					break
				}
			}
			_, listed := extras[name]
			switch {
			case lacking != "" && !listed:
				broken = append(broken, fmt.Sprintf("%s/%s: %s has no such file, and %s gives no reason", store, name, lacking, list))
			case lacking == "" && listed && len(files) > 1:
				broken = append(broken, fmt.Sprintf("%s: every store has %s", list, name))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(extras)) {
			if !slices.Contains(files[store], name) {
				broken = append(broken, fmt.Sprintf("%s: there is no %s", list, name))
			}
		}
	}
	return broken
}

// storeFiles lists the files of a store that its siblings should have too.
func storeFiles(t *Tree, store string) []string {
	var names []string
	for _, name := range t.Names(func(name string) bool { return strings.HasPrefix(name, store+"/") }) {
		rel := strings.TrimPrefix(name, store+"/")
		source := path.Dir(rel) == "." && path.Ext(rel) == ".go" && !testFile(rel)
		sql := path.Ext(rel) == ".sql" && (path.Dir(rel) == "sql" || path.Dir(rel) == "migrations")
		if source || sql {
			names = append(names, rel)
		}
	}
	return names
}

func parseExtras(file, text string) (extras map[string]string, broken []string) {
	extras = make(map[string]string)
	for i, line := range lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok || strings.TrimSpace(reason) == "" {
			broken = append(broken, fmt.Sprintf("%s:%d: want a file name, a colon and a reason", file, i+1))
			continue
		}
		extras[name] = reason
	}
	return extras, broken
}
