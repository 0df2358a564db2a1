package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// results are the files of one run: what it prints, and every number that it measured.
type results struct {
	// Writer is the terminal and the text file.
	io.Writer
	dir, stem string
	text      *os.File
	table     *os.File
	rows      *csv.Writer
}

// newResults makes DIR/DATE-TIME-LABEL.txt and .csv. Without a folder nothing is kept.
func newResults(dir, label string) (*results, error) {
	r := &results{Writer: os.Stdout, dir: dir, stem: time.Now().Format("2006-01-02-1504") + "-" + label, rows: csv.NewWriter(io.Discard)}
	if dir == "" {
		return r, nil
	}
	var err error
	for stem, n := r.stem, 2; ; n++ { // two runs may begin in one minute
		r.text, err = os.OpenFile(r.file(".txt"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
		r.stem = fmt.Sprintf("%s-%d", stem, n)
	}
	if err != nil {
		return nil, err
	}
	if r.table, err = os.Create(r.file(".csv")); err != nil {
		return nil, err
	}
	r.Writer = io.MultiWriter(os.Stdout, r.text)
	r.rows = csv.NewWriter(r.table)
	return r, nil
}

func (r *results) file(ending string) string { return filepath.Join(r.dir, r.stem+ending) }

// row adds a line to the table.
func (r *results) row(fields ...any) {
	line := make([]string, len(fields))
	for i, f := range fields {
		if v, ok := f.(float64); ok {
			line[i] = strconv.FormatFloat(v, 'g', 6, 64)
		} else {
			line[i] = fmt.Sprint(f)
		}
	}
	r.rows.Write(line) // Flush reports its error
}

// record adds everything that a scenario's rounds measured.
func (r *results) record(sc scenario, chosen []system, found map[string][][]outcome) {
	parts := sc.parts
	if len(parts) == 0 {
		parts = []scenario{{figures: sc.figures}}
	}
	for _, sys := range chosen {
		for round, outcomes := range found[sys.name] {
			for i, o := range outcomes {
				add := func(f figure, kind string, v float64) {
					if !math.IsNaN(v) {
						r.row(sc.name, parts[i].name, sys.name, round+1, kind+f.name, f.unit, v)
					}
				}
				for j, v := range o.values {
					add(parts[i].figures[j], "", v)
				}
				add(figure{name: "part-that-ran"}, "", o.part)
				for j, f := range costs {
					if o.cost != nil {
						add(f, "", o.cost[j])
					}
					if o.life != nil {
						add(f, "with-insert-", o.life[j])
					}
				}
			}
		}
	}
}

// close ends the files, and says where they are.
func (r *results) close() error {
	r.rows.Flush()
	err := r.rows.Error()
	if r.text == nil {
		return err
	}
	fmt.Println("written to", r.file(".txt"), "and .csv")
	for _, f := range []*os.File{r.text, r.table} {
		if end := f.Close(); err == nil {
			err = end
		}
	}
	return err
}

// resultsFolder is where results go if nobody says otherwise: the folder of this repository, as seen from its root or from here.
func resultsFolder() string {
	for _, dir := range []string{"bench/results", "results"} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}
