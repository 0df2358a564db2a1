package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kilnjobs/kiln/driver"
)

// graph writes the points of a cell to the run's output and to a file of its own.
type graph struct {
	out  *results
	file *os.File
	rows *csv.Writer
}

func newGraph(out *results, c cell) (*graph, error) {
	g := &graph{out: out, rows: csv.NewWriter(io.Discard)}
	if out.dir != "" {
		var err error
		if g.file, err = os.Create(out.file("-" + c.name + ".csv")); err != nil {
			return nil, err
		}
		g.rows = csv.NewWriter(g.file)
	}
	g.rows.Write(append([]string{"system"}, c.axes...))
	fmt.Fprintf(out, "%s: %s\n", c.name, strings.Join(c.axes, ", "))
	return g, nil
}

func (g *graph) point(sys string, values []any) {
	line := []string{sys}
	for _, v := range values {
		if f, ok := v.(float64); ok && math.IsNaN(f) {
			line = append(line, "") // there is no server to ask
		} else if ok {
			line = append(line, strconv.FormatFloat(f, 'g', 6, 64))
		} else {
			line = append(line, fmt.Sprint(v))
		}
	}
	g.rows.Write(line) // Flush reports its error
	fmt.Fprintf(g.out, "  %-26s %s\n", sys, strings.Join(line[1:], "  "))
}

func (g *graph) close() error {
	fmt.Fprintln(g.out)
	g.rows.Flush()
	err := g.rows.Error()
	if g.file != nil {
		err = errors.Join(err, g.file.Close())
	}
	return err
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

// claimTimes is how long each of many claims of ten jobs takes, in ms.
func claimTimes(ctx context.Context, s driver.Store) ([]float64, error) {
	q := driver.ClaimQuery{Queues: []string{"default"}, Kinds: []string{kindName}, Limit: 10, Server: "bench"}
	took := make([]float64, claims)
	for i := range took {
		begin := time.Now()
		jobs, err := s.Claim(ctx, q)
		took[i] = milliseconds(time.Since(begin))
		if err != nil {
			return nil, err
		}
		if len(jobs) != q.Limit {
			return nil, fmt.Errorf("a claim of %d brought %d", q.Limit, len(jobs))
		}
	}
	return took, nil
}

// dueSeconds is for how many seconds jobs become due.
var dueSeconds = 10

// lateness schedules 1,000 jobs for each of these seconds, and measures how late their handlers begin, in ms.
func (r *round) lateness(ctx context.Context) ([]float64, error) {
	const perSecond = 1000
	begin := time.Now().Add(2 * time.Second)
	for sec := range dueSeconds {
		jobs := make([]driver.InsertParams, perSecond)
		for i := range jobs {
			at := begin.Add(time.Duration(sec)*time.Second + time.Duration(i)*time.Second/perSecond)
			jobs[i] = driver.InsertParams{Kind: kindName, Queue: "default", Args: []byte(fmt.Sprintf(`{"n":%d}`, at.UnixMicro())), MaxAttempts: 10, RunAt: at}
		}
		if _, err := r.store().Insert(ctx, jobs); err != nil {
			return nil, err
		}
	}
	late := make(chan time.Duration, dueSeconds*perSecond)
	stop, err := r.inst.work(ctx, 20, func(at int64) { late <- time.Since(time.UnixMicro(at)) })
	if err != nil {
		return nil, err
	}
	all := make([]float64, 0, dueSeconds*perSecond)
	for len(all) < dueSeconds*perSecond {
		select {
		case d := <-late:
			all = append(all, milliseconds(d))
		case <-time.After(time.Minute):
			return nil, errors.Join(fmt.Errorf("%d of %d scheduled jobs ran", len(all), dueSeconds*perSecond), stop())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), stop())
		}
	}
	return all, stop()
}
