package main

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// files lists the regular files below the folder, in lexical order, as paths below it. Links are not followed; .git, the
// database's own files and the report are left out. A folder that cannot be read is named on stderr and left out.
func files(o options, stderr io.Writer) ([]string, error) {
	own := map[string]bool{o.report: true, o.report + tempSuffix: true}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", lockSuffix} {
		own[o.db+suffix] = true
	}
	var out []string
	err := filepath.WalkDir(o.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == o.folder {
				return err
			}
			fmt.Fprintf(stderr, "quickstart: left out: %v\n", err)
			return nil
		}
		if d.IsDir() && d.Name() == ".git" && path != o.folder {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || own[path] {
			return nil
		}
		below, err := filepath.Rel(o.folder, path)
		if err != nil {
			return err
		}
		out = append(out, below)
		return nil
	})
	return out, err
}
