package main

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kilnjobs/kiln/driver"
	"github.com/kilnjobs/kiln/pgstore"
	"github.com/kilnjobs/kiln/sqlitestore"
)

// TestPages measures the dashboard over a small shop, and looks whether the shop has what the large one is to have.
func TestPages(t *testing.T) {
	defer func(samples int, tabs time.Duration) { pageSamples, tabsFor = samples, tabs }(pageSamples, tabsFor)
	pageSamples, tabsFor = 1, 3*time.Second
	for _, sys := range []system{kilnSQLite, kilnPostgres} {
		t.Run(sys.name, func(t *testing.T) {
			reach(t, sys.on)
			o := &order{pages: 5000}
			var text bytes.Buffer
			out, err := newResults(t.TempDir(), "test")
			if err != nil {
				t.Fatal(err)
			}
			out.Writer = &text
			if err := o.measurePages(t.Context(), out, []system{sys}); err != nil {
				t.Fatalf("%v\n%s", err, &text)
			}
			if err := out.close(); err != nil {
				t.Fatal(err)
			}
			answers := map[string]int{}
			for _, line := range readTable(t, out.file(".csv"))[1:] {
				if ms, err := strconv.ParseFloat(line[4], 64); err != nil || ms < 0 || math.IsInf(ms, 0) {
					t.Errorf("%q is no time", line)
				}
				answers[line[2]]++
			}
			if n := answers["anew"]; n < 150 || answers["shared"] != n || answers["cpu"] != n {
				t.Errorf("%v pages were measured", answers)
			}
			tabs := regexp.MustCompile(`(?m)^  (\d+) open tabs: (\d+) store calls and (\d+) events`).FindAllStringSubmatch(text.String(), -1)
			if len(tabs) != 2 || tabs[0][1] != "1" || tabs[1][1] != "50" || tabs[1][3] == "0" {
				t.Errorf("tabs are %q in\n%s", tabs, &text)
			}
		})
	}
}

// TestCountedStore finds out when stores offer something new that the counting one would hide from the dashboard.
func TestCountedStore(t *testing.T) {
	// What the dashboard has no use for.
	without := []string{"Check", "Close", "FireMany", "InTx", "Outputs", "Subscribe", "SQLTx", "Tuning", "Tx", "WriteConsoles"}
	wrapper := reflect.TypeFor[countedStore]()
	for _, store := range []reflect.Type{reflect.TypeFor[*sqlitestore.Store](), reflect.TypeFor[*pgstore.Store]()} {
		for method := range store.Methods() {
			if _, ok := wrapper.MethodByName(method.Name); !ok && !slices.Contains(without, method.Name) {
				t.Errorf("%s has a method %s, which the counting store hides", store, method.Name)
			}
		}
	}
}

// TestShop pins what the pages are measured over.
func TestShop(t *testing.T) {
	reach(t, onSQLite)
	err := inPlace(t.Context(), kilnSQLite, func(r *round) error {
		s := &shop{store: r.store().(readable), done: 5000}
		if err := s.fill(t.Context()); err != nil {
			return err
		}
		n, err := s.store.Counts(t.Context())
		if err != nil {
			return err
		}
		if n.Succeeded+n.Deleted != 5000 || n.Failed != 50 || n.Enqueued+n.Processing < 500 || n.Scheduled == 0 || n.Retries == 0 || n.Awaiting == 0 || n.Processing != 100 {
			t.Errorf("counts %+v", n)
		}
		b, err := s.store.Batch(t.Context(), s.batch)
		if err != nil {
			return err
		}
		if b.Total != 500 || b.Counts[driver.Succeeded] == 0 || b.Counts[driver.Failed] == 0 || b.Counts[driver.Enqueued]+b.Counts[driver.Processing] == 0 || b.Nested != 500 {
			t.Errorf("batch %+v", b)
		}
		for _, state := range driver.States {
			name := string(state)
			if state == driver.Deleted {
				continue // of those there is no page of a single job
			}
			job, err := s.store.Job(t.Context(), s.ids[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if job.State != state {
				t.Errorf("the job that is %s by its name is %s", name, job.State)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
