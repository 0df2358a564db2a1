package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestMain lets the test's program be the worker processes that it starts.
func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		end(child(name))
		return
	}
	onPostgres.url = postgresURL()
	code := m.Run()
	if err := onRedis.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var tiny = sizes{jobs: 200, long: 200, pinned: 400, several: 200, shaped: 200, processes: []int{1, 2}, samples: 5, most: time.Minute, longest: time.Minute, single: 20 * time.Millisecond}

// reach makes the system's backend ready. The short form needs no servers; the other fails without them.
func reach(t *testing.T, b backend) {
	t.Helper()
	if testing.Short() && (b == onPostgres && os.Getenv("KILN_POSTGRES") == "" || b == onRedis) {
		t.Skipf("the short form needs no servers: %s", b.name())
	}
	if _, err := exec.LookPath("redis-server"); b == onRedis && err != nil && onRedis.url == "" {
		t.Skip("there is no redis-server, and no server is named by -redis: Asynq is not measured")
	}
	if b == onRedis && onRedis.url != "" {
		return // it has been started
	}
	if _, err := b.describe(t.Context()); err != nil {
		t.Fatalf("%s: %v", b.name(), err)
	}
}

func TestEverySystemDoesEveryScenario(t *testing.T) {
	for _, sys := range systems {
		t.Run(sys.name, func(t *testing.T) {
			reach(t, sys.on)
			for _, sc := range scenarios(tiny) {
				if !sc.takes(sys) || sys.thorough && sys.on != onMemory && sc.name != "drain" && !sc.many {
					continue
				}
				t.Run(sc.name, func(t *testing.T) {
					found, err := measure(t.Context(), sc, []system{sys}, 1)
					if err != nil {
						t.Fatal(err)
					}
					checkOutcomes(t, sc, sys, found[sys.name][0])
				})
			}
		})
	}
	if t.Failed() || testing.Short() {
		return
	}
	checkNothingLeft(t)
}

func checkOutcomes(t *testing.T, sc scenario, sys system, outcomes []outcome) {
	t.Helper()
	parts := sc.parts
	if len(parts) == 0 {
		parts = []scenario{sc}
	}
	if len(outcomes) != len(parts) {
		t.Fatalf("%d outcomes, want %d", len(outcomes), len(parts))
	}
	for i, o := range outcomes {
		if len(o.values) != len(parts[i].figures) {
			t.Fatalf("%d values, want %d", len(o.values), len(parts[i].figures))
		}
		for j, v := range o.values {
			noServer := math.IsNaN(v) && sys.on != onPostgres && parts[i].figures[j].bare
			if !(v > 0) && !noServer || math.IsInf(v, 0) {
				t.Errorf("%s %s is %v", parts[i].name, parts[i].figures[j].name, v)
			}
		}
		if o.part != 1 {
			t.Errorf("%s: only %.0f %% of the jobs ran", parts[i].name, 100*o.part)
		}
		if strings.HasPrefix(sc.name, "drain") && o.life == nil {
			t.Errorf("%s has no costs from insert to end", parts[i].name)
		}
		if o.cost == nil {
			continue
		}
		for j, v := range o.cost {
			known := sys.on == onPostgres || sys.on == onRedis || j != serverCost && j != logCost
			if known != (v > 0) && !(sys.on == onRedis && j == serverCost) { // Redis counts in small steps
				t.Errorf("%s: %s per job is %v", parts[i].name, costs[j].name, v)
			}
		}
	}
}

func checkNothingLeft(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), onPostgres.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var left int
	mine := fmt.Sprintf("kiln\\_bench\\_%d\\_%%", os.Getpid())
	if err := conn.QueryRow(t.Context(), "select count(*) from pg_database where datname like $1", mine).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d databases are left, %v", left, err)
	}
}

