package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/kilnjobs/kiln"
)

// tempSuffix marks the report while it is being written.
const tempSuffix = ".tmp"

// result is what is known of one file.
type result struct {
	id           int64
	folder, path string
	state        kiln.State
	// sum is set by readOutput when state is succeeded.
	sum Checksum
}

func newResult(r *kiln.Record) (result, error) {
	var args ChecksumFile
	if err := json.Unmarshal(r.Args, &args); err != nil {
		return result{}, fmt.Errorf("args of job %d: %w", r.ID, err)
	}
	return result{id: r.ID, folder: args.Folder, path: args.path(), state: r.State}, nil
}

// readOutput fetches what a succeeded job found out, which lists of jobs leave out.
func (r *result) readOutput(ctx context.Context, client *kiln.Client) error {
	if r.state != kiln.Succeeded {
		return nil
	}
	rec, err := client.Get(ctx, r.id)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(rec.Output, &r.sum); err != nil {
		return fmt.Errorf("output of job %d: %w", r.id, err)
	}
	return nil
}

// totals is the last line of the output.
type totals struct{ files, succeeded, failed int }

// writeReport writes one line per file, by path. The file appears whole or not at all.
func writeReport(ctx context.Context, client *kiln.Client, path string, results map[string]result) (totals, error) {
	var t totals
	f, err := os.Create(path + tempSuffix)
	if err != nil {
		return t, err
	}
	defer os.Remove(path + tempSuffix)
	defer f.Close()
	w := csv.NewWriter(f)
	_ = w.Write([]string{"path", "state", "bytes", "lines", "sha256"})
	for _, name := range slices.Sorted(maps.Keys(results)) {
		r := results[name]
		if err := r.readOutput(ctx, client); err != nil {
			return t, err
		}
		row := []string{inert(r.path), string(r.state), "", "", ""}
		t.files++
		switch r.state {
		case kiln.Succeeded:
			t.succeeded++
			row[2], row[3], row[4] = strconv.FormatInt(r.sum.Bytes, 10), strconv.FormatInt(r.sum.Lines, 10), r.sum.SHA256
		case kiln.Failed:
			t.failed++
		}
		_ = w.Write(row)
	}
	// The writer keeps its first error.
	w.Flush()
	if err := w.Error(); err != nil {
		return t, err
	}
	if err := f.Sync(); err != nil {
		return t, err
	}
	if err := f.Close(); err != nil {
		return t, err
	}
	return t, os.Rename(path+tempSuffix, path)
}

// inert keeps a spreadsheet from taking a file's name for a formula.
func inert(path string) string {
	if path != "" && strings.ContainsRune("=+-@", rune(path[0])) {
		return "'" + path
	}
	return path
}
