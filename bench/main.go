package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

var systems = []system{kilnMemory, kilnSQLite, floorSQLite, riverSQLiteTuned, riverSQLite}

func main() {
	if name := os.Getenv(childEnv); name != "" {
		synchronous = os.Getenv("KILN_BENCH_SYNCHRONOUS")
		if err := child(name); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	quick := flag.Bool("quick", false, "three rounds of 10,000 jobs, River only tuned")
	rounds := flag.Int("rounds", 5, "how often each system is measured")
	jobs := flag.Int("jobs", 50_000, "jobs per round")
	only := flag.String("systems", "", "comma-separated systems, all by default: "+strings.Join(names(systems), ", "))
	which := flag.String("scenarios", "", "comma-separated prefixes of scenarios, all by default")
	profile := flag.String("cpuprofile", "", "write a CPU profile of the whole run to this `file`")
	size := flag.Int("scale", 0, "instead, measure what must not grow with the store, up to this `many` jobs in it")
	flag.StringVar(&synchronous, "synchronous", synchronous, "SQLite's durability on all sides: 1 NORMAL, 2 FULL")
	flag.Parse()
	if *profile != "" {
		stop, err := startProfile(*profile)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer stop()
	}
	samples := 500
	if *quick {
		*rounds, *jobs, samples = 3, 10_000, 100
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *size > 0 {
		machine(os.Stdout)
		if err := scale(ctx, os.Stdout, *size); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	chosen := pick(systems, *only, *quick)
	machine(os.Stdout)
	fmt.Printf("%d rounds, %d jobs, synchronous=%s\n\n", *rounds, *jobs, synchronous)
	for _, sc := range scenarios(*jobs, samples) {
		if !matches(sc.name, *which) {
			continue
		}
		able := chosen
		if sc.ours {
			able = slices.DeleteFunc(slices.Clone(chosen), func(s system) bool { return s.name != kilnMemory.name && s.name != kilnSQLite.name })
		}
		if sc.shared {
			able = slices.DeleteFunc(slices.Clone(chosen), func(s system) bool { return !s.shared })
		}
		values, err := measure(ctx, sc, able, *rounds)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		show(os.Stdout, sc, able, values)
	}
}

// measure lets the systems take turns, in an order that rotates from round to round, and returns the figures of each round.
func measure(ctx context.Context, sc scenario, chosen []system, rounds int) (map[string][][]float64, error) {
	values := map[string][][]float64{}
	for round := range rounds {
		for i := range chosen {
			sys := chosen[(i+round)%len(chosen)]
			v, err := run(ctx, sc, sys)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", sc.name, sys.name, err)
			}
			values[sys.name] = append(values[sys.name], sc.figures(v))
			<-time.After(50 * time.Millisecond)
		}
	}
	return values, nil
}

func pick(all []system, only string, quick bool) []system {
	if only == "" {
		if quick {
			return slices.DeleteFunc(slices.Clone(all), func(s system) bool { return s.name == riverSQLite.name })
		}
		return all
	}
	var out []system
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(s system) bool { return s.name == name })
		if i < 0 {
			fmt.Fprintf(os.Stderr, "bench: no system is called %q; there are %s\n", name, strings.Join(names(all), ", "))
			os.Exit(2)
		}
		out = append(out, all[i])
	}
	return out
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