func TestCellsWriteTheirGraphs(t *testing.T) {
	defer func(usual int) { dueSeconds = usual }(dueSeconds)
	dueSeconds = 1
	chosen := []system{kilnSQLite}
	if !testing.Short() || os.Getenv("KILN_POSTGRES") != "" {
		reach(t, onPostgres)
		for _, s := range systems {
			if s.on == onPostgres && (s.kiln || s.name == floorPostgres.name) {
				chosen = append(chosen, s)
			}
		}
	}
	out, err := newResults(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	o := &order{scale: "all", size: 10_000}
	if err := o.measureScale(t.Context(), out, chosen); err != nil {
		t.Fatal(err)
	}
	if err := out.close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		lines := readTable(t, out.file("-"+c.name+".csv"))
		if len(lines) < 2 {
			t.Errorf("%s: no points", c.name)
		}
		for _, line := range lines {
			if len(line) != 1+len(c.axes) {
				t.Errorf("%s: %q has not the columns %q", c.name, line, c.axes)
			}
		}
	}
}

// TestResultsStay pins that a run does not write over the results of another one that began in the same minute.
func TestResultsStay(t *testing.T) {
	dir := t.TempDir()
	stems := map[string]bool{}
	for range 3 {
		r, err := newResults(dir, "test")
		if err != nil {
			t.Fatal(err)
		}
		stems[r.stem] = true
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(stems) != 3 || len(files) != 6 {
		t.Errorf("three runs left %d files, %v, %v", len(files), stems, err)
	}
}

func readTable(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestProgram runs the program as people do, and reads what it writes.
func TestProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "bench")
	if b, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	dir := t.TempDir()
	b, err := exec.Command(program, "-quick", "-rounds", "2", "-jobs", "500", "-systems", "sqlite", "-scenarios", "drain,processes", "-out", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	for _, want := range []string{"2 rounds, 500 jobs", "kiln-sqlite is", "per job with its insert", "processes on river-sqlite-tuned", "of 1"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the output has no %q:\n%s", want, b)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*-quick.csv"))
	if len(files) != 1 {
		t.Fatalf("results are %v, want one table", files)
	}
	rounds := 0
	for _, line := range readTable(t, files[0]) {
		if line[0] == "drain" && line[2] == "floor-sqlite" && line[4] == "speed" {
			rounds++
		}
	}
	if rounds != 2 {
		t.Errorf("the table has the speed of the floor's drain in %d rounds, want 2", rounds)
	}
}

func TestProgramSaysWhatItDoesNotKnow(t *testing.T) {
	for _, c := range []struct {
		o    order
		want string
	}{
		{order{systems: "rivers"}, `"rivers" is no system`},
		{order{scale: "backlogs", size: 10_000, systems: "memory"}, `"backlogs" is no cell`},
		{order{scale: "all", size: 5, systems: "memory"}, "-scale-size 5"},
		{order{systems: "memory", scenarios: "drains"}, `"drains" is the begin of no scenario`},
		{order{systems: "memory", jobs: -1}, "-jobs -1"},
	} {
		if err := c.o.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
		}
	}
}

func TestTenths(t *testing.T) {
	p := newProgress(1000)
	p.begin = time.Now()
	p.ran.Store(1000)
	for i := range p.marks { // half as fast from the middle on, behind a slow start
		at := time.Minute + time.Duration(i+1)*time.Second
		if i >= 50 {
			at += time.Duration(i-49) * time.Second
		}
		p.marks[i].Store(int64(at))
	}
	if first, last := p.tenths(); first != 10 || last != 5 {
		t.Errorf("tenths of %v and %v jobs a second, want 10 and 5", first, last)
	}
}

func TestCutRoundSaysSo(t *testing.T) {
	r := &round{sys: kilnMemory, part: 1, place: folder(t.TempDir())}
	p, err := r.countDown(t.Context(), 1000, 30*time.Millisecond, func(p *progress) (func() error, error) {
		for range 250 {
			p.handled()
		}
		return func() error { return nil }, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.part != 0.25 || p.count() != 250 || p.took < 30*time.Millisecond {
		t.Errorf("part %v, %d jobs, took %s; want a quarter in 30 ms", r.part, p.count(), p.took)
	}
	if got := cut([][]outcome{{{part: 1}}, {{part: r.part}}}, 0); !strings.Contains(got, "25 %") {
		t.Errorf("the report says %q", got)
	}
}
