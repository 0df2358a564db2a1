package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// show prints a scenario's medians with their ranges, and how many times better kiln on the same kind of database is.
func show(w io.Writer, sc scenario, chosen []system, found map[string][][]outcome) {
	if len(sc.parts) > 0 {
		showParts(w, sc, chosen, found)
		return
	}
	for i, f := range sc.figures {
		name := sc.name
		if len(sc.figures) > 1 {
			name += " " + f.name
		}
		fmt.Fprintln(w, name+inUnits(f.unit))
		for _, sys := range chosen {
			v := column(found[sys.name], func(o []outcome) float64 { return o[0].values[i] })
			if len(v) == 0 {
				continue
			}
			fmt.Fprintf(w, "  %s", spread(sys.name, v))
			if !f.bare {
				fmt.Fprint(w, ratio(f, sys, i, v, found))
			}
			if i == 0 {
				fmt.Fprint(w, cut(found[sys.name], 0))
			}
			fmt.Fprintln(w)
		}
		if i == 0 {
			showCosts(w, chosen, found)
		}
		fmt.Fprintln(w)
	}
}

func inUnits(unit string) string {
	if unit == "" {
		return ""
	}
	return " (" + unit + ")"
}

// spread is a median with its range.
func spread(name string, v []float64) string {
	return fmt.Sprintf("%-26s %12s  [%s … %s]", name, number(median(v)), number(slices.Min(v)), number(slices.Max(v)))
}

func ratio(f figure, sys system, i int, v []float64, found map[string][][]outcome) string {
	reference := sys.on.reference()
	ours := column(found[reference], func(o []outcome) float64 { return o[0].values[i] })
	if sys.name == reference || len(ours) == 0 {
		return ""
	}
	better := median(ours) / median(v)
	if f.less {
		better = median(v) / median(ours)
	}
	return fmt.Sprintf("   %s is %.2f×", reference, better)
}

// cut says which part of the jobs ran in the time that there was.
func cut(rounds [][]outcome, part int) string {
	least := 1.0
	for _, o := range rounds {
		least = min(least, o[part].part)
	}
	if least == 1 {
		return ""
	}
	return fmt.Sprintf("   cut, at %.0f %% in one round", 100*least)
}

// showCosts prints what one job costs, and where the round saw it from its insert to its end, what all of that costs.
func showCosts(w io.Writer, chosen []system, found map[string][][]outcome) {
	for _, of := range []struct {
		what string
		cost func(outcome) *cost
	}{
		{"per job", func(o outcome) *cost { return o.cost }},
		{"per job with its insert", func(o outcome) *cost { return o.life }},
	} {
		head := true
		for _, sys := range chosen {
			line := costLine(found[sys.name], of.cost)
			if line == "" {
				continue
			}
			if head {
				fmt.Fprintf(w, "  %s (median):\n", of.what)
				head = false
			}
			fmt.Fprintf(w, "    %-24s %s\n", sys.name, line)
		}
	}
}

func costLine(rounds [][]outcome, of func(outcome) *cost) string {
	var parts []string
	for i, f := range costs {
		v := column(rounds, func(o []outcome) float64 {
			if c := of(o[0]); c != nil {
				return c[i]
			}
			return math.NaN()
		})
		if len(v) > 0 {
			parts = append(parts, strings.ReplaceAll(f.name, "-", " ")+" "+strings.TrimSpace(number(median(v))+" "+f.unit))
		}
	}
	return strings.Join(parts, ", ")
}

// showParts prints how fast each part is, and which share of the first part's speed that is.
func showParts(w io.Writer, sc scenario, chosen []system, found map[string][][]outcome) {
	for _, sys := range chosen {
		fmt.Fprintf(w, "%s on %s%s\n", sc.name, sys.name, inUnits(sc.parts[0].figures[0].unit))
		for i, part := range sc.parts {
			speeds := column(found[sys.name], func(o []outcome) float64 { return o[i].values[0] })
			shares := column(found[sys.name], func(o []outcome) float64 { return o[i].values[0] / o[0].values[0] })
			fmt.Fprintf(w, "  %s   %.2f of %s%s\n", spread(part.name, speeds), median(shares), sc.parts[0].name, cut(found[sys.name], i))
		}
		fmt.Fprintln(w)
	}
}

// column picks one number of each round, those left out that could not be told.
func column(rounds [][]outcome, pick func([]outcome) float64) []float64 {
	var v []float64
	for _, o := range rounds {
		if x := pick(o); !math.IsNaN(x) {
			v = append(v, x)
		}
	}
	return v
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}

func number(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.3f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
