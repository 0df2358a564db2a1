package main

import (
	"bytes"
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/sqlitestore"
)

// TestProgram runs the program, which ends by itself, and checks what it prints and in which order.
func TestProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	file := filepath.Join(t.TempDir(), "jobs.db")
	var out bytes.Buffer
	if err := run(ctx, file, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	at := func(line string) int {
		i := slices.Index(lines, line)
		if i < 0 {
			t.Errorf("%q was not printed", line)
		}
		return i
	}
	baker, butcher, all := at("Bäcker is done"), at("Metzger is done"), at("all is done")
	if at("a.csv has 5 rows") > baker || at("bread.csv has 9 rows") > baker || at("sausages.csv has 12 rows") > butcher ||
		all < baker || all < butcher || len(lines) != 6 {
		t.Errorf("printed in a wrong order:\n%s", &out)
	}

	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := sqlitestore.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	page, err := store.Batches(t.Context(), driver.BatchQuery{})
	if err != nil || len(page.Batches) != 3 {
		t.Fatalf("%d batches, %v", len(page.Batches), err)
	}
	for _, b := range page.Batches {
		if b.FinishedAt.IsZero() {
			t.Errorf("batch %s has not finished: %+v", b.Description, b)
		}
	}
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("the file is not consistent: %v", err)
	}
}
