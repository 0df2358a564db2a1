package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/sqlitestore"
)

// output collects what the program prints, and ends it once it has printed enough.
type output struct {
	mu     sync.Mutex
	text   strings.Builder
	enough func(text string) bool
	stop   context.CancelFunc
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	if o.enough(o.text.String()) {
		o.stop()
	}
	return n, err
}

var cleanups = regexp.MustCompile(`(?m)^cleanup of \d\d:\d\d:\d\d$`)

// TestProgram runs the program twice on one file: its schedules are declared once, fire every second, and leave the other alone.
func TestProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.db")
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out := &output{stop: cancel, enough: func(text string) bool {
			return len(cleanups.FindAllString(text, -1)) >= 2 && strings.Contains(text, "report of Hauptstraße, by hand: true\n")
		}}
		err := run(ctx, file, out)
		if cancel(); err != nil || !out.enough(out.text.String()) {
			t.Fatalf("the program ended with %v and printed\n%s", err, &out.text)
		}
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
	list, err := store.Recurrings(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%d recurring jobs, %v", len(list), err)
	}
	if sales := list[1]; sales.ID != "sales" || sales.Version != 1 || sales.Location != "Europe/Berlin" || sales.NextRunAt.IsZero() {
		t.Errorf("sales: %+v", sales)
	}
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("the file is not consistent: %v", err)
	}
}
