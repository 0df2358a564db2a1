package kiln_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/driver"
)

// The tests named TestCaseB… each try a failure that users of other job systems have reported. A number names the same failure
// everywhere.

// casesElsewhere are cases, or parts of them, that need what is not here, with the reason.
var casesElsewhere = map[string]string{
	"B019": "needs MySQL, whose sessions have a time zone; every store stamps UTC",
}

// caseParts are parts of cases with a test that need what is not here.
var caseParts = map[string]string{
	"B014": "checkpoints that reset the count of rescues: there is no such rule; raise MaxAttempts instead",
	"B020": "how databases keep fractions of a second: tests of each store",
	"B025": "at scale, under chaos: internal/sim holds every failed job to it",
	"B031": "several processes: tests of each store",
	"B032": "the isolation levels of a database: tests of each store",
	"B034": "parents and batches; rows deleted behind the store's back: tests of the SQL stores",
	"B035": "the order of a struct's fields counts: a key from args is that of the args as they are encoded",
	"B038": "collations of databases: drivertest, on each store",
	"B043": "kill -9 and restarts of the database: internal/sim and the soak scenarios",
	"B041": "a flag for kinds without a handler: needs the dashboard",
	"B067": "the times themselves: package cron, with B071, B073, B074, B077 and B079",
	"B050": "processes that die between a handler's end and its record: internal/sim, with batches among its jobs; deadlocks: other databases",
	"B052": "a crash at each statement: sqlitestore's failing driver, whose work has parents and batches",
	"B061": "rows deleted behind the store's back: tests of the SQL stores; thousands of interleavings: internal/sim",
	"B091": "the age of each duty's last success: not in Stats",
}

// cases are all that belong here.
var cases = []string{
	"B001", "B002", "B004", "B005", "B007", "B008", "B010", "B011", "B013", "B014", "B016", "B017", "B019", "B020", "B022", "B023",
	"B025", "B026", "B028", "B029", "B031", "B032", "B034", "B035", "B037", "B038", "B040", "B041", "B043", "B044", "B046", "B047",
	"B049", "B050", "B052", "B053", "B058", "B061", "B062", "B064", "B065", "B067", "B068", "B070", "B076", "B080", "B082", "B083", "B085",
	"B086", "B088", "B089", "B091", "B092",
}

// TestCasesAreComplete pins that no case is forgotten: each has a test or a reason.
func TestCasesAreComplete(t *testing.T) {
	files, err := filepath.Glob("cases_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`func TestCase(B\d{3})`).FindAllSubmatch(text, -1) {
			tested[string(m[1])] = true
		}
	}
	for _, id := range cases {
		if tested[id] == (casesElsewhere[id] != "") {
			t.Errorf("case %s: tested %v, elsewhere: %q", id, tested[id], casesElsewhere[id])
		}
	}
	for id := range tested {
		if !slices.Contains(cases, id) {
			t.Errorf("case %s is not in the list", id)
		}
	}
	for id := range caseParts {
		if !tested[id] {
			t.Errorf("case %s has a part elsewhere, but no test", id)
		}
	}
}

// beat keeps a server that only exists in the store alive until the test ends.
func (r *rig) beat(server string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := r.mem.Heartbeat(ctx, driver.ServerInfo{ID: server}); err != nil && ctx.Err() == nil {
				r.t.Errorf("heartbeat: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
		}
	}()
	r.t.Cleanup(func() { cancel(); <-done })
}

// bystander is a configuration that takes part in everything except the default queue's jobs.
var bystander = kiln.ServerConfig{Queues: map[string]int{"other": 1}}
