package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

var systems = []system{
	kilnMemory,
	kilnSQLite, floorSQLite, riverSQLiteTuned, riverSQLite,
	kilnPostgres, floorPostgres, riverPostgresTuned, riverPostgres, riverPostgresMany,
	asynqRedis,
}

// order is what a run was asked for.
type order struct {
	quick              bool
	rounds, jobs       int
	systems, scenarios string
	scale              string
	size               int
	pages              int
	dir, profile       string
}

func main() {
	if name := os.Getenv(childEnv); name != "" {
		end(child(name))
		return
	}
	var o order
	flag.BoolVar(&o.quick, "quick", false, "three rounds of small sizes in about two minutes, without River's defaults, memory and the thorough scenarios")
	flag.IntVar(&o.rounds, "rounds", 0, "how often each system is measured (5, -quick 3), or each page (10)")
	flag.IntVar(&o.jobs, "jobs", 0, "jobs of a drain; other sizes follow (50000, -quick 10000)")
	flag.StringVar(&o.systems, "systems", "", "comma-separated systems or kinds of database, all by default: "+strings.Join(names(systems), ", ")+"; memory, sqlite, postgres, redis")
	flag.StringVar(&o.scenarios, "scenarios", "", "comma-separated prefixes of scenarios, all by default")
	flag.StringVar(&o.scale, "scale", "", "instead, measure what must not grow with the store: all, or some of "+strings.Join(cellNames(), ", "))
	flag.IntVar(&o.size, "scale-size", 1_000_000, "the most jobs that -scale puts into a store")
	flag.IntVar(&o.pages, "pages", 0, "instead, measure the dashboard's pages over a store with so `many` jobs that were done, such as 1000000")
	flag.StringVar(&o.dir, "out", resultsFolder(), "the `folder` that results are written to; none are with -out ''")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the whole run to this `file`")
	flag.StringVar(&synchronous, "synchronous", synchronous, "SQLite's durability on all sides: 1 NORMAL, 2 FULL")
	flag.StringVar(&onPostgres.url, "postgres", postgresURL(), "`URL` of a PostgreSQL server and of a superuser; $KILN_POSTGRES if that is set")
	flag.StringVar(&onRedis.url, "redis", "", "`URL` of a Redis server and an empty database there; a private server is started without one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	end(o.run(ctx))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func postgresURL() string {
	if url := os.Getenv("KILN_POSTGRES"); url != "" {
		return url
	}
	return onPostgres.url
}

func (o *order) run(ctx context.Context) (err error) {
	chosen, err := pick(systems, o.systems, o.quick)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return err
	}
	if o.profile != "" {
		stop, err := startProfile(o.profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	out, err := newResults(o.dir, o.label())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	used := backends(chosen)
	defer func() {
		for _, b := range used {
			err = errors.Join(err, b.close())
		}
	}()
	fmt.Fprintln(out, commandLine())
	machine(out)
	without, err := databases(ctx, out, used, o.systems != "")
	if err != nil {
		return err
	}
	chosen = slices.DeleteFunc(chosen, func(s system) bool { return slices.Contains(without, s.on) })
	begin := time.Now()
	switch {
	case o.pages != 0:
		err = o.measurePages(ctx, out, chosen)
	case o.scale != "":
		err = o.measureScale(ctx, out, chosen)
	default:
		err = o.measureScenarios(ctx, out, chosen)
	}
	if err == nil {
		fmt.Fprintf(out, "took %s; load after: %s\n", time.Since(begin).Round(time.Second), load())
	}
	return err
}

// check refuses what would measure nothing.
func (o *order) check() error {
	switch {
	case o.jobs < 0:
		return fmt.Errorf("-jobs %d: want 1 or more", o.jobs)
	case o.rounds < 0:
		return fmt.Errorf("-rounds %d: want 1 or more", o.rounds)
	case o.pages != 0:
		if o.pages < 5000 {
			return fmt.Errorf("-pages %d: want at least 5000", o.pages)
		}
	case o.scale != "":
		return o.checkScale()
	case o.scenarios == "":
		return nil
	}
	all := scenarios(quickSizes)
	for prefix := range strings.SplitSeq(o.scenarios, ",") {
		if !slices.ContainsFunc(all, func(sc scenario) bool { return strings.HasPrefix(sc.name, prefix) }) {
			return fmt.Errorf("-scenarios: %q is the begin of no scenario; there are %s", prefix, strings.Join(scenarioNames(all), ", "))
		}
	}
	return nil
}

func scenarioNames(all []scenario) []string {
	out := make([]string, len(all))
	for i, sc := range all {
		out[i] = sc.name
	}
	return out
}

func (o *order) label() string {
	switch {
	case o.pages != 0:
		return "pages"
	case o.scale != "":
		return "scale"
	case o.quick:
		return "quick"
	}
	return "full"
}

// commandLine is the command without the addresses of servers and the names of folders.
func commandLine() string {
	line := "go run ./bench"
	flag.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "postgres", "redis", "out", "cpuprofile":
		case "quick":
			line += " -quick"
		default:
			line += " -" + f.Name + " " + f.Value.String()
		}
	})
	return line + "\n"
}

