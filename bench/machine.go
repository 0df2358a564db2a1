package main

import (
	"context"
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
		fmt.Fprintf(w, "a durable write of 4 KiB takes %.2f ms (median of 50)\n", milliseconds(d))
	}
	if l := load(); l != "" {
		fmt.Fprintln(w, "load before:", l)
	}
}

// load is what else the machine had to do in the last minutes: 1, 5 and 15 of them. Linux says so.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// databases prints the versions and settings of what the systems work on, and how long a durable commit takes there. One that cannot be
// reached is an error if it was asked for; otherwise the run says so and goes on without.
func databases(ctx context.Context, w io.Writer, all []backend, asked bool) (without []backend, err error) {
	for _, b := range all {
		lines, err := b.describe(ctx)
		if err != nil && !asked && ctx.Err() == nil {
			fmt.Fprintf(w, "WITHOUT %s: %v\n", b.name(), err)
			without = append(without, b)
			continue
		}
		for _, line := range lines {
			fmt.Fprintln(w, line)
		}
		if err == nil {
			err = commitTime(ctx, w, b)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name(), err)
		}
	}
	return without, nil
}

func commitTime(ctx context.Context, w io.Writer, b backend) error {
	p, err := b.place(ctx)
	if err != nil {
		return err
	}
	defer p.remove(ctx)
	probe, ok := p.(committer)
	if !ok {
		return nil
	}
	took := make([]float64, 200)
	for i := range took {
		one, err := probe.commit(ctx)
		if err != nil {
			return err
		}
		took[i] = milliseconds(one)
	}
	_, err = fmt.Fprintf(w, "  a durable commit of one row takes %.2f ms (median of 200), %.2f ms (p99)\n", quantile(took, 0.5), quantile(took, 0.99))
	return err
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
