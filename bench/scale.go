package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// scale measures on kiln's SQLite store what must not grow with what is in it, and prints a line for each size.
func scale(ctx context.Context, w io.Writer, most int) error {
	fmt.Fprintln(w, "claim of 10 jobs, by jobs ready (ms, p50 and p95 of 200)")
	for ready := 1000; ready <= most; ready *= 10 {
		if err := withStore(ctx, func(s driver.Store) error {
			if err := fillStore(ctx, s, ready+2000, "bench", 0); err != nil {
				return err
			}
			return claimCost(ctx, w, s, fmt.Sprintf("%d ready", ready))
		}); err != nil {
			return err
		}
	}
	if err := withStore(ctx, func(s driver.Store) error {
		if err := fillStore(ctx, s, 100_000, "foreign", 0); err != nil {
			return err
		}
		if err := fillStore(ctx, s, 2000, "bench", 0); err != nil {
			return err
		}
		return claimCost(ctx, w, s, "100000 of a foreign kind ahead")
	}); err != nil {
		return err
	}
	return withStore(ctx, func(s driver.Store) error { return punctuality(ctx, w, s, most) })
}

func withStore(ctx context.Context, do func(s driver.Store) error) error {
	dir, err := os.MkdirTemp("", "kiln-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	inst, err := kilnSQLite.open(ctx, dir)
	if err != nil {
		return err
	}
	defer inst.close()
	return do(inst.(*kilnInstance).store)
}

// fillStore inserts jobs that are due after a delay.
func fillStore(ctx context.Context, s driver.Store, n int, kind string, delay time.Duration) error {
	for n > 0 {
		part := min(n, 5000)
		jobs := make([]driver.InsertParams, part)
		for i := range jobs {
			jobs[i] = driver.InsertParams{Kind: kind, Queue: "default", Args: []byte(`{"text":"` + text + `"}`), MaxAttempts: 10, Delay: delay}
		}
		if _, err := s.Insert(ctx, jobs); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

func claimCost(ctx context.Context, w io.Writer, s driver.Store, what string) error {
	q := driver.ClaimQuery{Queues: []string{"default"}, Kinds: []string{"bench"}, Limit: 10, Server: "bench"}
	took := make([]time.Duration, 200)
	for i := range took {
		begin := time.Now()
		jobs, err := s.Claim(ctx, q)
		took[i] = time.Since(begin)
		if err != nil {
			return err
		}
		if len(jobs) != 10 {
			return fmt.Errorf("%s: a claim of 10 brought %d", what, len(jobs))
		}
	}
	slices.Sort(took)
	_, err := fmt.Fprintf(w, "  %-32s %7.3f %7.3f\n", what, milliseconds(took[len(took)/2]), milliseconds(took[len(took)*95/100]))
	return err
}

// punctuality schedules many jobs, of which 1,000 become due in each of ten seconds, and measures how late their handlers begin.
func punctuality(ctx context.Context, w io.Writer, s driver.Store, many int) error {
	if err := fillStore(ctx, s, many, "later", 24*time.Hour); err != nil {
		return err
	}
	begin := time.Now().Add(2 * time.Second)
	const seconds, perSecond = 10, 1000
	for sec := range seconds {
		jobs := make([]driver.InsertParams, perSecond)
		for i := range jobs {
			at := begin.Add(time.Duration(sec)*time.Second + time.Duration(i)*time.Second/perSecond)
			jobs[i] = driver.InsertParams{Kind: "bench", Queue: "default", Args: []byte(fmt.Sprintf(`{"n":%d}`, at.UnixMicro())), MaxAttempts: 10, RunAt: at}
		}
		if _, err := s.Insert(ctx, jobs); err != nil {
			return err
		}
	}
	late := make(chan time.Duration, seconds*perSecond)
	inst := newKilnInstance(s)
	stop, err := inst.work(ctx, 20, func(at int64) { late <- time.Since(time.UnixMicro(at)) })
	if err != nil {
		return err
	}
	all := make([]time.Duration, 0, seconds*perSecond)
	for len(all) < seconds*perSecond {
		select {
		case d := <-late:
			all = append(all, d)
		case <-time.After(time.Minute):
			return fmt.Errorf("%d of %d scheduled jobs ran", len(all), seconds*perSecond)
		}
	}
	slices.Sort(all)
	fmt.Fprintf(w, "start after the due time, 1,000 due a second, %d scheduled (ms, p50 and p99)\n  %-32s %7.3f %7.3f\n",
		many, "", milliseconds(all[len(all)/2]), milliseconds(all[len(all)*99/100]))
	return stop()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