// sizes are those of the form that was asked for, or in proportion to the jobs that were.
func (o *order) sizes() (sizes, int) {
	z, rounds := fullSizes, 5
	if o.quick {
		z, rounds = quickSizes, 3
	}
	if o.jobs > 0 {
		part := func(n int) int { return max(int(int64(n)*int64(o.jobs)/int64(z.jobs)), 1) }
		z.long, z.pinned, z.several, z.shaped = part(z.long), part(z.pinned), part(z.several), part(z.shaped)
		z.samples, z.jobs = min(max(part(z.samples), 20), z.samples), o.jobs
	}
	if o.rounds > 0 {
		rounds = o.rounds
	}
	return z, rounds
}

func (o *order) measureScenarios(ctx context.Context, out *results, chosen []system) error {
	z, rounds := o.sizes()
	fmt.Fprintf(out, "%d rounds, %d jobs\n\n", rounds, z.jobs)
	out.row("scenario", "part", "system", "round", "figure", "unit", "value")
	for _, sc := range scenarios(z) {
		if !matches(sc.name, o.scenarios) || sc.thorough && o.quick && o.scenarios == "" {
			continue
		}
		able := slices.DeleteFunc(slices.Clone(chosen), func(s system) bool { return !sc.takes(s) })
		if len(able) == 0 {
			continue
		}
		found, err := measure(ctx, sc, able, rounds)
		if err != nil {
			return err
		}
		show(out, sc, able, found)
		out.record(sc, able, found)
	}
	return nil
}

// pick chooses systems by their names, or by the names of their backends.
func pick(all []system, only string, quick bool) ([]system, error) {
	if only == "" {
		return slices.DeleteFunc(slices.Clone(all), func(s system) bool { return quick && s.thorough }), nil
	}
	var out []system
	for name := range strings.SplitSeq(only, ",") {
		before := len(out)
		for _, s := range all {
			named := s.name == name || s.on.name() == name && !(quick && s.thorough && s.on != onMemory)
			if named && !slices.ContainsFunc(out, func(o system) bool { return o.name == s.name }) {
				out = append(out, s)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("-systems: %q is no system, or is named twice; there are %s; memory, sqlite, postgres, redis", name, strings.Join(names(all), ", "))
		}
	}
	return out, nil
}

func backends(chosen []system) []backend {
	var all []backend
	for _, s := range chosen {
		if !slices.Contains(all, s.on) {
			all = append(all, s.on)
		}
	}
	return all
}

func names(all []system) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.name
	}
	return out
}

func matches(name, prefixes string) bool {
	if prefixes == "" {
		return true
	}
	for p := range strings.SplitSeq(prefixes, ",") {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func startProfile(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}
