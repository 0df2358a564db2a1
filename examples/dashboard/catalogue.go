package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/kilnjobs/kiln"
)

type (
	// ImportFile reads one file of a supplier's catalogue.
	ImportFile struct {
		Supplier string `json:"supplier"`
		File     string `json:"file"`
		Rows     int    `json:"rows"`
	}
	// UpdatePrices sets the prices of one section, when all of its files are read.
	UpdatePrices struct {
		Supplier string `json:"supplier"`
		Section  string `json:"section"`
	}
)

func (ImportFile) Kind() string   { return "import_file" }
func (UpdatePrices) Kind() string { return "update_prices" }

func (a ImportFile) Title() string   { return "Import " + a.File }
func (a UpdatePrices) Title() string { return "Prices of " + a.Section + ", " + a.Supplier }

// receiveCatalogue makes a batch of a supplier's catalogue, with a batch for each section in it: each section sets its prices when its
// files are read, and the buyer is told when all sections are done.
func (s *shop) receiveCatalogue(ctx context.Context) error {
	supplier := pick(suppliers)
	catalogue := &kiln.Batch{Description: "Catalogue of " + supplier, Meta: map[string]string{"supplier": supplier, "season": "spring"}}
	for _, section := range []string{"Kitchen", "Tableware", "Textiles"} {
		part := &kiln.Batch{Description: section + ", " + supplier}
		for i := range 2 + rand.IntN(3) {
			file := fmt.Sprintf("%s-%02d.csv", section, i+1)
			part.Add(ImportFile{Supplier: supplier, File: file, Rows: 200 + rand.IntN(1800)}, kiln.Tags{"supplier:" + supplier})
		}
		part.Then(UpdatePrices{Supplier: supplier, Section: section}, kiln.Tags{"supplier:" + supplier})
		catalogue.AddBatch(part)
	}
	catalogue.Then(SendEmail{To: "buying@example.com", Template: "catalogue_imported"})
	_, err := s.client.StartBatch(ctx, catalogue)
	return err
}

func handleCatalogue(mux *kiln.Mux) {
	kiln.Handle(mux, importFile, kiln.Constant(10*time.Second))
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[UpdatePrices]) error {
		return work(ctx, between(time.Second, 3*time.Second))
	})
}

// importFile goes on behind the rows that an earlier attempt has read.
func importFile(ctx context.Context, j *kiln.Job[ImportFile]) error {
	var from int
	if _, err := j.Param("row", &from); err != nil {
		return kiln.Permanent(fmt.Errorf("checkpoint of %s: %w", j.Args.File, err))
	}
	if from > 0 {
		j.Logf("going on at row %d", from)
	}
	for row := from; row < j.Args.Rows; row += 200 {
		if err := work(ctx, between(500*time.Millisecond, 1500*time.Millisecond)); err != nil {
			return err
		}
		j.SetProgress(100 * row / j.Args.Rows)
		j.Logf("read rows %d to %d", row+1, min(row+200, j.Args.Rows))
		if err := j.SetParam(ctx, "row", row); err != nil {
			return fmt.Errorf("keep the checkpoint of %s: %w", j.Args.File, err)
		}
		if chance(2) {
			_, err := strconv.ParseFloat("12,90", 64)
			return fmt.Errorf("import for %s: %w", j.Args.Supplier, &RowError{File: j.Args.File, Row: row + 17, Err: err})
		}
	}
	j.SetProgress(100)
	return j.SetOutput(map[string]int{"rows": j.Args.Rows, "changed": j.Args.Rows / 7})
}
