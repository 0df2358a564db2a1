package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// machine prints where the figures come from, and how long a durable write takes here.
func machine(w io.Writer) {
	cpu := "unknown CPU"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "model name\t: "); ok {
				cpu = strings.TrimSpace(name)
				break
			}
		}
	}
	fmt.Fprintf(w, "%s, %d cores, %s, %s\n", cpu, runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
	if d, err := syncTime(); err == nil {
		fmt.Fprintf(w, "a durable write of 4 KiB takes %.2f ms (median of 50)\n", float64(d)/float64(time.Millisecond))
	}
}

func syncTime() (time.Duration, error) {
	f, err := os.Create(filepath.Join(os.TempDir(), fmt.Sprintf("kiln-bench-sync-%d", os.Getpid())))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	var took []time.Duration
	for range 50 {
		begin := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// show prints a scenario's medians with their ranges, and how many times better kiln on the same database is.
func show(w io.Writer, sc scenario, chosen []system, values map[string][][]float64) {
	if len(sc.shapes) > 0 {
		showShapes(w, sc, chosen, values)
		return
	}
	if len(sc.quantiles) == 0 {
		showFigure(w, sc, sc.name, 0, chosen, values)
	}
	for i, q := range sc.quantiles {
		showFigure(w, sc, fmt.Sprintf("%s-p%.0f", sc.name, 100*q), i, chosen, values)
	}
}

func showFigure(w io.Writer, sc scenario, name string, figure int, chosen []system, values map[string][][]float64) {
	column := func(sys system) (v []float64) {
		for _, round := range values[sys.name] {
			v = append(v, round[figure])
		}
		return v
	}
	fmt.Fprintf(w, "%s (%s)\n", name, sc.unit)
	kiln := median(column(kilnSQLite))
	for _, sys := range chosen {
		v := column(sys)
		ratio := ""
		if sys.name != kilnSQLite.name && kiln > 0 {
			better := kiln / median(v)
			if sc.seconds {
				better = median(v) / kiln
			}
			ratio = fmt.Sprintf("   kiln-sqlite is %.2f×", better)
		}
		fmt.Fprintf(w, "  %-20s %12s  [%s … %s]%s\n", sys.name, number(median(v)), number(slices.Min(v)), number(slices.Max(v)), ratio)
	}
	fmt.Fprintln(w)
}

// showShapes prints how fast each shape of job drains, and which part of the first shape's speed that is.
func showShapes(w io.Writer, sc scenario, chosen []system, values map[string][][]float64) {
	for _, sys := range chosen {
		fmt.Fprintf(w, "%s on %s (%s)\n", sc.name, sys.name, sc.unit)
		for i := range sc.shapes {
			var speeds, parts []float64
			for _, round := range values[sys.name] {
				speeds, parts = append(speeds, round[i]), append(parts, round[i]/round[0])
			}
			fmt.Fprintf(w, "  %-20s %12s  [%s … %s]   %.2f of %s\n", sc.shapes[i].name,
				number(median(speeds)), number(slices.Min(speeds)), number(slices.Max(speeds)), median(parts), sc.shapes[0].name)
		}
		fmt.Fprintln(w)
	}
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}

func number(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
