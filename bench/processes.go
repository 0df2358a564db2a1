package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"
)

// childEnv makes the program a worker process: its value is the system's name, and that of the other the place's address.
const (
	childEnv        = "KILN_BENCH_CHILD"
	childPlaceEnv   = "KILN_BENCH_PLACE"
	childDurableEnv = "KILN_BENCH_SYNCHRONOUS"
)

// childWorkers is how many workers each process has.
const childWorkers = 50

// child works in a place that is there, with a client of its own, from the word go until its input ends, and says every few milliseconds how
// many jobs it has run.
func child(name string) error {
	ctx := context.Background()
	synchronous = os.Getenv(childDurableEnv)
	chosen, err := pick(systems, name, false)
	if err != nil {
		return err
	}
	inst, err := chosen[0].open(ctx, os.Getenv(childPlaceEnv))
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	in.Scan()
	var ran atomic.Int64
	stop, err := inst.work(ctx, childWorkers, func(int64) { ran.Add(1) })
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { in.Scan(); close(ended) }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		fmt.Println(ran.Load())
		select {
		case <-ended:
			return errors.Join(stop(), inst.close())
		case <-tick.C:
		}
	}
}

// process is a worker process as its parent sees it.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	// ready is closed when it waits for the word, or has ended.
	ready chan struct{}
	ran   atomic.Int64
}

func startProcess(ctx context.Context, sys, address string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, os.Args[0]), ready: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childEnv+"="+sys, childPlaceEnv+"="+address, childDurableEnv+"="+synchronous)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in = in
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Scan()
		close(p.ready)
		for lines.Scan() {
			n, _ := strconv.ParseInt(lines.Text(), 10, 64)
			p.ran.Store(n)
		}
	}()
	return p, nil
}

// drainByProcesses lets so many processes work through what is there.
func (r *round) drainByProcesses(ctx context.Context, n, count int, most time.Duration) (_ []float64, err error) {
	if err := r.filled(ctx, n); err != nil {
		return nil, err
	}
	var all []*process
	defer func() {
		for _, p := range all {
			p.in.Close()
			if end := p.cmd.Wait(); err == nil {
				err = end
			}
		}
	}()
	for range count {
		p, err := startProcess(ctx, r.sys.name, r.place.address())
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	for _, p := range all {
		<-p.ready
	}
	begin := time.Now()
	for _, p := range all {
		fmt.Fprintln(p.in, "go")
	}
	ran, err := r.awaitProcesses(ctx, all, n, begin.Add(most))
	return []float64{float64(ran) / time.Since(begin).Seconds()}, err
}

// awaitProcesses waits until the ends of n jobs are stored, or until the cut, and returns how many jobs ran.
func (r *round) awaitProcesses(ctx context.Context, all []*process, n int, cut time.Time) (ran int, err error) {
	for {
		ran = 0
		for _, p := range all {
			ran += int(p.ran.Load())
		}
		switch {
		case ran >= n:
			return n, r.awaitIdle(ctx)
		case ctx.Err() != nil:
			return ran, ctx.Err()
		case time.Now().After(cut):
			r.part = float64(ran) / float64(n)
			if ran == 0 {
				return 0, fmt.Errorf("none of %d jobs has run", n)
			}
			return ran, nil
		}
		<-time.After(time.Millisecond)
	}
}
